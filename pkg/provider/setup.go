// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	"github.com/bowline-dev/bowline/pkg/clients"
	"github.com/bowline-dev/bowline/pkg/internal/queue"
	"github.com/bowline-dev/bowline/pkg/reconciler/claim"
	"github.com/bowline-dev/bowline/pkg/reconciler/claimbinding"
	"github.com/bowline-dev/bowline/pkg/reconciler/claimdefaulting"
	"github.com/bowline-dev/bowline/pkg/reconciler/claimscheduling"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/reconciler/providerconfig"
	"github.com/bowline-dev/bowline/pkg/reconciler/secret"
	"github.com/bowline-dev/bowline/pkg/reconciler/target"
	"github.com/bowline-dev/bowline/pkg/resource"
	"github.com/bowline-dev/bowline/pkg/resource/unstructured"
)

const defaultConcurrency = 32

// A Setup is shared by the connecters of a provider in one manager.
type Setup struct {
	*layout
	mgr     ctrl.Manager
	clients *clients.Registry
}

// Manager is what the controllers are added to.
func (s *Setup) Manager() ctrl.Manager { return s.mgr }

// Clients are the clients, limits and credentials of the provider's ProviderConfigs.
func (s *Setup) Clients() *clients.Registry { return s.clients }

// addControllers also protects ProviderConfigs and their credentials while they are in use (N12, N29).
func (s *Setup) addControllers(o []managed.ReconcilerOption) error {
	shared := s.shared()
	for _, k := range s.kinds {
		if err := s.addKind(k, s.newReconciler(k, shared, o)); err != nil {
			return err
		}
	}
	for _, c := range s.configs {
		r := providerconfig.NewReconciler(s.mgr, c.gvk,
			providerconfig.WithUsers(s.usersOf(c.gvk.GroupKind())...), providerconfig.WithSecrets(s.clients.Secrets()),
			providerconfig.WithClients(s.clients))
		if err := r.SetupWithManager(s.mgr); err != nil {
			return err
		}
	}
	return s.addClaims()
}

func (s *Setup) shared() []managed.ReconcilerOption {
	return append([]managed.ReconcilerOption{managed.WithReferences(managed.NewReferences(s.mgr))}, s.provider.Options...)
}

func (s *Setup) newReconciler(k part[Kind], shared, o []managed.ReconcilerOption) *managed.Reconciler {
	return managed.NewReconciler(s.mgr, resource.ManagedKind(k.gvk), slices.Concat(shared, s.own(k.object), o)...)
}

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

// addClaims adds the controllers of claim kinds, classes, targets and Secrets, with their documented names (N21).
func (s *Setup) addClaims() error {
	for _, c := range s.claims {
		if err := claim.NewReconciler(s.mgr, resource.ClaimKind(c.gvk)).SetupWithManager(s.mgr); err != nil {
			return err
		}
	}
	for _, c := range s.classes {
		if !s.installed(c.claim.gvk) {
			continue
		}
		if err := s.addClass(c); err != nil {
			return fmt.Errorf("class %s for claims of kind %s: %w", c.class.gvk.GroupKind(), c.claim.gvk.GroupKind(), err)
		}
	}
	for _, t := range s.targets { // for managed resources of any kind
		if err := target.NewReconciler(s.mgr, resource.TargetKind(t.gvk), resource.ManagedKind{}).SetupWithManager(s.mgr); err != nil {
			return err
		}
	}
	if s.provider.PropagatesSecrets {
		return secret.NewReconciler(s.mgr).SetupWithManager(s.mgr)
	}
	return nil
}

// installed is true if the API server serves a claim kind. A provider works without (R3).
func (s *Setup) installed(claims schema.GroupVersionKind) bool {
	_, err := s.mgr.GetRESTMapper().RESTMapping(claims.GroupKind(), claims.Version)
	if meta.IsNoMatchError(err) {
		s.mgr.GetLogger().Info("Claims are not served because their kind is not installed: install the definitions of the core and restart",
			"provider", s.provider.Name, "claims", claims.GroupKind().String())
		return false
	}
	return true // other errors are reported by the controllers
}

func (s *Setup) addClass(c classPart) error {
	of, by := resource.ClaimKind(c.claim.gvk), resource.ClassKind(c.class.gvk)
	if err := claimscheduling.NewReconciler(s.mgr, of, by).SetupWithManager(s.mgr); err != nil {
		return err
	}
	if err := claimdefaulting.NewReconciler(s.mgr, of, by).SetupWithManager(s.mgr); err != nil {
		return err
	}
	all := append([]claimbinding.ManagedConfigurator{claimbinding.NewObjectMetaConfigurator(s.mgr.GetScheme())}, c.Configurators...)
	return claimbinding.NewReconciler(s.mgr, of, by, resource.ManagedKind(c.managed.gvk), claimbinding.WithManagedConfigurators(all...)).
		SetupWithManager(s.mgr)
}

// KindOf returns a kind whose external clients use a client of the external system. external creates the external client of one
// reconcile. It should embed the lease, which is then released at the end and sets the poll interval of the ProviderConfig;
// otherwise it must release the lease in a method Disconnect.
//
//	type bucketClient struct{ *clients.Lease[*sdk.Client] }
//
//	func newBucketClient(l *clients.Lease[*sdk.Client]) managed.TypedExternalClient[*v1.Bucket] { return bucketClient{l} }
func KindOf[T resource.Managed, C any](
	object T, from clients.Source[C], external func(*clients.Lease[C]) managed.TypedExternalClient[T], o ...managed.ReconcilerOption,
) Kind {
	return Kind{
		Object:  object,
		Options: o,
		typed: func(s *Setup) managed.ReconcilerOption {
			return managed.WithTypedExternalConnecter(connecter[T, C]{pool: from.In(s.clients), external: external})
		},
	}
}

type connecter[T resource.Managed, C any] struct {
	pool     *clients.Pool[C]
	external func(*clients.Lease[C]) managed.TypedExternalClient[T]
}

func (c connecter[T, C]) Connect(ctx context.Context, mg T) (managed.TypedExternalClient[T], error) {
	lease, err := c.pool.For(ctx, mg)
	if err != nil {
		return nil, err
	}
	return c.external(lease), nil
}
