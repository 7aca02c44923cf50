// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
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
	t.Run("tests use package testing and a real API server (T60 N19)", func(t *testing.T) {
		report(t, "A framework is a second language, and a fake client accepts what the API server refuses.", testLibraries(source))
	})
	t.Run("no replace", func(t *testing.T) {
		mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(mod), "=>") {
			t.Error("go.mod has a replace directive: with it `go install` from outside fails")
		}
	})
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

const header = licenceHeader

// A ruleCase shows one rule a tree that obeys it (want is empty) or does not.
type ruleCase struct {
	rule  string
	files map[string]string
	want  []string
}

func TestHeaderRules(t *testing.T) {
	checkRules(t, map[string]ruleCase{
		"LicencePresent": {
			rule:  "licence header",
			files: map[string]string{"pkg/a/a.go": header + "package a\n"},
		},
		"LicenceMissing": {
			rule:  "licence header",
			files: map[string]string{"pkg/a/a.go": "// Package a.\npackage a\n"},
			want:  []string{"pkg/a/a.go: the first two lines are not the licence header and an empty line"},
		},
		"LicenceGlued": {
			rule:  "licence header",
			files: map[string]string{"pkg/a/a.go": strings.TrimSuffix(header, "\n") + "package a\n"},
			want:  []string{"pkg/a/a.go: the first two lines are not the licence header and an empty line"},
		},
		"LicenceOfGeneratedCode": {
			rule:  "licence header",
			files: map[string]string{"pkg/a/zz_generated.go": "package a\n"},
		},
		"OnePackageComment": {
			rule: "package comment",
			files: map[string]string{
				"pkg/a/doc.go": header + "// Package a is a.\npackage a\n", "pkg/a/a.go": header + "package a\n",
				"pkg/a/a_test.go": header + "package a_test\n", "cmd/b/main.go": "// Command b is b.\npackage main\n",
			},
		},
		"NoPackageComment": {
			rule:  "package comment",
			files: map[string]string{"pkg/a/a.go": header + "package a\n"},
			want:  []string{"pkg/a: 0 package comments instead of one"},
		},
		"TwoPackageComments": {
			rule:  "package comment",
			files: map[string]string{"pkg/a/a.go": "// Package a is a.\npackage a\n", "pkg/a/b.go": "// Package a too.\npackage a\n"},
			want:  []string{"pkg/a: 2 package comments instead of one"},
		},
		"OddPackageComment": {
			rule:  "package comment",
			files: map[string]string{"pkg/a/a.go": "// It is a.\npackage a\n"},
			want:  []string{`pkg/a/a.go: the package comment does not begin with "Package a "`},
		},
	})
}

func TestSizeAndHabitRules(t *testing.T) {
	checkRules(t, map[string]ruleCase{
		"FunctionOf80Lines": {
			rule:  "function size",
			files: map[string]string{"pkg/a/a.go": "package a\n\nfunc f() {\n" + strings.Repeat("\n", 78) + "}\n"},
		},
		"FunctionOf81Lines": {
			rule:  "function size",
			files: map[string]string{"pkg/a/a.go": "package a\n\nfunc f() {\n" + strings.Repeat("\n", 79) + "}\n"},
			want:  []string{"pkg/a/a.go:3: function f has 81 lines, more than 80"},
		},
		"FileOf500Lines": {
			rule:  "file size",
			files: map[string]string{"pkg/a/a.go": "package a\n" + strings.Repeat("\n", 499)},
		},
		"FileOf501Lines": {
			rule:  "file size",
			files: map[string]string{"pkg/a/a.go": "package a\n" + strings.Repeat("\n", 500)},
			want:  []string{"pkg/a/a.go: 501 lines, more than 500"},
		},
		"LongGeneratedFile": {
			rule:  "file size",
			files: map[string]string{"pkg/a/zz_a.go": "package a\n" + strings.Repeat("\n", 500)},
		},
		"PackageOf1500Lines": {
			rule: "package size",
			files: map[string]string{"pkg/a/a.go": "package a\n" + strings.Repeat("\n", 1499), "pkg/a/a_test.go": "package a\n",
				"pkg/a/zz_a.go": "package a\n"},
		},
		"PackageOf1501Lines": {
			rule:  "package size",
			files: map[string]string{"pkg/a/a.go": "package a\n" + strings.Repeat("\n", 1400), "pkg/a/b.go": "package a\n" + strings.Repeat("\n", 99)},
			want:  []string{"pkg/a: 1501 lines of code, more than 1500: split it, or give the reason in largePackages()"},
		},
		"NoReasonNeeded": {
			rule:  "package size",
			files: map[string]string{"test/crashpoints/a.go": "package a\n"},
			want:  []string{"test/crashpoints: 1 lines of code only: delete it from largePackages()"},
		},
		"LargeRepository": {
			rule:  "total size",
			files: map[string]string{"pkg/a/a.go": "package a\n" + strings.Repeat("\n", mostCode), "pkg/a/a_test.go": "package a\n"},
			want:  []string{fmt.Sprintf("code: %d lines, more than %d", mostCode+1, mostCode)},
		},
		"ShortMain": {
			rule:  "main size",
			files: map[string]string{"cmd/a/main.go": "package main\n" + strings.Repeat("\n", 18)},
		},
		"LongMain": {
			rule:  "main size",
			files: map[string]string{"cmd/a/main.go": "package main\n" + strings.Repeat("\n", 19)},
			want:  []string{"cmd/a/main.go: 20 lines instead of less than 20"},
		},
		"Init": {
			rule: "no init",
			files: map[string]string{"pkg/a/a.go": "package a\n\nfunc init() {}\n\ntype t int\n\nfunc (t) init() {}\n",
				"pkg/a/zz_a.go": "package a\n\nfunc init() {}\n"},
			want: []string{"pkg/a/a.go:3: func init"},
		},
		"LinterComment": {
			rule:  "linter comments",
			files: map[string]string{"pkg/a/a.go": "package a\n\nvar a = b() //nolint:errcheck // never fails\n"},
			want:  []string{"pkg/a/a.go:3: //nolint:errcheck // never fails"},
		},
		"Skip": {
			rule: "no skipped tests",
			files: map[string]string{
				"pkg/a/a_test.go": "package a\n\nimport \"testing\"\n\nfunc TestA(t *testing.T) {\n\tt.Skipf(\"later\")\n}\n",
				"pkg/a/a.go":      "package a\n\nimport \"bufio\"\n\nfunc f(s *bufio.Reader) { s.Skip() }\n",
			},
			want: []string{"pkg/a/a_test.go:6: call of Skipf"},
		},
	})
}

func TestMessageRule(t *testing.T) {
	const start = "package a\n\nfunc f(err error, c Condition, pattern Pattern) bool {\n\t"
	one := []string{"pkg/a/a.go:4: function f reads a message"}
	cases := map[string]struct {
		body string
		want []string
	}{
		"prefix of an error":       {`return strings.HasPrefix(err.Error(), "not found")`, one},
		"part of a condition":      {`return strings.Contains(strings.ToLower(c.Message), "quota")`, one},
		"pattern":                  {`return pattern.MatchString(c.Message)`, one},
		"literal":                  {`return c.Message == "not found"`, one},
		"variable":                 {`if text := err.Error(); strings.HasPrefix(text, "a") { return true }; return false`, one},
		"whole message":            {`return c.Message != d.Message`, nil},
		"no message":               {`return c.Message == ""`, nil},
		"reason":                   {`return c.Reason == "NotFound" && strings.HasPrefix(c.Name, "a")`, nil},
		"wrapped":                  {`return report(strings.Join([]string{c.Message, err.Error()}, ": "))`, nil},
		"in the message of an own": {`return errors.New("a: " + c.Message) != nil`, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			checkRule(t, "messages", map[string]string{"pkg/a/a.go": start + tc.body + "\n}\n", "pkg/a/a_test.go": start + tc.body + "\n}\n"}, tc.want)
		})
	}
	t.Run("an excuse that is not needed", func(t *testing.T) {
		checkRule(t, "messages", map[string]string{"favouritecloud/internal/httpapi/a.go": "package a\n"},
			[]string{"favouritecloud/internal/httpapi decodeRefusal reads no message any more: delete it from mayReadMessages()"})
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

func TestLoadLeavesOut(t *testing.T) {
	got, err := load(fstest.MapFS{
		"a/a.go":          {Data: []byte("package a\n")},
		"a/testdata/b.go": {Data: []byte("not go")},
		".hidden/c.go":    {Data: []byte("not go")},
		"tools/go.mod":    {Data: []byte("module m\n")},
		"tools/d.go":      {Data: []byte("not go")},
		"a/README.md":     {Data: []byte("text")},
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 1 || got[0].path != "a/a.go" {
		t.Errorf("want a/a.go alone, got %d files", len(got))
	}
}

func checkRules(t *testing.T, cases map[string]ruleCase) {
	t.Helper()
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) { checkRule(t, tc.rule, tc.files, tc.want) })
	}
}

func checkRule(t *testing.T, name string, files map[string]string, want []string) {
	t.Helper()
	made := fstest.MapFS{}
	for path, source := range files {
		made[path] = &fstest.MapFile{Data: []byte(source)}
	}
	parsed, err := load(made)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rules() {
		if r.name != name {
			continue
		}
		if diff := cmp.Diff(want, r.check(parsed), cmpopts.SortSlices(strings.Compare), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		return
	}
	t.Fatalf("no rule %q", name)
}
