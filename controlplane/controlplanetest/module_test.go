// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplanetest_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const foreignTest = `package foreign

import (
	"os"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
)

func TestMain(m *testing.M) { os.Exit(controlplanetest.Main(m)) }

func TestForeign(t *testing.T) {
	env := controlplanetest.New(t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s"}})
	t.Log("served by", env.Config.Host)
}
`

// TestOtherModule uses the package as its users do, from a module of their own.
func TestOtherModule(t *testing.T) {
	t.Parallel()
	checkout, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	gomod, err := os.ReadFile(filepath.Join(checkout, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	// The versions are this module's, so that nothing needs to be downloaded.
	_, requirements, _ := strings.Cut(string(gomod), "require (")
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": fmt.Sprintf("module foreign.example\n\ngo 1.26.0\n\nrequire github.com/bowline-dev/bowline v0.0.0\n\nreplace github.com/bowline-dev/bowline => %s\n\nrequire (%s",
			checkout, requirements),
		"foreign_test.go": foreignTest,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-v", "./...")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off", "PWD="+dir, "BOWLINE_TEST_KUBECONFIG=")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: TestForeign") {
		t.Fatalf("go test in another module: %v\n%s", err, out)
	}
}

// TestLinksClientCodeOnly keeps test binaries small.
func TestLinksClientCodeOnly(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for pkg := range strings.Lines(string(out)) {
		for _, heavy := range []string{"k8s.io/kubernetes/", "go.etcd.io/", "k8s.io/apiserver/"} {
			if strings.HasPrefix(pkg, heavy) {
				t.Errorf("test binaries must not link %s", strings.TrimSpace(pkg))
			}
		}
	}
}
