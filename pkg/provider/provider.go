// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"fmt"
	"io/fs"

	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/bowline-dev/bowline/pkg/crd"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// A Provider is all there is to know of one. Programs, tests and tools use the same value.
type Provider struct {
	// Name is how messages and the lease of its controllers call it: lower case letters, digits and hyphens.
	Name string

	// CRDs holds the definitions of all its kinds, configurations included, in files *.yaml.
	CRDs fs.FS

	// AddToScheme adds all its kinds.
	AddToScheme func(*runtime.Scheme) error

	// Configs holds an empty object of each kind of provider configuration (K51). Cluster-scoped managed kinds need a
	// ProviderConfig of cluster scope, namespaced ones a ProviderConfig of their scope and a ClusterProviderConfig (N2). The
	// spec of each holds the fields of ProviderSpec of package apis/common/v1. Empty for a provider whose kinds need none.
	Configs []resource.ProviderConfig

	// Kinds are the managed kinds that it serves.
	Kinds []Kind

	// Claims are empty claims of the kinds that the provider defines itself, as the core does (K37). Their core controllers say
	// why a claim gets nothing (N10).
	Claims []resource.Claim

	// Targets are empty targets of the kinds that the provider defines itself, as the core does (K70). Each kind has one
	// controller, which lets its targets connect to managed resources of all kinds of the providers that run beside it.
	Targets []resource.Target

	// Classes say which claims can be satisfied with which of its kinds (R8).
	Classes []Class

	// PropagatesSecrets makes the provider carry changes of connection Secrets on to claims, for all kinds of all providers
	// (R7). One provider of an installation does it: the core.
	PropagatesSecrets bool

	// Options are given to the reconcilers of all its kinds, before those of the kind.
	Options []managed.ReconcilerOption

	// ExtraRules are what its connecters do through the API server besides what Rules knows, for example because its objects
	// refer to kinds of other providers.
	ExtraRules []rbacv1.PolicyRule
}

// A Kind is a managed kind that a provider serves. See KindOf for the usual way to make one.
type Kind struct {
	// Object is an empty one. Its kind comes from the scheme, or from the object itself if that has no Go type (see package
	// resource/unstructured).
	Object resource.Managed

	// Connecter returns what makes external clients of this kind. It is called once, when the kind is set up.
	Connecter func(*Setup) managed.ExternalConnecter

	// Options of this kind's reconciler: the way to everything that a managed.Reconciler can do.
	Options []managed.ReconcilerOption

	// Concurrency is how many objects of the kind are reconciled at once. Default: 32.
	Concurrency int

	// Err is what is wrong with the kind, for packages that make kinds and find mistakes. Provider.Validate tells it.
	Err error

	// typed is Connecter for a client of one Go type.
	typed func(*Setup) managed.ReconcilerOption
}

// Definitions returns the definitions of all kinds of the provider.
func (p Provider) Definitions() ([]*apiextensionsv1.CustomResourceDefinition, error) {
	if p.CRDs == nil {
		return nil, fmt.Errorf("provider %s has no definitions: set Provider.CRDs to the folder of its *.yaml files", p.Name)
	}
	all, err := crd.Load(p.CRDs)
	if err != nil {
		return nil, fmt.Errorf("provider %s: %w", p.Name, err)
	}
	return all, nil
}

// SetupWithManager adds the controllers of all kinds and configurations to the manager (A73), and the kinds to its
// scheme. The options are given to the reconciler of every managed kind, after its own. A provider that Validate finds
// mistakes in is refused with these.
func (p Provider) SetupWithManager(mgr ctrl.Manager, o ...managed.ReconcilerOption) error {
	s, err := p.setup(mgr)
	if err != nil {
		return err
	}
	if err := s.addControllers(o); err != nil {
		return fmt.Errorf("setting up provider %s: %w", p.Name, err)
	}
	return nil
}

// Reconcilers returns the reconcilers of all managed kinds, which the manager does not run, and adds the kinds to its scheme.
// They are for asking what a pass would do (N8), see managed.Reconciler.Plan, while the manager is started. Options and errors
// are those of SetupWithManager.
func (p Provider) Reconcilers(mgr ctrl.Manager, o ...managed.ReconcilerOption) (map[schema.GroupKind]*managed.Reconciler, error) {
	s, err := p.setup(mgr)
	if err != nil {
		return nil, err
	}
	all := map[schema.GroupKind]*managed.Reconciler{}
	shared := s.shared()
	for _, k := range s.layout.kinds {
		all[k.gvk.GroupKind()] = s.newReconciler(k, shared, o)
	}
	return all, nil
}

// setup prepares a manager for the provider.
func (p Provider) setup(mgr ctrl.Manager) (*Setup, error) {
	l, err := p.layout()
	if err != nil {
		return nil, err
	}
	if err := l.addToScheme(mgr.GetScheme()); err != nil {
		return nil, err
	}
	s, err := newSetup(mgr, l)
	if err != nil {
		return nil, fmt.Errorf("setting up provider %s: %w", p.Name, err)
	}
	return s, nil
}
