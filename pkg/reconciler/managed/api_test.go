// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed_test

import (
	"context"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/bowline-dev/bowline/internal/testkit"
	"github.com/bowline-dev/bowline/internal/testkit/thing"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// guide is a client and a connecter exactly as the documents write them.
type guide struct{}

func (guide) Connect(context.Context, resource.Managed) (managed.ExternalClient, error) {
	return guide{}, nil
}

func (guide) Observe(context.Context, resource.Managed) (managed.ExternalObservation, error) {
	return managed.ExternalObservation{
		ResourceExists:          true,
		ResourceUpToDate:        true,
		ResourceLateInitialized: false,
		ConnectionDetails:       managed.ConnectionDetails{"username": []byte("admin")},
	}, nil
}

func (guide) Create(context.Context, resource.Managed) (managed.ExternalCreation, error) {
	return managed.ExternalCreation{ConnectionDetails: managed.ConnectionDetails{"password": []byte("secret")}}, nil
}

func (guide) Update(context.Context, resource.Managed) (managed.ExternalUpdate, error) {
	return managed.ExternalUpdate{ConnectionDetails: managed.ConnectionDetails{"port": []byte("5432")}}, nil
}

func (guide) Delete(context.Context, resource.Managed) error { return nil }

// The names of the documents, used as the documents use them: what changes here breaks every provider. That they do what
// they should is proven elsewhere; here each is called or assigned once.
func TestAPI(t *testing.T) {
	t.Parallel()
	for name, use := range map[string]func(*testing.T) bool{
		"NewReconciler (A50)": func(*testing.T) bool {
			var f func(manager.Manager, resource.ManagedKind, ...managed.ReconcilerOption) *managed.Reconciler = managed.NewReconciler
			return f != nil
		},
		"Reconciler (A51)": func(t *testing.T) bool {
			var r reconcile.Reconciler = newReconciler(t, newStage(t, nil).env.Config, managed.WithExternalConnecter(guide{}))
			gone := reconcile.Request{NamespacedName: client.ObjectKey{Name: "nobody"}}
			result, err := r.Reconcile(t.Context(), gone)
			return err == nil && result == reconcile.Result{}
		},
		"WithExternalConnecter (A52)": func(*testing.T) bool {
			var f func(managed.ExternalConnecter) managed.ReconcilerOption = managed.WithExternalConnecter
			return f != nil
		},
		"ExternalConnecter (A53, A45)": func(t *testing.T) bool {
			var c managed.ExternalConnecter = guide{}
			external, err := c.Connect(t.Context(), &thing.Thing{})
			return external == guide{} && err == nil
		},
		"ExternalClient (A54, A45)": func(t *testing.T) bool {
			var c managed.ExternalClient = guide{}
			return c.Delete(t.Context(), &thing.Thing{}) == nil
		},
		"ExternalObservation (A55)": func(t *testing.T) bool {
			o, err := guide{}.Observe(t.Context(), &thing.Thing{})
			return o.ResourceExists && o.ResourceUpToDate && !o.ResourceLateInitialized && len(o.ConnectionDetails) == 1 && err == nil
		},
		"ExternalCreation and ExternalUpdate (A56)": func(t *testing.T) bool {
			c, createErr := guide{}.Create(t.Context(), &thing.Thing{})
			u, updateErr := guide{}.Update(t.Context(), &thing.Thing{})
			return len(c.ConnectionDetails) == 1 && len(u.ConnectionDetails) == 1 && createErr == nil && updateErr == nil
		},
		"ConnectionDetails (A57)": func(*testing.T) bool {
			var data map[string][]byte = managed.ConnectionDetails{"endpoint": []byte("there")}
			return string(data["endpoint"]) == "there"
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if !use(t) {
				t.Error("it does not do what a caller expects of it")
			}
		})
	}
}

// The parts of the reconciler are options, each of which may be left out.
func TestOptions(t *testing.T) {
	t.Parallel()
	t.Run("every part but the connecter is optional (A58)", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, nil)
		s.options = []managed.ReconcilerOption{managed.WithTypedExternalConnecter[*thing.Thing](s.system)}
		s.restart(s.env.Config)
		s.pass()
		if got := s.state(); got != "Ready=Available Synced=ReconcileSuccess" {
			t.Errorf("the user sees %s", got)
		}
	})
	t.Run("all parts together (A58)", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, nil)
		events := &testkit.Events{}
		s.options = []managed.ReconcilerOption{
			managed.WithTypedExternalConnecter[*thing.Thing](s.system),
			managed.WithClient(s.env.Client),
			managed.WithNewManaged(func() resource.Managed { return &thing.Thing{} }),
			managed.WithDefaultName(func(mg resource.Managed) string { return "by-option-" + mg.GetName() }),
			managed.WithTimeout(time.Minute),
			managed.WithPollInterval(time.Hour),
			managed.WithCreationGracePeriod(time.Minute),
			managed.WithConsistencyWindow(time.Minute),
			managed.WithSecretInputInterval(time.Minute),
			managed.WithManagementPolicies(true),
			managed.WithBackoff(time.Second, time.Minute),
			managed.WithRecorder(events),
			managed.WithLogger(logr.Discard()),
			managed.WithClock(func() time.Time { return s.clock }),
			managed.WithRandom(func() float64 { return 0.5 }),
		}
		s.restart(s.env.Config)
		after := s.pass()
		_, made := s.system.Snapshot()["by-option-"+s.key.Name]
		if told := events.Take(); !made || after < 50*time.Minute || len(told) != 1 || told[0] != managed.ReasonCreated {
			t.Errorf("made %t, comes back after %s, told %v", made, after, told)
		}
	})
}

// A kind that nobody registered, and a reconciler without a connecter, are found out.
func TestMistakesOfCallers(t *testing.T) {
	t.Parallel()
	t.Run("a kind that the scheme does not know (A50)", func(t *testing.T) {
		t.Parallel()
		config := newStage(t, nil).env.Config
		defer func() {
			if recover() == nil {
				t.Error("made a reconciler of a kind that nobody registered")
			}
		}()
		mgr, err := manager.New(config, manager.Options{Scheme: newScheme(t), Logger: logr.Discard()})
		if err != nil {
			t.Fatal(err)
		}
		managed.NewReconciler(mgr, resource.ManagedKind(schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "Nothing"}))
	})
	t.Run("no connecter (A52)", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, nil)
		s.options = []managed.ReconcilerOption{managed.WithRecorder(s.events)}
		s.restart(s.env.Config)
		s.pass()
		s.wantMessage("without an external connecter")
		if told := s.events.Take(); len(told) != 1 || told[0] != managed.ReasonCannotConnect {
			t.Errorf("told %v", told)
		}
	})
}
