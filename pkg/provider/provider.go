// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package provider describes a provider, its kinds and how it is set up and run.
//
// A provider is one value, which programs, tests and tools share:
//
//	func Provider() provider.Provider {
//		return provider.Provider{
//			Name:        "fcp",
//			CRDs:        crds.FS,
//			AddToScheme: apis.AddToScheme,
//			Configs:     []resource.ProviderConfig{&v1.ProviderConfig{}},
//			Kinds:       []provider.Kind{provider.KindOf(&v1.Bucket{}, clouds, newBucketClient)},
//		}
//	}
//
//	func main() { provider.Main(fcp.Provider()) }
//
// Here clouds is a clients.Factory: package clients creates the clients of the external system and shares them.
//
// A kind uses the ProviderConfigs of the group in the label bowline.dev/provider-config of its definition: a
// cluster-scoped kind those of kind ProviderConfig, a namespaced one those of kind ProviderConfig in its namespace and
// ClusterProviderConfig (N2, N29). Provider.Validate returns everything that does not fit.
package provider

import (
	"context"
	"fmt"
	"io/fs"

	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/bowline-dev/bowline/pkg/clients"
	"github.com/bowline-dev/bowline/pkg/clients/credentials"
	"github.com/bowline-dev/bowline/pkg/crd"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
	"github.com/bowline-dev/bowline/pkg/telemetry"
)

// A Provider describes a provider completely. Programs, tests and tools use the same value.
type Provider struct {
	Name        string                      // in messages and of the lease: lower case letters, digits and hyphens
	CRDs        fs.FS                       // holds the definitions of all its kinds, configurations included, in files *.yaml
	AddToScheme func(*runtime.Scheme) error // adds all its kinds that have a Go type
	// Defined are definitions beside those of CRDs, which may be nil then: of kinds that are known at run time only.
	Defined []*apiextensionsv1.CustomResourceDefinition
	// Configs holds an empty object of each kind of ProviderConfig (K51). Cluster-scoped managed kinds need a cluster-scoped
	// ProviderConfig, namespaced ones a namespaced ProviderConfig and a ClusterProviderConfig (N2). Their specs contain the
	// fields of ProviderSpec of package apis/common/v1. Those without a Go type are of package resource/unstructured. Empty if no kind needs one.
	Configs []resource.ProviderConfig
	Kinds   []Kind // the managed kinds
	// Claims are empty claims of the kinds that the provider defines, as the core does (K37). Their controllers report why a claim
	// is not bound (N10).
	Claims []resource.Claim
	// Targets are empty targets of the kinds that the provider defines, as the core does (K70). Each kind has one controller, which
	// connects its targets to managed resources of all providers in the same manager.
	Targets []resource.Target
	Classes []Class // connect claim kinds with kinds of the provider (R8)
	// PropagatesSecrets makes the provider propagate connection Secrets to claims, for all kinds of all providers (R7). One
	// provider of an installation does it: the core.
	PropagatesSecrets bool
	// RunsWorkloads makes the provider run the applications of targets (K80). One provider of an installation does it: the core.
	RunsWorkloads bool
	// Extend adds controllers that no kind needs, in one process of an installation. Default: none.
	Extend func(*Setup) error
	// Discover returns the providers whose kinds Extend adds at run time, as an API server declares them, for plans: see Reconcilers. The
	// scheme has the kinds with Go types to which objects may refer. An error stands for each that is not returned, for example because its
	// program is missing here. Default: none.
	Discover func(context.Context, client.Reader, *runtime.Scheme) ([]Provider, []error)
	Options  []managed.ReconcilerOption // of the reconcilers of all kinds, before those of the kind
	// Credentials offer environment variables and files of the process to ProviderConfigs. Default: none.
	Credentials []credentials.Option
	// ExtraRules are permissions that connecters need besides those that Rules derives, for example because objects refer to
	// kinds of other providers.
	ExtraRules []rbacv1.PolicyRule
}

// A Kind is a managed kind of a provider. KindOf creates one.
type Kind struct {
	// Object is an empty object. Its kind comes from the scheme, or from the object if it has no Go type (see package
	// resource/unstructured).
	Object      resource.Managed
	Connecter   func(*Setup) managed.ExternalConnecter // returns the connecter of the kind. It is called once, at setup.
	Options     []managed.ReconcilerOption             // of the reconciler of this kind
	HoldsData   bool                                   // the parameters declare that it holds data: Validate refuses a definition that does not
	Concurrency int                                    // how many objects of the kind are reconciled at once. Default: 32.
	Err         error                                  // a mistake in the kind, which Provider.Validate returns
	typed       func(*Setup) managed.ReconcilerOption  // Connecter for external clients of one Go type
}

// LeaseName is the name of the lease that the processes share which run the provider.
func (p Provider) LeaseName() string { return "bowline-" + p.Name }

// Definitions returns the definitions of all kinds of the provider.
func (p Provider) Definitions() ([]*apiextensionsv1.CustomResourceDefinition, error) {
	if p.CRDs == nil && len(p.Defined) > 0 {
		return p.Defined, nil
	}
	if p.CRDs == nil {
		return nil, fmt.Errorf("provider %s has no definitions: set Provider.CRDs to the folder of its *.yaml files", p.Name)
	}
	all, err := crd.Load(p.CRDs)
	if err != nil {
		return nil, fmt.Errorf("provider %s: %w", p.Name, err)
	}
	return append(all, p.Defined...), nil
}

// SetupWithManager adds the kinds to the scheme of the manager, and the controllers of all kinds and ProviderConfigs to the manager
// (A73). The options are for the reconcilers of all managed kinds, after their own. It fails if Validate does.
func (p Provider) SetupWithManager(mgr ctrl.Manager, o ...managed.ReconcilerOption) error {
	_, err := p.Setup(mgr, o...)
	return err
}

// Setup is SetupWithManager that returns what can serve further kinds later.
func (p Provider) Setup(mgr ctrl.Manager, o ...managed.ReconcilerOption) (*Setup, error) {
	s, err := p.setup(mgr)
	if err != nil {
		return nil, err
	}
	if err := s.addControllers(o); err != nil {
		return nil, fmt.Errorf("setting up provider %s: %w", p.Name, err)
	}
	return s, nil
}

// Reconcilers adds the kinds to the scheme of the manager and returns the reconcilers of all managed kinds without controllers, for
// plans: see managed.Reconciler.Plan (N8). The manager must be started. Options and errors are those of SetupWithManager.
func (p Provider) Reconcilers(mgr ctrl.Manager, o ...managed.ReconcilerOption) (map[schema.GroupKind]*managed.Reconciler, error) {
	s, err := p.setup(mgr)
	if err != nil {
		return nil, err
	}
	all := map[schema.GroupKind]*managed.Reconciler{}
	shared := s.shared()
	for _, k := range s.kinds {
		all[k.gvk.GroupKind()] = s.newReconciler(k, shared, o)
	}
	return all, nil
}

func (p Provider) setup(mgr ctrl.Manager) (*Setup, error) {
	l, err := p.layout()
	if err != nil {
		return nil, err
	}
	if err := l.addToScheme(mgr.GetScheme()); err != nil {
		return nil, err
	}
	registry, err := clients.NewRegistry(mgr, l.configKinds(), l.configGroup, p.Credentials...)
	if err != nil {
		return nil, fmt.Errorf("setting up provider %s: %w", p.Name, err)
	}
	counters, err := telemetry.NewMetrics(metrics.Registry)
	return &Setup{layout: l, mgr: mgr, clients: registry, metrics: counters}, err
}
