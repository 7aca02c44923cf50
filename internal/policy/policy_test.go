// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/mod/modfile"
)

// root is the repository that holds this package.
var root = filepath.Join("..", "..")

func TestRepository(t *testing.T) {
	source, err := load(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	if len(source) == 0 {
		t.Fatal("no Go files found: the rules below would prove nothing")
	}
	for _, r := range rules() {
		t.Run(r.name, func(t *testing.T) {
			report(t, r.reason, r.check(source))
		})
	}
	t.Run("linking", func(t *testing.T) {
		deps, err := linked(root)
		if err != nil {
			t.Fatal(err)
		}
		report(t, "Clients and test binaries that link an API server take 150 MB and seconds to link; "+
			"provider authors would compile all of Kubernetes.", linking(deps))
	})
	t.Run("links", func(t *testing.T) {
		found, err := brokenLinks(os.DirFS(root))
		if err != nil {
			t.Fatal(err)
		}
		report(t, "A page that leads nowhere costs its reader the search.", found)
	})
	t.Run("definitions", func(t *testing.T) {
		found, err := definitions(os.DirFS(root))
		if err != nil {
			t.Fatal(err)
		}
		report(t, "Users read definitions with kubectl explain; they know neither the contract nor Go.", found)
	})
	t.Run("tests use package testing and a real API server (T60 N19)", func(t *testing.T) {
		report(t, "A framework is a second language, and a fake client accepts what the API server refuses.", testLibraries(source))
	})
	t.Run("no replace", func(t *testing.T) {
		if len(requirements(t, "go.mod").Replace) > 0 {
			t.Error("go.mod has a replace directive: with it `go install` from outside fails")
		}
	})
	t.Run("versions of nested modules", func(t *testing.T) {
		report(t, "Tests must run the servers of the version that the product is made for.", mismatchedVersions(requirements(t, "go.mod"),
			requirements(t, "test/kubernetes/servers/go.mod"), requirements(t, "deploy/image/go.mod"), requirements(t, "test/terraform/providers/go.mod")))
	})
}

func requirements(t *testing.T, file string) *modfile.File {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := modfile.Parse(file, content, nil)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

// mismatchedVersions returns the modules that nested modules use directly in another version than the main module.
func mismatchedVersions(ours *modfile.File, nested ...*modfile.File) (found []string) {
	versions := map[string]string{}
	for _, r := range ours.Require {
		versions[r.Mod.Path] = r.Mod.Version
	}
	for _, mod := range nested {
		for _, r := range mod.Require {
			if want := versions[r.Mod.Path]; want != "" && r.Mod.Version != want && !r.Indirect {
				found = append(found, fmt.Sprintf("%s has %s, want %s", mod.Syntax.Name, r.Mod, want))
			}
		}
	}
	return found
}

// testLibraries returns imports of test frameworks and of fake API servers.
func testLibraries(source tree) []string {
	forbidden := []string{
		"github.com/onsi/", "github.com/stretchr/testify", "github.com/smartystreets/", "gopkg.in/check",
		"sigs.k8s.io/controller-runtime/pkg/client/fake", "sigs.k8s.io/controller-runtime/pkg/envtest",
		"k8s.io/client-go/kubernetes/fake", "k8s.io/client-go/dynamic/fake", "k8s.io/client-go/testing",
	}
	var found []string
	for _, f := range source {
		for _, spec := range f.syntax.Imports {
			for _, library := range forbidden {
				if f.isTest() && strings.HasPrefix(strings.Trim(spec.Path.Value, `"`), library) {
					found = append(found, f.at(spec.Pos())+": import of "+spec.Path.Value)
				}
			}
		}
	}
	return found
}

func report(t *testing.T, reason string, found []string) {
	t.Helper()
	for _, place := range found {
		t.Error(place)
	}
	if len(found) > 0 {
		t.Log("why: " + reason)
	}
}

// Each rule on a tree of one or two files, which obeys it (no want) or not.
func TestRules(t *testing.T) {
	const a, generated, header = "pkg/a/a.go", "pkg/a/zz_a.go", licenceHeader
	const noHeader = "the first two lines are not the licence header and an empty line"
	lines := func(n int) string { return "package a\n" + strings.Repeat("\n", n-1) }
	function := func(n int) string { return "package a\n\nfunc f() {\n" + strings.Repeat("\n", n-2) + "}\n" }
	type files = map[string]string
	for name, tc := range map[string]struct {
		rule  string
		files files
		want  string
	}{
		"license":                   {"licence header", files{a: header + "package a\n", generated: "package a\n"}, ""},
		"no license":                {"licence header", files{a: "// Package a.\npackage a\n"}, a + ": " + noHeader},
		"license without a gap":     {"licence header", files{a: strings.TrimSpace(header) + "\npackage a\n"}, a + ": " + noHeader},
		"package comment":           {"package comment", files{"pkg/a/doc.go": "// Package a is a.\npackage a\n", a: "package a\n"}, ""},
		"package comment of a test": {"package comment", files{a: "// Package a is a.\npackage a\n", "pkg/a/a_test.go": "package a_test\n"}, ""},
		"command comment":           {"package comment", files{"cmd/b/main.go": "// Command b is b.\npackage main\n"}, ""},
		"no package comment":        {"package comment", files{a: header + "package a\n"}, "pkg/a: 0 package comments instead of one"},
		"two package comments": {
			"package comment", files{a: "// Package a is a.\npackage a\n", "pkg/a/b.go": "// Package a too.\npackage a\n"},
			"pkg/a: 2 package comments instead of one",
		},
		"odd package comment": {
			"package comment", files{a: "// It is a.\npackage a\n"}, a + `: the package comment does not begin with "Package a "`,
		},
		"function of 80 lines": {"function size", files{a: function(80)}, ""},
		"function of 81 lines": {"function size", files{a: function(81)}, a + ":3: function f has 81 lines, more than 80"},
		"file of 500 lines":    {"file size", files{a: lines(500), generated: lines(501)}, ""},
		"file of 501 lines":    {"file size", files{a: lines(501)}, a + ": 501 lines, more than 500"},
		"package of 1500 lines": {
			"package size", files{a: lines(1500), "pkg/a/a_test.go": "package a\n", generated: "package a\n"}, "",
		},
		"package of 1501 lines": {
			"package size", files{a: lines(1401), "pkg/a/b.go": lines(100)},
			"pkg/a: 1501 lines of code, more than 1500: split it, or give the reason in largePackages()",
		},
		"reason without need": {
			"package size", files{"pkg/reconciler/managed/a.go": "package a\n"},
			"pkg/reconciler/managed: 1 lines of code only: delete it from largePackages()",
		},
		"large repository": {
			"total size", files{a: lines(mostCode + 1), "pkg/a/a_test.go": "package a\n"},
			fmt.Sprintf("code: %d lines, more than %d", mostCode+1, mostCode),
		},
		"short main": {"main size", files{"cmd/a/main.go": lines(19)}, ""},
		"long main":  {"main size", files{"cmd/a/main.go": lines(20)}, "cmd/a/main.go: 20 lines instead of less than 20"},
		"init": {
			"no init", files{a: "package a\n\nfunc init() {}\n\ntype t int\n\nfunc (t) init() {}\n", generated: "package a\n\nfunc init() {}\n"},
			a + ":3: func init",
		},
		"linter comment": {
			"linter comments", files{a: "package a\n\nvar a = b() //nolint:errcheck // never fails\n"}, a + ":3: //nolint:errcheck // never fails",
		},
		"skip": {
			"no skipped tests", files{"pkg/a/a_test.go": "package a\n\nimport \"testing\"\n\nfunc TestA(t *testing.T) {\n\tt.Skipf(\"later\")\n}\n"},
			"pkg/a/a_test.go:6: call of Skipf",
		},
		"skip of another type": {
			"no skipped tests", files{a: "package a\n\nimport \"bufio\"\n\nfunc f(s *bufio.Reader) { s.Skip() }\n"}, "",
		},
	} {
		t.Run(name, func(t *testing.T) { checkRule(t, tc.rule, tc.files, tc.want) })
	}
}

func TestMessageRule(t *testing.T) {
	const start = "package a\n\nfunc f(err error, c Condition, pattern Pattern) bool {\n\t"
	const found = "pkg/a/a.go:4: code reads a message"
	cases := map[string]struct{ body, want string }{
		"prefix of an error":       {`return strings.HasPrefix(err.Error(), "not found")`, found},
		"part of a condition":      {`return strings.Contains(strings.ToLower(c.Message), "quota")`, found},
		"pattern":                  {`return pattern.MatchString(c.Message)`, found},
		"literal":                  {`return c.Message == "not found"`, found},
		"variable":                 {`if text := err.Error(); strings.HasPrefix(text, "a") { return true }; return false`, found},
		"switch":                   {`switch c.Message { case "not found": return true }; return false`, found},
		"constant":                 {`return c.Message == notFound || true`, found},
		"list":                     {`return slices.Contains(words, c.Message)`, found},
		"table":                    {`return words[c.Message]`, found},
		"bytes":                    {`return bytes.Contains([]byte(c.Message), word)`, found},
		"replaced by pattern":      {`return use(pattern.ReplaceAllString(c.Message, ""))`, found},
		"found by pattern":         {`return pattern.FindSubmatch([]byte(c.Message)) != nil`, found},
		"matched by pattern":       {`return regexp.MustCompile("a.b").Match([]byte(c.Message))`, found},
		"printed error":            {`return strings.Contains(fmt.Sprint(err), "quota")`, found},
		"outside of functions":     {"return true\n}\n\nvar g = func() bool { return c.Message == \"quota\"", "pkg/a/a.go:7: code reads a message"},
		"whole message":            {`return c.Message != d.Message`, ""},
		"no message":               {`return c.Message == "" || k.Message != nil`, ""},
		"redacted":                 {`text := redact.Text(c.Message, secrets); return text != c.Message`, ""},
		"reason":                   {`return c.Reason == "NotFound" && strings.HasPrefix(c.Name, "a")`, ""},
		"wrapped":                  {`return report(strings.Join([]string{c.Message, err.Error()}, ": "))`, ""},
		"in the message of an own": {`return errors.New("a: " + c.Message) != nil`, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			checkRule(t, "messages", map[string]string{"pkg/a/a.go": start + tc.body + "\n}\n", "pkg/a/a_test.go": start + tc.body + "\n}\n"}, tc.want)
		})
	}
	t.Run("an excuse that is not needed", func(t *testing.T) {
		checkRule(t, "messages", map[string]string{"favouritecloud/internal/httpapi/a.go": "package a\n"},
			"favouritecloud/internal/httpapi decodeRefusal reads no message any more: delete it from mayReadMessages()")
	})
}

func TestOnlyFor(t *testing.T) {
	imports := func(folders ...string) *fstest.MapFile {
		source := "package a\n"
		for _, folder := range folders {
			source += "import _ \"" + module + "/" + folder + "\"\n"
		}
		return &fstest.MapFile{Data: []byte(source)}
	}
	parsed, err := load(fstest.MapFS{
		"pkg/a/a.go": imports("pkg/own", "pkg/shared"), "pkg/a/below/a.go": imports(),
		"pkg/own/a.go": imports("pkg/further"), "pkg/further/a.go": imports(), "pkg/further/a_test.go": imports(),
		"pkg/b/a.go": imports("pkg/shared"), "pkg/b/a_test.go": imports("pkg/own"), "pkg/shared/a.go": imports(),
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"pkg/a", "pkg/a/below", "pkg/further", "pkg/own"}, onlyFor(parsed, "pkg/a")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestPrintSizes(t *testing.T) {
	var text strings.Builder
	if err := PrintSizes(&text, root); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{" internal/policy\n", " managed and what only it uses (", " in all\n"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("sizes lack %q:\n%s", want, text.String())
		}
	}
}

func TestImports(t *testing.T) {
	cases := map[string]struct {
		file, imports string
		forbidden     bool
	}{
		"ApisUseApis":                {file: "apis/a/v1/a.go", imports: "apis/common/v1"},
		"ApisNeverUsePkg":            {file: "apis/a/v1/a.go", imports: "pkg/meta", forbidden: true},
		"ClaimsUseRoles":             {file: "apis/a/v1/a.go", imports: "pkg/resource"},
		"CommonUsesNothing":          {file: "apis/common/v1/a.go", imports: "pkg/resource", forbidden: true},
		"PkgUsesApis":                {file: "pkg/meta/a.go", imports: "apis/common/v1"},
		"PkgNeverUsesControlplane":   {file: "pkg/meta/a.go", imports: "controlplane", forbidden: true},
		"PkgTestsUseTheHarness":      {file: "pkg/meta/a_test.go", imports: "controlplane/controlplanetest"},
		"PkgNeverUsesTheHarness":     {file: "pkg/meta/a.go", imports: "controlplane/controlplanetest", forbidden: true},
		"PkgTestsUseTheTestKit":      {file: "pkg/meta/a_test.go", imports: "internal/testkit/fault"},
		"PkgNeverUsesTheTestKit":     {file: "pkg/meta/a.go", imports: "internal/testkit", forbidden: true},
		"PkgTestsNeverStartTheirOwn": {file: "pkg/meta/a_test.go", imports: "controlplane", forbidden: true},
		"CloudKnowsNothingOfUs":      {file: "favouritecloud/a.go", imports: "pkg/meta", forbidden: true},
		"CloudUsesItself":            {file: "favouritecloud/a.go", imports: "favouritecloud/internal/store"},
		"SDKLinksNoCloud":            {file: "favouritecloud/sdk/a.go", imports: "favouritecloud", forbidden: true},
		"ProviderUsesSDK":            {file: "providers/fcp/a.go", imports: "favouritecloud/sdk/services/database"},
		"ProviderLinksNoCloud":       {file: "providers/fcp/a.go", imports: "favouritecloud", forbidden: true},
		"ProviderTestsUseTheCloud":   {file: "providers/fcp/a_test.go", imports: "favouritecloud"},
		"ProviderUsesItself":         {file: "providers/fcp/a.go", imports: "providers/fcp/apis/v1"},
		"ProviderUsesNoOther":        {file: "providers/fcp/a.go", imports: "providers/sql/apis/v1", forbidden: true},
		"ProviderNoControlplane":     {file: "providers/fcp/a.go", imports: "controlplane/internal/pki", forbidden: true},
		"ControlplaneNoProvider":     {file: "controlplane/a.go", imports: "providers/fcp", forbidden: true},
		"CommandUsesCLI":             {file: "cmd/bowline/main.go", imports: "internal/cli"},
		"CommandUsesNothingElse":     {file: "cmd/bowline/main.go", imports: "controlplane", forbidden: true},
		"CLIUsesAll":                 {file: "internal/cli/up.go", imports: "favouritecloud"},
		"NewFolder":                  {file: "somewhere/a.go", imports: "apis", forbidden: true},
		"LookAlike":                  {file: "apis/a.go", imports: "apisx", forbidden: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			source := "package a\n\nimport _ \"" + module + "/" + tc.imports + "\"\n"
			parsed, err := load(fstest.MapFS{tc.file: {Data: []byte(source)}})
			if err != nil {
				t.Fatal(err)
			}
			if got := imports(parsed); (len(got) > 0) != tc.forbidden {
				t.Errorf("forbidden: want %t, got %q", tc.forbidden, got)
			}
		})
	}
}

func TestLinking(t *testing.T) {
	got := linking(map[string][]string{
		module + "/pkg/meta":                                 {"fmt", "k8s.io/api/core/v1", "k8s.io/apiserver/pkg/authentication/user"},
		module + "/pkg/bad":                                  {"fmt", "k8s.io/kubernetes/pkg/controlplane/apiserver"},
		module + "/apis/bad/v1":                              {"go.etcd.io/etcd/client/v3"},
		module + "/controlplane":                             {"k8s.io/kubernetes/pkg/controlplane/apiserver"},
		module + "/controlplane/controlplanetest":            {"k8s.io/apiserver/pkg/server"},
		module + "/controlplane/controlplanetest/testserver": {"k8s.io/apiserver/pkg/server"},
	})
	want := []string{
		module + "/apis/bad/v1 links go.etcd.io/etcd/client/v3",
		module + "/controlplane/controlplanetest links k8s.io/apiserver/pkg/server",
		module + "/pkg/bad links k8s.io/kubernetes/pkg/controlplane/apiserver",
	}
	if diff := cmp.Diff(want, got, cmpopts.SortSlices(strings.Compare)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestBrokenLinks(t *testing.T) {
	got, err := brokenLinks(fstest.MapFS{
		"README.md": {Data: []byte("[a](docs/a.md) [b](docs/b.md) [c](docs/a.md#the-way-home) [d](docs/a.md#away) [e](docs)" +
			" [f](https://example.org/f) [g](docs/a.md#R1) [h](#here) [i](main.go#L1)\n## Here\n")},
		"docs/a.md":    {Data: []byte("## The way, home!\n<a id=\"R1\"></a> [up](../README.md) [down](deep/a.go)\n")},
		"main.go":      {Data: []byte("package main\n")},
		".hidden/a.md": {Data: []byte("[a](b)\n")},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"README.md: nothing is at docs/b.md", "README.md: nothing is at docs/a.md#away", "docs/a.md: nothing is at deep/a.go",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestDefinitions(t *testing.T) {
	const start = "spec: {names: {kind: Box, shortNames: [box]}, versions: [{name: v1, schema: {openAPIV3Schema: "
	properties := func(text string) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte(start + "{description: PostgreSQLBox is a type, properties: {spec: {" + text + "}}}}}]}")}
	}
	got, err := definitions(fstest.MapFS{
		"apis/crds/a.yaml":  properties("properties: {a: {description: TheSize is it}, b: {description: 'The size (N8, K3).'}}"),
		"apis/crds/b.yaml":  properties("items: {description: SubnetIDs of boxes}, additionalProperties: {description: See R12}"),
		"apis/crds/c.yaml":  properties("description: 'theSize is 12 of A boxes, CPUs and PostgreSQL'"),
		"apis/crds/d.yaml":  {Data: []byte("spec: {names: {kind: Tray, shortNames: [box, po]}}")},
		"apis/other/d.yaml": properties("description: TheSize"),
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"apis/crds/a.yaml: the description of .spec.a begins with the Go name TheSize", "apis/crds/a.yaml: the description of .spec.b cites N8",
		"apis/crds/b.yaml: the description of .spec[] begins with the Go name SubnetIDs", "apis/crds/b.yaml: the description of .spec[] cites R12",
		"apis/crds/d.yaml: short name box is that of another kind", "apis/crds/d.yaml: short name po is that of another kind",
	}
	if diff := cmp.Diff(want, got, cmpopts.SortSlices(strings.Compare)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestLoadLeavesOut(t *testing.T) {
	got, err := load(fstest.MapFS{
		"a/a.go":          {Data: []byte("package a\n")},
		"a/testdata/b.go": {Data: []byte("not go")},
		".hidden/c.go":    {Data: []byte("not go")},
		"a/README.md":     {Data: []byte("text")},
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 1 || got[0].path != "a/a.go" {
		t.Errorf("want a/a.go alone, got %d files", len(got))
	}
}

func checkRule(t *testing.T, name string, files map[string]string, want string) {
	t.Helper()
	made := fstest.MapFS{}
	for path, source := range files {
		made[path] = &fstest.MapFile{Data: []byte(source)}
	}
	parsed, err := load(made)
	if err != nil {
		t.Fatal(err)
	}
	all := rules()
	i := slices.IndexFunc(all, func(r rule) bool { return r.name == name })
	if i < 0 {
		t.Fatalf("no rule %q", name)
	}
	if got := strings.Join(all[i].check(parsed), "\n"); got != want {
		t.Errorf("want %q, got %q", want, got)
	}
}

func TestMismatchedVersions(t *testing.T) {
	t.Parallel()
	parse := func(lines string) *modfile.File {
		f, err := modfile.Parse("nested/go.mod", []byte("module example.org/m\n"+lines), nil)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	got := mismatchedVersions(parse("require example.org/a v1.1.0\nrequire example.org/b v1.0.0\n"),
		parse("require example.org/a v1.0.0\nrequire example.org/b v1.0.1 // indirect\nrequire example.org/c v1.0.0\n"))
	if diff := cmp.Diff([]string{"nested/go.mod has example.org/a@v1.0.0, want v1.1.0"}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
