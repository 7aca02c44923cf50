// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"context"
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/bowline-dev/bowline/pkg/clients/credentials"
	"github.com/bowline-dev/bowline/pkg/clients/limits"
	"github.com/bowline-dev/bowline/pkg/internal/queue"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/reconciler/providerconfig"
	"github.com/bowline-dev/bowline/pkg/resource"
	"github.com/bowline-dev/bowline/pkg/resource/unstructured"
)

// defaultConcurrency is how many objects of one kind are reconciled at once.
const defaultConcurrency = 32

// A Setup is what the connecters of a provider share while its controllers are added to one manager, and after.
type Setup struct {
	mgr     ctrl.Manager
	layout  *layout
	secrets *credentials.Secrets
	limits  map[string]*limits.Registry // of the configurations of each group
	pools   map[any]pool                // by the Clients that they are of
	errs    []error
}

// pool is what a Setup knows of the clients of any type.
type pool interface {
	forget(config configKey)
	run(ctx context.Context) error
}

func newSetup(mgr ctrl.Manager, l *layout) (*Setup, error) {
	secrets, err := credentials.NewSecrets(mgr)
	if err != nil {
		return nil, err
	}
	s := &Setup{mgr: mgr, layout: l, secrets: secrets, limits: map[string]*limits.Registry{}, pools: map[any]pool{}}
	for _, c := range l.configs {
		if s.limits[c.gvk.Group] == nil {
			s.limits[c.gvk.Group] = limits.NewRegistry()
		}
	}
	return s, nil
}

// Manager is what the controllers are added to.
func (s *Setup) Manager() ctrl.Manager { return s.mgr }

// Secrets reads credentials, for connecters that make their clients themselves.
func (s *Setup) Secrets() *credentials.Secrets { return s.secrets }

// add keeps a pool, whose life is that of the manager.
func (s *Setup) add(of any, p pool) {
	s.pools[of] = p
	if err := s.mgr.Add(manager.RunnableFunc(p.run)); err != nil {
		s.errs = append(s.errs, err)
	}
}

// forget frees what is known of a configuration that is gone.
func (s *Setup) forget(config configKey) {
	for _, p := range s.pools {
		p.forget(config)
	}
	if known := s.limits[config.group]; known != nil {
		known.Forget(config.Key)
	}
}

// addControllers adds those of all managed kinds, with the given options, and those that keep configurations, and their
// credentials, while they are in use (N12, N29).
func (s *Setup) addControllers(o []managed.ReconcilerOption) error {
	shared := s.shared()
	for _, k := range s.layout.kinds {
		if err := s.addKind(k, s.newReconciler(k, shared, o)); err != nil {
			return err
		}
	}
	for _, c := range s.layout.configs {
		r := providerconfig.NewReconciler(s.mgr, c.gvk,
			providerconfig.WithUsers(s.layout.usersOf(c.gvk.GroupKind())...), providerconfig.WithSecrets(s.secrets))
		if err := r.SetupWithManager(s.mgr); err != nil {
			return err
		}
	}
	return errors.Join(append(s.errs, s.addClaims())...)
}

// shared returns the options that all kinds of the provider have in common.
func (s *Setup) shared() []managed.ReconcilerOption {
	return append([]managed.ReconcilerOption{managed.WithReferences(managed.NewReferences(s.mgr))}, s.layout.provider.Options...)
}

// newReconciler makes that of one kind, with the options that it shares, its own and then the given ones.
func (s *Setup) newReconciler(k placed[Kind], shared, o []managed.ReconcilerOption) *managed.Reconciler {
	return managed.NewReconciler(s.mgr, resource.ManagedKind(k.gvk), slices.Concat(shared, s.own(k.is), o)...)
}

// own returns the options of a kind.
func (s *Setup) own(k Kind) []managed.ReconcilerOption {
	var options []managed.ReconcilerOption
	if k.Connecter != nil {
		options = append(options, managed.WithExternalConnecter(k.Connecter(s)))
	}
	if k.typed != nil {
		options = append(options, k.typed(s))
	}
	if _, untyped := k.Object.(runtime.Unstructured); untyped {
		options = append(options, managed.WithNewManaged(func() resource.Managed { return k.Object.DeepCopyObject().(resource.Managed) }))
	}
	return append(options, k.Options...)
}

// addKind adds the controller of one managed kind.
func (s *Setup) addKind(k placed[Kind], r *managed.Reconciler) error {
	if err := managed.IndexProviderConfig(context.Background(), s.mgr, k.is.Object); err != nil {
		return err
	}
	concurrency := k.is.Concurrency
	if concurrency <= 0 {
		concurrency = defaultConcurrency
	}
	options := controller.Options{MaxConcurrentReconciles: concurrency, NewQueue: queue.Of(s.mgr)}
	wake := waker{setup: s, group: k.configs, reconciler: r}
	b := ctrl.NewControllerManagedBy(s.mgr).
		Named(managed.ControllerName(k.gvk.GroupKind())).
		For(watched(k.is.Object)).
		WatchesRawSource(r.Wakeups()).
		WatchesRawSource(wake.whenSecretChanges()).
		WithOptions(options)
	for _, c := range s.layout.configs {
		if c.gvk.Group == k.configs {
			b.Watches(c.is, wake.whenConfigChanges(c), builder.WithPredicates(predicate.GenerationChangedPredicate{}))
		}
	}
	return b.Complete(r)
}

// watched is an object as caches know it.
func watched(mg resource.Managed) client.Object {
	if untyped, ok := mg.(*unstructured.Managed); ok {
		return untyped.GetUnstructured()
	}
	return mg
}
