// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package kubernetes

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	databasev1alpha1 "github.com/bowline-dev/bowline/apis/database/v1alpha1"
	"github.com/bowline-dev/bowline/internal/testkit"
	"github.com/bowline-dev/bowline/test/plane"
)

// An installation by kubectl becomes one by Helm, is upgraded, rolled back, removed, and becomes one by kubectl again. What it manages stays.
func TestChart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	helm, chart := w.helm()
	image := []string{"--set", "image.repository=registry.example.org/bowline,image.tag=v2"}
	w.apply("", []byte("{apiVersion: v1, kind: Namespace, metadata: {name: shop}}"))
	w.apply("shop", w.example("quickstart/claim.yaml"))
	orders := &databasev1alpha1.PostgreSQLInstance{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "orders"}}

	helm("install", append([]string{chart, "--take-ownership", "--force-conflicts"}, image...)...)
	w.deployed("bowline-controllers", "registry.example.org/bowline:v2")
	t.Run("the account of the chart", func(t *testing.T) {
		w.readArguments()
		w.replica(t, "chart")
		w.bound(orders)
		w.check()
	})
	helm("upgrade", chart, "--force-conflicts", "--reuse-values", "--set", "image.tag=v3,rbac.secretNamespaces={quickstart,shop}")
	w.deployed("bowline-controllers", "registry.example.org/bowline:v3")
	t.Run("the account with Secrets of some namespaces", func(t *testing.T) {
		w.readArguments()
		w.replica(t, "limited")
		w.deleted(orders)
		w.apply("shop", w.example("quickstart/claim.yaml"))
		w.bound(orders)
		if _, denied := w.used(); len(denied) > 0 {
			t.Errorf("denied: %v", denied)
		}
	})
	helm("rollback", "1", "--force-conflicts")
	w.deployed("bowline-controllers", "registry.example.org/bowline:v2")
	helm("uninstall")
	w.absent(&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: account}})
	w.absent(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: account}})
	w.bound(orders)

	w.apply("", w.manifests())
	w.deployed("bowline-controllers", printedImage)
	t.Run("the account of kubectl", func(t *testing.T) {
		w.do(w.authenticate(t.Context(), account, w.kubeconfig))
		w.readArguments()
		w.replica(t, "kubectl")
		w.check()
		w.bound(orders)
		w.deleted(orders)
	})
}

// deployed fails unless a Deployment runs an image.
func (w *world) deployed(name, image string) {
	w.t.Helper()
	d := &appsv1.Deployment{}
	w.do(w.client.Get(w.t.Context(), client.ObjectKey{Namespace: system, Name: name}, d))
	if got := d.Spec.Template.Spec.Containers[0].Image; got != image {
		w.t.Errorf("%s runs %s, want %s", name, got, image)
	}
}

// helm returns a function that runs Helm on the release of Bowline, and the folder of the chart.
func (w *world) helm() (run func(command string, args ...string), chart string) {
	w.t.Helper()
	root, err := testkit.Make("helm")
	w.do(err)
	return func(command string, args ...string) {
		w.t.Helper()
		cmd := exec.CommandContext(w.t.Context(), filepath.Join(root, "bin", "helm"),
			append([]string{command, "bowline", "--kubeconfig", w.Kubeconfig, "--namespace", system}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			w.t.Fatalf("helm %s: %v\n%s", command, err, out)
		}
	}, filepath.Join(root, "deploy", "helm", "bowline")
}

// absent waits until an object does not exist: what is deleted may be deleted in the background.
func (w *world) absent(o client.Object) {
	w.t.Helper()
	plane.Eventually(w.t, patience, "it is removed", func(ctx context.Context) error {
		err := w.client.Get(ctx, client.ObjectKeyFromObject(o), o)
		if err == nil {
			return fmt.Errorf("%T %s is there", o, o.GetName())
		}
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	})
}

// check runs the command that helm test runs in a pod.
func (w *world) check() {
	w.t.Helper()
	cmd := exec.CommandContext(w.t.Context(), w.bowline, "check", "--kubeconfig", w.Kubeconfig, "--namespace", system)
	if out, err := cmd.CombinedOutput(); err != nil {
		w.t.Errorf("bowline check: %v\n%s", err, out)
	}
}
