// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package provider_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/pkg/clients"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/provider"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
	"github.com/bowline-dev/bowline/pkg/resource/unstructured"
)

// A counter is a manager that counts what is added to it.
type counter struct {
	ctrl.Manager
	n int
}

// Add satisfies ctrl.Manager.
func (c *counter) Add(r manager.Runnable) error {
	c.n++
	return c.Manager.Add(r)
}

// Reconcilers for plans run no controllers, and a provider with mistakes adds nothing.
func TestSetupWithManager(t *testing.T) {
	t.Parallel()
	newManager := func() *counter {
		mgr, err := ctrl.NewManager(controlplanetest.Config(t), ctrl.Options{
			Scheme:     runtime.NewScheme(),
			Logger:     logr.Discard(),
			Metrics:    metricsserver.Options{BindAddress: "0"},
			Controller: config.Controller{SkipNameValidation: new(true)},
		})
		if err != nil {
			t.Fatal(err)
		}
		return &counter{Manager: mgr}
	}
	t.Run("reconcilers of all kinds, and no controllers (N8)", func(t *testing.T) {
		mgr := newManager()
		all, err := newProvider((&clientJournal{}).factory(0)).Reconcilers(mgr)
		if err != nil {
			t.Fatal(err)
		}
		for _, group := range []schema.GroupVersion{depotKinds().Cluster, depotKinds().Namespaced} {
			if kind := group.WithKind("Item"); all[kind.GroupKind()] == nil || !mgr.GetScheme().Recognizes(kind) {
				t.Errorf("%s is not among %v, or not in the scheme", kind, all)
			}
		}
		if want := 2; mgr.n != want || len(all) != 2 { // the secrets' watches and the one pool
			t.Errorf("%d things were added, want %d; %d reconcilers", mgr.n, want, len(all))
		}
	})
	t.Run("nothing of a provider with mistakes (A73)", func(t *testing.T) {
		mgr, p := newManager(), newProvider((&clientJournal{}).factory(0))
		p.Configs = nil
		if err := p.SetupWithManager(mgr); err == nil || !strings.Contains(err.Error(), "Provider.Configs has no") || mgr.n > 0 {
			t.Errorf("%d things added, error %v", mgr.n, err)
		}
		if _, err := p.Reconcilers(mgr); err == nil || mgr.n > 0 {
			t.Errorf("%d things added for planning, error %v (N8)", mgr.n, err)
		}
	})
}

// plain is an external connecter written by hand, for objects without a Go type.
type plain struct {
	pool  *clients.Pool[*depotClient]
	names *atomic.Value // of the last observed object
}

func (p plain) Connect(ctx context.Context, mg resource.Managed) (managed.ExternalClient, error) {
	lease, err := p.pool.For(ctx, mg)
	if err != nil {
		return nil, err
	}
	return looking{lease, p.names}, nil
}

// looking finds everything as it should be.
type looking struct {
	*clients.Lease[*depotClient]
	names *atomic.Value
}

func (l looking) Observe(_ context.Context, mg resource.Managed) (managed.ExternalObservation, error) {
	l.names.Store(meta.GetExternalName(mg))
	return managed.ExternalObservation{ResourceExists: true, ResourceUpToDate: true}, nil
}

func (looking) Create(context.Context, resource.Managed) (managed.ExternalCreation, error) {
	return managed.ExternalCreation{}, nil
}

func (looking) Update(context.Context, resource.Managed) (managed.ExternalUpdate, error) {
	return managed.ExternalUpdate{}, nil
}

func (looking) Delete(context.Context, resource.Managed) error { return nil }

// A kind may bring its own connecter, have no Go type, and choose every option of its reconciler.
func TestPlainKind(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	factory, lent := s.journal.factory(0), &atomic.Int32{}
	factory.Lend = func(c *depotClient) *depotClient { lent.Add(1); return c }
	p := newProvider(factory)
	gvk := depotKinds().Namespaced.WithKind("Item")
	setups, names := 0, &atomic.Value{}
	var applied []string
	applies := func(name string) managed.ReconcilerOption {
		return func(*managed.Reconciler) { applied = append(applied, name) }
	}
	p.Kinds[1] = provider.Kind{
		Object: unstructured.New(gvk),
		Connecter: func(setup *provider.Setup) managed.ExternalConnecter {
			setups++
			return plain{factory.In(setup.Clients()), names}
		},
		Options: []managed.ReconcilerOption{managed.WithDefaultName(func(resource.Managed) string { return "chosen" }), applies("kind")},
	}
	p.Kinds, p.Options = p.Kinds[1:], []managed.ReconcilerOption{applies("provider")}
	s.start(p, applies("run"))
	failIf(t, "options in order, the last one counts (A50)", !slices.Equal(applied, []string{"provider", "kind", "run"}), "%q", applied)
	s.Create(s.teamConfig("team"), s.teamItem("item", "team"))
	t.Run("own connecter, created once (A52)", func(t *testing.T) {
		s.until("clients created", s.created, 1)
		if setups != 1 || lent.Load() == 0 {
			t.Errorf("the connecter was created %d times, the client lent %d times", setups, lent.Load())
		}
	})
	t.Run("own options (A50)", func(t *testing.T) {
		s.Eventually(t, "the object has the name that the option chose", func(context.Context) error {
			if name := names.Load(); name != "chosen" {
				return fmt.Errorf("it is %v", name)
			}
			return nil
		})
	})
}

// holdData labels the definitions of items.
func holdData(d *apiextensionsv1.CustomResourceDefinition) {
	if d.Spec.Names.Kind == "Item" {
		d.Labels[meta.LabelKeyHoldsData] = "true"
	}
}

// The definition decides that a kind holds data, also for one with a client of its own.
func TestKindOfHoldsData_N62(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	p := newProvider(s.journal.factory(0))
	p.CRDs = depotCRDs(holdData)
	s.start(p, managed.WithCreationGracePeriod(0))
	item := s.teamItem("item", "team")
	s.Create(s.teamConfig("team"), item)
	s.settled(item)
	s.depot.lose()
	s.Eventually(t, "the loss is reported", func(ctx context.Context) error {
		err := s.Client.Get(ctx, client.ObjectKeyFromObject(item), item)
		if ready := item.GetCondition(xpv1.TypeReady); err != nil || ready.Reason != xpv1.ReasonResourceLost {
			return fmt.Errorf("%+v, error %w", ready, err)
		}
		return nil
	})
	failIf(t, "no empty one is created (N38)", s.depot.itemCount() != 0, "%d", s.depot.itemCount())
}

// A kind sets how many of its objects are reconciled at once.
func TestConcurrency(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	p := newProvider(s.journal.factory(0))
	p.Kinds[1].Concurrency = 3
	s.start(p, managed.WithPollInterval(20*time.Millisecond))
	s.Create(s.teamConfig("team"))
	release := s.depot.hold()
	items := s.teamItems(10, "team")
	s.until("requests waiting", s.depot.waitingRequests, 3)
	release()
	allSettled(s, items)
	failIf(t, "as many passes at once as the kind allows (R9)", s.depot.mostInFlight() != 3, "%d", s.depot.mostInFlight())
}

// A manager is refused with the mistakes of all providers, wherever in their order the first one is.
func TestNewManagerMistakes(t *testing.T) {
	t.Parallel()
	good := newProvider((&clientJournal{}).factory(0))
	first, second := good, good
	first.Name, first.Configs = "first", nil
	second.Name, second.Configs = "second", nil
	for name, tc := range map[string]struct {
		providers []provider.Provider
		words     []string
	}{
		"no provider (A73)":        {nil, []string{"no provider"}},
		"mistakes of both (A73)":   {[]provider.Provider{first, second}, []string{"provider first", "provider second"}},
		"only of the second (A73)": {[]provider.Provider{good, second}, []string{"provider second"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := provider.NewManager(provider.ManagerConfig{REST: controlplanetest.Config(t)}, tc.providers...)
			if err == nil {
				t.Fatal("there is a manager")
			}
			for _, want := range tc.words {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is missing: %v", want, err)
				}
			}
		})
	}
}
