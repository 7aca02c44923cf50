// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplanetest_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/internal/testkit/kinds"
)

func TestMain(m *testing.M) { os.Exit(controlplanetest.Main(m, widgets())) }

// widgets is a namespaced kind with a size and a status.
func widgets() *apiextensionsv1.CustomResourceDefinition {
	group := schema.GroupVersion{Group: "env.test.bowline.dev", Version: "v1"}
	return kinds.Definition(group, "Widget", apiextensionsv1.NamespaceScoped)
}

func widget(name, phase string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "env.test.bowline.dev/v1", "kind": "Widget",
		"metadata": map[string]any{"name": name},
		"spec":     map[string]any{"size": int64(1)},
		"status":   map[string]any{"phase": phase},
	}}
}

func TestNew(t *testing.T) {
	t.Parallel()
	env := controlplanetest.New(t, widget("a", "Running"), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s"}})

	got := widget("a", "")
	if err := env.Client.Get(t.Context(), client.ObjectKey{Namespace: env.Namespace, Name: "a"}, got); err != nil {
		t.Fatal(err)
	}
	if phase, _, _ := unstructured.NestedString(got.Object, "status", "phase"); phase != "Running" {
		t.Errorf("status.phase is %q: an object must be created with the status it was given", phase)
	}
	if err := env.Client.Get(t.Context(), client.ObjectKey{Namespace: env.Namespace, Name: "s"}, &corev1.Secret{}); err != nil {
		t.Errorf("a namespaced object without a namespace must go to the test's: %v", err)
	}
}

func TestNewIsolates(t *testing.T) {
	t.Parallel()
	a, b := controlplanetest.New(t), controlplanetest.New(t)
	if a.Namespace == b.Namespace || a.Prefix == b.Prefix {
		t.Errorf("two environments share namespace %s or prefix %s", a.Namespace, a.Prefix)
	}
	a.Config.Host = "elsewhere"
	if b.Config.Host == "elsewhere" || controlplanetest.Config(t).Host == "elsewhere" {
		t.Error("environments must not share their Config")
	}
}

func TestNewCleansUp(t *testing.T) {
	t.Parallel()
	var inner *controlplanetest.Env
	t.Run("inner", func(t *testing.T) { inner = controlplanetest.New(t, widget("a", "")) })
	outer := controlplanetest.New(t)
	outer.Eventually(t, "the inner test's namespace is deleted", func(ctx context.Context) error {
		err := outer.Client.Get(ctx, client.ObjectKey{Name: inner.Namespace}, &corev1.Namespace{})
		if !apierrors.IsNotFound(err) {
			return fmt.Errorf("want not found, got %v", err)
		}
		return nil
	})
}

// The server is built without flags of the linker, as in any program that embeds it.
func TestServerVersion(t *testing.T) {
	t.Parallel()
	info, err := discovery.NewDiscoveryClientForConfigOrDie(controlplanetest.Config(t)).ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	if v, err := version.ParseSemantic(info.GitVersion); err != nil || v.Major() != 1 || info.Major != "1" || info.Minor == "" {
		t.Errorf("clients cannot read the server's version %+v: %v", info, err)
	}
}

// Busy controllers stop when asked, each time.
func TestRunManager(t *testing.T) {
	t.Parallel()
	env := controlplanetest.New(t)
	for i := range 40 {
		name := fmt.Sprintf("busy-%d", i)
		if err := env.Client.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: env.Namespace, Name: name}}); err != nil {
			t.Fatal(err)
		}
	}
	mine := manager.Options{Cache: cache.Options{DefaultNamespaces: map[string]cache.Config{env.Namespace: {}}}}
	for round := range 10 {
		var passes atomic.Int64
		busy := reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) {
			passes.Add(1)
			return reconcile.Result{RequeueAfter: time.Microsecond}, nil
		})
		stop := controlplanetest.RunManager(t, env.Config, mine, func(mgr manager.Manager) error {
			return builder.ControllerManagedBy(mgr).Named("busy").For(&corev1.ConfigMap{}).
				WithOptions(controller.Options{MaxConcurrentReconciles: 20}).Complete(busy)
		})
		env.Eventually(t, "the controller is busy", func(context.Context) error {
			if n := passes.Load(); n < 2000 {
				return fmt.Errorf("%d passes", n)
			}
			return nil
		})
		began := time.Now()
		stop()
		if took := time.Since(began); took > 20*time.Second {
			t.Fatalf("round %d took %v to end", round, took)
		}
	}
}

// A failing is a test that something fails.
type failing struct {
	testing.TB
	errors []string
}

func (f *failing) Error(args ...any) { f.errors = append(f.errors, fmt.Sprint(args...)) }

func (f *failing) Cleanup(func()) {}

// What runs lives until it is stopped, once, and its error fails the test.
func TestRun(t *testing.T) {
	t.Parallel()
	f, began := &failing{TB: t}, make(chan struct{})
	stop := controlplanetest.Run(f, func(ctx context.Context) error {
		close(began)
		<-ctx.Done()
		return errors.New("it did not end well")
	})
	<-began
	stop()
	stop()
	if len(f.errors) != 1 || !strings.Contains(f.errors[0], "did not end well") {
		t.Errorf("the test fails with %q", f.errors)
	}
}

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
