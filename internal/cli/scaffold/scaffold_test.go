// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package scaffold

import (
	"bytes"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/bowline-dev/bowline/internal/cli/command"
	"github.com/bowline-dev/bowline/internal/testkit"
)

const module = "github.com/bowline-dev/bowline"

// run runs one of the commands.
func run(make func(std command.Streams) *cobra.Command, args ...string) (out string, err error) {
	var stdout bytes.Buffer
	cmd := make(command.Streams{Out: &stdout, Err: io.Discard})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(args)
	cmd.SetOut(io.Discard)
	cmd.SetErr(io.Discard)
	err = cmd.Execute()
	return stdout.String(), err
}

func initProvider(args ...string) (string, error) {
	return run(func(std command.Streams) *cobra.Command { return NewInit(module, "devel", std) }, append([]string{"provider"}, args...)...)
}

func createAPI(args ...string) (string, error) {
	return run(func(std command.Streams) *cobra.Command { return NewCreate(module, std) }, append([]string{"api"}, args...)...)
}

// A new provider, and kinds of all roles and scopes that are added to it, build and pass their tests on a real API server.
func TestProvider(t *testing.T) {
	t.Parallel()
	root, err := testkit.Make("build")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "acme")
	must := func(_ string, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(initProvider("acme", "--dir", dir, "--bowline", root))
	must(createAPI("--dir", dir, "--version", "v1alpha1", "--kind", "Gadget", "--scopes", "Cluster"))
	must(createAPI("--dir", dir, "--version", "v1alpha1", "--kind", "Type"))
	must(createAPI("--dir", dir, "--version", "v1alpha1", "--kind", "HTTPClient"))
	must(createAPI("--dir", dir, "--group", "storage", "--version", "v1beta1", "--kind", "MessageQueue", "--scopes", "Namespaced"))
	must(createAPI("--dir", dir, "--group", "claims", "--version", "v1", "--kind", "QueueClaim", "--role", "claim"))
	for _, claim := range []string{"QueueClaim.claims.acme.example.org", "RedisCluster.cache.crossplane.io"} {
		must(createAPI("--dir", dir, "--version", "v1alpha1", "--kind", "Gadget", "--role", "class", "--claim", claim))
	}
	runs := func(name string, args ...string) func(*testing.T) {
		return func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
			cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0")
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s", name, err, out)
			}
		}
	}
	t.Run("a new provider has all of a repository, and make test passes (T50)", runs("make test", "make", "test", "BOWLINE="+filepath.Join(root, "bin", "bowline")))
	t.Run("kinds of all roles satisfy their rules at once (T7)", runs("go vet", "go", "vet", "./..."))
	t.Run("it prints what a cluster needs (T50)", runs("go run", "go", "run", ".", "--print", "rbac"))
	for name, tc := range map[string]struct {
		file  string
		parts []string
	}{
		"the Go types of a claim kind (T1)": {"apis/claims/v1/queueclaim.go", []string{"type QueueClaimSpec struct", "xpv1.ResourceClaimSpec `json:\",inline\"`"}},
		"the Go types of a managed kind of a scope (T2)": {"apis/namespaced/storage/v1beta1/messagequeue.go",
			[]string{"+bowline:scopes=Namespaced\n", "type MessageQueueParameters struct"}},
		"the root type with its markers, and a comment that names the API (T3)": {"apis/v1alpha1/gadget.go",
			[]string{"// Gadget is the Schema for the gadgets API", "+kubebuilder:object:root=true", "Spec GadgetSpec", "Status GadgetStatus"}},
		"Spec and Status (T3)": {"apis/v1alpha1/zz_generated.types.go", []string{"type GadgetSpec struct", "type GadgetStatus struct"}},
	} {
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(tc.file)))
			if err != nil {
				t.Fatal(err)
			}
			for _, part := range tc.parts {
				if !strings.Contains(string(text), part) {
					t.Errorf("%s has no %q:\n%s", tc.file, part, text)
				}
			}
		})
	}
	t.Run("a failed command leaves nothing", func(t *testing.T) {
		before := contents(t, dir)
		if _, err := createAPI("--dir", dir, "--version", "v1", "--kind", "Gadget"); err == nil {
			t.Error("the kind exists in another version, whose files have the same names")
		}
		if diff := cmp.Diff(before, contents(t, dir)); diff != "" {
			t.Errorf("-before +after:\n%s", diff)
		}
	})
	t.Run("nothing is replaced", func(t *testing.T) {
		if _, err := createAPI("--dir", dir, "--version", "v1alpha1", "--kind", "Gadget"); err == nil || !strings.Contains(err.Error(), "exists, and nothing is replaced") {
			t.Errorf("got %v", err)
		}
		if _, err := initProvider("acme", "--dir", dir, "--bowline", root); err == nil || !strings.Contains(err.Error(), "is not empty") {
			t.Errorf("got %v", err)
		}
	})
}

// contents returns all files below a folder.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		all[path] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Mistakes are refused before a file is written.
func TestMistakes(t *testing.T) {
	t.Parallel()
	project := t.TempDir()
	if err := os.WriteFile(filepath.Join(project, projectFile), []byte("{name: acme, title: Acme, group: acme.example.org, module: example.org/acme}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		do   func(...string) (string, error)
		args string
		want string
	}{
		"no name":            {initProvider, "", "name the provider"},
		"a name in capitals": {initProvider, "Acme", "lower case letters"},
		"a group of a word":  {initProvider, "acme --group acme", "a domain that is yours"},
		"no checkout":        {initProvider, "acme --bowline " + project, "is no checkout of Bowline"},
		"no provider":        {createAPI, "--version v1 --kind K --dir " + filepath.Join(project, "none"), "bowline init provider NAME"},
		"no published one":   {initProvider, "acme", "is not published"},
		"a generated name":   {createAPI, "--version v1 --kind DiskSpec --dir " + project, "choose another name"},
		"a folder's name":    {createAPI, "--version v1 --kind K --group internal --dir " + project, "choose another word"},
		"a version":          {createAPI, "--version 1 --kind K --dir " + project, "such as v1alpha1"},
		"a kind":             {createAPI, "--version v1 --kind disk --dir " + project, "CamelCase"},
		"a role":             {createAPI, "--version v1 --kind K --role class --dir " + project, "--claim RedisCluster.cache.crossplane.io"},
		"another role":       {createAPI, "--version v1 --kind K --role target --dir " + project, "managed, class or claim"},
		"a class of others":  {createAPI, "--version v1 --kind K --role class --claim A.b.example.com --dir " + project, "neither of Bowline nor of this provider"},
		"a class of nothing": {createAPI, "--version v1 --kind K --role class --claim RedisCluster.cache.crossplane.io --dir " + project, "--role managed makes"},
		"scopes":             {createAPI, "--version v1 --kind K --scopes Everywhere --dir " + project, "Cluster,Namespaced"},
		"a claim's scopes":   {createAPI, "--version v1 --kind K --role claim --scopes Cluster --dir " + project, "claims are namespaced"},
		"a long group":       {createAPI, "--version v1 --kind K --group a.b --dir " + project, "one word"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := tc.do(strings.Fields(tc.args)...); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
			entries, err := os.ReadDir(project)
			if err != nil || slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() != projectFile }) {
				t.Errorf("files %v, error %v", entries, err)
			}
		})
	}
}
