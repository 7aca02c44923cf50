// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package providertest runs a provider against a real API server, and checks what all its kinds have to do for their users.
//
// Its one idea: what is the same for all kinds is derived from the provider's value, so that a test only describes what is special
// about a kind: how its external resource may drift.
//
//	func TestMain(m *testing.M) { os.Exit(providertest.Main(m, mine.Provider())) }
//
//	func TestDrift(t *testing.T) {
//		w := providertest.New(t, mine.Provider())
//		w.Start(t)
//		w.TestDrift(t, writes, map[string]providertest.Drift{"Bucket": {...}})
//	}
//
// Package controlplanetest has the server, and the other methods of a World.
package providertest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/internal/testkit"
	"github.com/bowline-dev/bowline/pkg/provider"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// mine is the label of the cluster-scoped objects that a world's controllers reconcile. Its value is the world's namespace.
const mine = "bowline.dev/test"

// Main runs the tests of a package against a server that has the provider's kinds, and returns the exit code.
func Main(m *testing.M, p provider.Provider) int {
	crds, err := p.Definitions()
	if err != nil {
		fmt.Fprintln(os.Stderr, "providertest:", err)
		return 1
	}
	return controlplanetest.Main(m, crds...)
}

// A World is one test's share of the server, for a provider.
type World struct {
	*controlplanetest.Env
	provider provider.Provider
}

// New returns a world without controllers. Its client knows the provider's kinds and those of Kubernetes.
func New(t testing.TB, p provider.Provider) *World {
	t.Helper()
	s := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(s), p.AddToScheme(s)); err != nil {
		t.Fatal(err)
	}
	return &World{Env: controlplanetest.NewWithScheme(t, s), provider: p}
}

// Start runs the provider's controllers until the test ends. They reconcile the objects in the world's namespace and the
// cluster-scoped ones that the world created. Default poll interval: one second; default backoff: a tenth of a second to a second.
func (w *World) Start(t testing.TB, o ...managed.ReconcilerOption) {
	t.Helper()
	options := managed.CacheOptions()
	options.DefaultNamespaces = map[string]cache.Config{w.Namespace: {}}
	for _, k := range w.provider.Kinds {
		if !w.isNamespaced(t, k.Object) {
			options.ByObject[k.Object] = cache.ByObject{Label: labels.SelectorFromSet(labels.Set{mine: w.Namespace})}
		}
	}
	fast := []managed.ReconcilerOption{managed.WithPollInterval(time.Second), managed.WithBackoff(100*time.Millisecond, time.Second)}
	controlplanetest.RunManager(t, w.Config, ctrl.Options{Scheme: w.Scheme, Cache: options}, func(mgr ctrl.Manager) error {
		return w.provider.SetupWithManager(mgr, append(fast, o...)...)
	})
}

func (w *World) isNamespaced(t testing.TB, o client.Object) bool {
	t.Helper()
	namespaced, err := w.Client.IsObjectNamespaced(o)
	if err != nil {
		t.Fatal(err)
	}
	return namespaced
}

// Place puts an object into the world: into its namespace if it has none and needs one, under its controllers if it is
// cluster-scoped.
func (w *World) Place(t testing.TB, o client.Object) {
	t.Helper()
	if !w.isNamespaced(t, o) {
		o.SetLabels(labels.Merge(o.GetLabels(), labels.Set{mine: w.Namespace}))
	} else if o.GetNamespace() == "" {
		o.SetNamespace(w.Namespace)
	}
}

// Create places an object and creates it. It is removed when the test ends.
func (w *World) Create(t testing.TB, o client.Object) {
	t.Helper()
	w.Place(t, o)
	if err := w.Client.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Remove(t, o) })
}

// Remove deletes an object and waits until it is deleted, for at most half a minute.
func (w *World) Remove(t testing.TB, o client.Object) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second) // the test's own context may have ended
	defer cancel()
	err := testkit.Poll(ctx, func() error {
		switch err := w.Client.Delete(ctx, o); {
		case apierrors.IsNotFound(err):
			return nil
		case err != nil:
			return err
		}
		return errors.New("it is still there")
	})
	if err != nil {
		t.Errorf("deleting %T %s: %v", o, o.GetName(), err)
	}
}

// Settled waits until objects were reconciled in their present form and are Ready, and reads them.
func (w *World) Settled(t testing.TB, objects ...resource.Managed) {
	t.Helper()
	for _, mg := range objects {
		w.Eventually(t, fmt.Sprintf("%T %s is Ready", mg, mg.GetName()), func(ctx context.Context) error {
			if err := w.Client.Get(ctx, client.ObjectKeyFromObject(mg), mg); err != nil {
				return err
			}
			ready, synced := mg.GetCondition(xpv1.TypeReady), mg.GetCondition(xpv1.TypeSynced)
			if ready.Status != corev1.ConditionTrue || synced.Status != corev1.ConditionTrue || synced.ObservedGeneration != mg.GetGeneration() {
				return fmt.Errorf("generation %d; Ready: %s %s; Synced for generation %d: %s %s", mg.GetGeneration(), ready.Reason, ready.Message,
					synced.ObservedGeneration, synced.Reason, synced.Message)
			}
			return nil
		})
	}
}

// Change edits the object's latest state and waits until the change is reconciled.
func (w *World) Change(t testing.TB, mg resource.Managed, edit func()) {
	t.Helper()
	before := mg.DeepCopyObject().(client.Object)
	edit()
	if err := w.Client.Patch(t.Context(), mg, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	w.Settled(t, mg)
}
