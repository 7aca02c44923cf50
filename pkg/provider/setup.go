// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	"github.com/bowline-dev/bowline/pkg/clients"
	"github.com/bowline-dev/bowline/pkg/internal/queue"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/reconciler/providerconfig"
	"github.com/bowline-dev/bowline/pkg/resource"
	"github.com/bowline-dev/bowline/pkg/resource/unstructured"
)

// defaultConcurrency of the controllers of managed kinds.
const defaultConcurrency = 32

// A Setup is shared by the connecters of a provider in one manager.
type Setup struct {
	mgr     ctrl.Manager
	layout  *layout
	clients *clients.Registry
}

func newSetup(mgr ctrl.Manager, l *layout) (*Setup, error) {
	registry, err := clients.NewRegistry(mgr, l.configKinds(), l.configGroup)
	return &Setup{mgr: mgr, layout: l, clients: registry}, err
}

// Manager is what the controllers are added to.
func (s *Setup) Manager() ctrl.Manager { return s.mgr }

// Clients are the clients, limits and credentials of the provider's ProviderConfigs.
func (s *Setup) Clients() *clients.Registry { return s.clients }

// addControllers adds the controllers of managed kinds, with the given options, and those that protect ProviderConfigs and their
// credentials while they are in use (N12, N29).
func (s *Setup) addControllers(o []managed.ReconcilerOption) error {
	shared := s.shared()
	for _, k := range s.layout.kinds {
		if err := s.addKind(k, s.newReconciler(k, shared, o)); err != nil {
			return err
		}
	}
	for _, c := range s.layout.configs {
		r := providerconfig.NewReconciler(s.mgr, c.gvk,
			providerconfig.WithUsers(s.layout.usersOf(c.gvk.GroupKind())...), providerconfig.WithSecrets(s.clients.Secrets()))
		if err := r.SetupWithManager(s.mgr); err != nil {
			return err
		}
	}
	return s.addClaims()
}

// shared returns the options of all kinds of the provider.
func (s *Setup) shared() []managed.ReconcilerOption {
	return append([]managed.ReconcilerOption{managed.WithReferences(managed.NewReferences(s.mgr))}, s.layout.provider.Options...)
}

// newReconciler returns the reconciler of a kind, with shared options, then its own, then the given ones.
func (s *Setup) newReconciler(k part[Kind], shared, o []managed.ReconcilerOption) *managed.Reconciler {
	return managed.NewReconciler(s.mgr, resource.ManagedKind(k.gvk), slices.Concat(shared, s.own(k.object), o)...)
}

// own returns the options of one kind.
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
func (s *Setup) addKind(k part[Kind], r *managed.Reconciler) error {
	if err := managed.IndexProviderConfig(context.Background(), s.mgr, k.object.Object); err != nil {
		return err
	}
	concurrency := k.object.Concurrency
	if concurrency <= 0 {
		concurrency = defaultConcurrency
	}
	options := controller.Options{MaxConcurrentReconciles: concurrency, NewQueue: queue.Of(s.mgr)}
	b := ctrl.NewControllerManagedBy(s.mgr).
		Named(managed.ControllerName(k.gvk.GroupKind())).
		For(watched(k.object.Object)).
		WatchesRawSource(r.Wakeups()).
		WithOptions(options)
	s.clients.Watch(b, k.configs, r.Users)
	return b.Complete(r)
}

// watched returns the object in the form that caches use.
func watched(mg resource.Managed) client.Object {
	if untyped, ok := mg.(*unstructured.Managed); ok {
		return untyped.GetUnstructured()
	}
	return mg
}
