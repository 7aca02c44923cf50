// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	workloadv1alpha1 "github.com/bowline-dev/bowline/apis/workload/v1alpha1"
	"github.com/bowline-dev/bowline/pkg/clients"
	"github.com/bowline-dev/bowline/pkg/internal/queue"
	"github.com/bowline-dev/bowline/pkg/reconciler/application"
	"github.com/bowline-dev/bowline/pkg/reconciler/applicationresource"
	"github.com/bowline-dev/bowline/pkg/reconciler/claim"
	"github.com/bowline-dev/bowline/pkg/reconciler/claimbinding"
	"github.com/bowline-dev/bowline/pkg/reconciler/claimdefaulting"
	"github.com/bowline-dev/bowline/pkg/reconciler/claimscheduling"
	"github.com/bowline-dev/bowline/pkg/reconciler/class"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/reconciler/providerconfig"
	"github.com/bowline-dev/bowline/pkg/reconciler/secret"
	"github.com/bowline-dev/bowline/pkg/reconciler/target"
	"github.com/bowline-dev/bowline/pkg/reference/installation"
	"github.com/bowline-dev/bowline/pkg/resource"
	"github.com/bowline-dev/bowline/pkg/resource/unstructured"
	"github.com/bowline-dev/bowline/pkg/telemetry"
)

const defaultConcurrency = 32

// A Setup is shared by the connecters of a provider in one manager.
type Setup struct {
	*layout
	mgr     ctrl.Manager
	clients *clients.Registry
	metrics *telemetry.Metrics

	options   []managed.ReconcilerOption              // of all kinds
	protected map[string][]*providerconfig.Reconciler // by the group of the ProviderConfigs
}

// Manager is what the controllers are added to.
func (s *Setup) Manager() ctrl.Manager { return s.mgr }

// Controller begins the controller of a kind, with our queue and log.
func (s *Setup) Controller(of schema.GroupVersionKind, concurrency int) *builder.Builder {
	name := managed.ControllerName(of.GroupKind())
	return ctrl.NewControllerManagedBy(s.WhenUsed(of)).Named(name).WithOptions(queue.Options(s.mgr, name, concurrency, 0, 0))
}

// Options are those of the reconcilers of all kinds.
func (s *Setup) Options() []managed.ReconcilerOption { return s.options }

// Clients are the clients, limits and credentials of the provider's ProviderConfigs.
func (s *Setup) Clients() *clients.Registry { return s.clients }

// addControllers also protects ProviderConfigs and their credentials while they are in use (N12, N29).
func (s *Setup) addControllers(o []managed.ReconcilerOption) error {
	s.options, s.protected = o, map[string][]*providerconfig.Reconciler{}
	shared := s.shared()
	for _, k := range s.kinds {
		if err := s.addKind(k, s.newReconciler(k, shared, o)); err != nil {
			return err
		}
	}
	for _, c := range s.configs {
		r := providerconfig.NewReconciler(s.mgr, c.gvk,
			providerconfig.WithUsers(s.usersOf(c.gvk.GroupKind())...), providerconfig.WithSecrets(s.clients.Secrets()),
			providerconfig.WithClients(s.clients), providerconfig.WithShard(s.mine().Owns))
		if err := r.SetupWithManager(s.WhenUsed(c.gvk)); err != nil {
			return err
		}
		s.protected[c.gvk.Group] = append(s.protected[c.gvk.Group], r)
		if s.mine().OwnsRest() {
			s.metrics.CountConfigs(managed.ControllerName(c.gvk.GroupKind()), s.lister(c.object))
		}
	}
	if s.mine().OwnsRest() {
		return s.addClaims()
	}
	return nil
}

func (s *Setup) shared() []managed.ReconcilerOption {
	own := []managed.ReconcilerOption{managed.WithReferences(managed.NewReferences(s.mgr)), managed.WithDeletionBrake(s.clients)}
	return append(own, s.provider.Options...)
}

func (s *Setup) newReconciler(k part[Kind], shared, o []managed.ReconcilerOption) *managed.Reconciler {
	return managed.NewReconciler(s.mgr, resource.ManagedKind(k.gvk), slices.Concat(shared, s.own(k), o)...)
}

func (s *Setup) own(p part[Kind]) []managed.ReconcilerOption {
	var options []managed.ReconcilerOption
	k := p.object
	if p.data { // also for a kind that has a client of its own, and no rules (N62)
		options = append(options, managed.WithRecreatePolicy(xpv1.RecreateOnRequest))
	}
	if k.Connecter != nil {
		options = append(options, managed.WithExternalConnecter(k.Connecter(s)))
	}
	if k.typed != nil {
		options = append(options, k.typed(s))
	}
	if p.untyped {
		options = append(options, managed.WithNewManaged(func() resource.Managed { return k.Object.DeepCopyObject().(resource.Managed) }))
	}
	if mine := s.mine(); mine != nil {
		options = append(options, managed.WithShard(func(ctx context.Context, mg resource.Managed) (bool, error) {
			if p.configs == "" {
				return mine.OwnsRest(), nil
			}
			of, err := s.clients.Labels(ctx, mg)
			return mine.Matches(of), err
		}))
	}
	return append(options, k.Options...)
}

func (s *Setup) addKind(k part[Kind], r *managed.Reconciler) error {
	if err := managed.IndexProviderConfig(context.Background(), s.mgr, k.object.Object); err != nil {
		return err
	}
	own, _ := s.mgr.(ownManager)
	concurrency := cmp.Or(own.concurrency, max(0, k.object.Concurrency), defaultConcurrency)
	b := s.Controller(k.gvk, concurrency).For(unstructured.Plain(k.object.Object)).WatchesRawSource(r.Wakeups())
	if s.mine().OwnsRest() { // one process counts all
		s.metrics.CountManaged(managed.ControllerName(k.gvk.GroupKind()), s.lister(k.object.Object))
	}
	s.clients.Watch(b, k.configs, r.Users, s.mine().Changes()...)
	return b.Complete(r)
}

// addClaims adds the controllers of claim kinds, classes, targets and Secrets, with their documented names (N21), and those of Extend.
func (s *Setup) addClaims() error {
	if s.provider.Extend != nil {
		if err := s.provider.Extend(s); err != nil {
			return err
		}
	}
	for _, c := range s.claims {
		if err := claim.NewReconciler(s.mgr, resource.ClaimKind(c.gvk)).SetupWithManager(s.WhenUsed(c.gvk)); err != nil {
			return err
		}
		s.metrics.CountClaims(managed.ControllerName(c.gvk.GroupKind()), s.lister(c.object))
	}
	if err := s.addClasses(); err != nil {
		return err
	}
	for _, t := range s.targets { // for managed resources of any kind
		if err := target.NewReconciler(s.mgr, resource.TargetKind(t.gvk), resource.ManagedKind{}).SetupWithManager(s.WhenUsed(t.gvk)); err != nil {
			return err
		}
	}
	if s.provider.RunsWorkloads {
		if err := s.addWorkloads(); err != nil {
			return err
		}
	}
	if s.provider.PropagatesSecrets {
		return secret.NewReconciler(s.mgr).SetupWithManager(s.mgr)
	}
	return nil
}

// addWorkloads adds the controllers of applications and of their objects.
func (s *Setup) addWorkloads() error {
	if err := application.NewReconciler(s.mgr, s.clients.Secrets()).SetupWithManager(s.WhenUsed(workloadv1alpha1.KubernetesApplicationGroupVersionKind)); err != nil {
		return err
	}
	var options []applicationresource.Option
	if own, _ := s.mgr.(ownManager); own.mayChange != nil {
		options = append(options, applicationresource.WithFence(own.mayChange))
	}
	objects := applicationresource.NewReconciler(s.mgr, s.clients.Secrets(), options...)
	return objects.SetupWithManager(s.WhenUsed(workloadv1alpha1.KubernetesApplicationResourceGroupVersionKind))
}

var errStandby = errors.New("another process leads")

// lister visits the objects of the kind of an example in the cache, in the form that its controller watches. A process that stands by visits
// none: the one that leads counts them, and a list here would begin to watch the kind.
func (s *Setup) lister(example client.Object) telemetry.ObjectLister {
	return func(ctx context.Context, visit func(func(xpv1.ConditionType) xpv1.Condition)) error {
		select {
		case <-s.mgr.Elected():
		default:
			return errStandby
		}
		all, err := unstructured.List[resource.Conditioned](ctx, s.mgr.GetCache(), s.mgr.GetScheme(), example, client.UnsafeDisableDeepCopy)
		for _, o := range all {
			visit(o.GetCondition)
		}
		return err
	}
}

// addClasses adds the controllers of classes, once the claims that they are for are installed.
func (s *Setup) addClasses() error {
	classes, conditioned := map[schema.GroupVersionKind][]classPart{}, map[schema.GroupVersionKind]bool{}
	for _, c := range s.classes {
		classes[c.claim.gvk] = append(classes[c.claim.gvk], c)
	}
	return installation.Each(s.mgr, slices.Collect(maps.Keys(classes)), func(claims schema.GroupVersionKind) error {
		for _, c := range classes[claims] {
			if err := errors.Join(s.addClass(c), s.addConditions(c, conditioned[c.class.gvk])); err != nil {
				return fmt.Errorf("class %s for claims of kind %s: %w", c.class.gvk.GroupKind(), claims.GroupKind(), err)
			}
			conditioned[c.class.gvk] = true
		}
		return nil
	})
}

// addTargets adds the controller of targets to a manager without the core, for targets that name managed resources of its providers.
func addTargets(mgr ctrl.Manager, providers []Provider) error {
	connect := false
	s := Setup{mgr: mgr}
	for _, p := range providers {
		l, err := p.layout()
		if err != nil || len(l.targets) > 0 {
			return err
		}
		connect = connect || l.connects()
	}
	if !connect || !s.mine().OwnsRest() {
		return nil
	}
	if err := addCore(mgr.GetScheme()); err != nil {
		return err
	}
	return installation.Each(mgr, []schema.GroupVersionKind{targetKind}, func(kind schema.GroupVersionKind) error {
		return target.NewReconciler(mgr, resource.TargetKind(kind), resource.ManagedKind{}, target.WithCoreElsewhere()).
			SetupWithManager(s.WhenUsed(kind))
	})
}

func (s *Setup) addClass(c classPart) error {
	of, by := resource.ClaimKind(c.claim.gvk), resource.ClassKind(c.class.gvk)
	if err := claimscheduling.NewReconciler(s.mgr, of, by).SetupWithManager(s.WhenUsed(c.claim.gvk)); err != nil {
		return err
	}
	if err := claimdefaulting.NewReconciler(s.mgr, of, by).SetupWithManager(s.WhenUsed(c.claim.gvk)); err != nil {
		return err
	}
	all := append([]claimbinding.ManagedConfigurator{claimbinding.NewObjectMetaConfigurator(s.mgr.GetScheme())}, c.Configurators...)
	options, used := []claimbinding.ReconcilerOption{claimbinding.WithManagedConfigurators(all...)}, []schema.GroupVersionKind{c.claim.gvk}
	if c.Kinds != nil { // which may hold data
		options = append(options, claimbinding.WithKinds(c.Kinds), claimbinding.WithData(true))
	} else {
		options, used = append(options, claimbinding.WithData(s.holdsData(c.managed.gvk))), append(used, c.managed.gvk)
	}
	return claimbinding.NewReconciler(s.mgr, of, by, resource.ManagedKind(c.managed.gvk), options...).SetupWithManager(s.WhenUsed(used...))
}

// addConditions adds the controller of the conditions of a class kind, once for all claim kinds (N58).
func (s *Setup) addConditions(c classPart, added bool) error {
	if added || !c.class.status {
		return nil
	}
	var o []class.Option
	if c.Kinds != nil {
		o = append(o, class.WithKinds(c.Kinds))
	}
	for _, config := range s.configs {
		if !config.untyped && config.gvk.Group == s.configGroup(c.managed.gvk.GroupKind()) && config.gvk.Kind == xpv1.ProviderConfigKind {
			o = append(o, class.WithProviderConfigs(config.gvk))
		}
	}
	return class.NewReconciler(s.mgr, resource.ClassKind(c.class.gvk), o...).SetupWithManager(s.WhenUsed(c.class.gvk))
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
