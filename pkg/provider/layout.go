// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"errors"
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/clients"
	"github.com/bowline-dev/bowline/pkg/reconciler/providerconfig"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// A layout is a provider whose parts were found to fit together.
type layout struct {
	provider Provider
	kinds    []placed[Kind]
	configs  []placed[resource.ProviderConfig]
	claims   []placed[resource.Claim]
	targets  []placed[resource.Target]
	classes  []placedClass
}

// placed is a kind or a configuration with what its definition says.
type placed[T any] struct {
	is         T
	gvk        schema.GroupVersionKind
	plural     string
	namespaced bool
	configs    string // the group of the configurations that objects of a managed kind use, empty if they use none
}

// Validate returns all mistakes that can be seen without an API server, each with what to do.
func (p Provider) Validate() error {
	_, err := p.layout()
	return err
}

func (p Provider) layout() (*layout, error) {
	b := layoutBuilder{layout: layout{provider: p}, scheme: runtime.NewScheme()}
	if p.Name == "" {
		b.mistake("it has no name: set Provider.Name")
	}
	if p.AddToScheme == nil {
		b.mistake("it adds nothing to schemes: set Provider.AddToScheme")
	} else if err := p.AddToScheme(b.scheme); err != nil {
		b.mistake("adding its kinds to a scheme: %w", err)
	}
	var err error
	if b.definitions, err = p.Definitions(); err != nil {
		return nil, errors.Join(append(b.mistakes, err)...) // all that follows would only repeat it
	}
	for _, config := range p.Configs {
		b.placeConfig(config)
	}
	for i, kind := range p.Kinds {
		b.placeKind(i, kind)
	}
	for _, claim := range p.Claims {
		b.placeClaim(claim)
	}
	for _, target := range p.Targets {
		b.placeTarget(target)
	}
	if err := b.loadCore(); err != nil {
		return nil, err
	}
	for i, class := range p.Classes {
		b.placeClass(i, class)
	}
	if err := errors.Join(b.mistakes...); err != nil {
		return nil, err
	}
	return &b.layout, nil
}

// layoutBuilder puts a layout together and gathers what is wrong with it.
type layoutBuilder struct {
	layout
	scheme      *runtime.Scheme
	definitions []*apiextensionsv1.CustomResourceDefinition
	core        []*apiextensionsv1.CustomResourceDefinition // of claim kinds, if there are classes
	mistakes    []error
	seen        []schema.GroupVersionKind
}

func (b *layoutBuilder) mistake(format string, args ...any) {
	b.mistakes = append(b.mistakes, fmt.Errorf("provider %s: "+format, append([]any{b.provider.Name}, args...)...))
}

func (b *layoutBuilder) placeConfig(config resource.ProviderConfig) {
	gvk, definition := b.place(config, "configuration")
	if definition == nil {
		return
	}
	switch {
	case gvk.Kind != xpv1.ProviderConfigKind && gvk.Kind != xpv1.ClusterProviderConfigKind:
		b.mistake("configuration %s: managed resources can only name the kinds %s and %s", gvk.GroupKind(),
			xpv1.ProviderConfigKind, xpv1.ClusterProviderConfigKind)
	case gvk.Kind == xpv1.ClusterProviderConfigKind && isNamespaced(definition):
		b.mistake("configuration %s: a kind of this name is cluster-scoped; its definition says %s", gvk.GroupKind(), definition.Spec.Scope)
	}
	b.configs = append(b.configs, placed[resource.ProviderConfig]{
		is: config, gvk: gvk, plural: definition.Spec.Names.Plural, namespaced: isNamespaced(definition),
	})
}

func (b *layoutBuilder) placeKind(i int, kind Kind) {
	if kind.Object == nil {
		b.mistake("kind %d of Provider.Kinds has no object: set Kind.Object to an empty one", i)
		return
	}
	if kind.Err != nil {
		b.mistake("kind of %T: %w", kind.Object, kind.Err)
	}
	gvk, definition := b.place(kind.Object, "kind")
	if definition == nil {
		return
	}
	k := placed[Kind]{is: kind, gvk: gvk, plural: definition.Spec.Names.Plural, namespaced: isNamespaced(definition)}
	k.configs = definition.Labels[providerconfig.LabelProviderConfig]
	b.checkConfigs(k)
	b.kinds = append(b.kinds, k)
}

// place finds the kind of an object and its definition.
func (b *layoutBuilder) place(o client.Object, what string) (schema.GroupVersionKind, *apiextensionsv1.CustomResourceDefinition) {
	gvk, err := resource.GetKind(o, b.scheme)
	if err != nil {
		b.mistake("%s %T: %w; let Provider.AddToScheme add it once, and its list", what, o, err)
		return gvk, nil
	}
	if slices.Contains(b.seen, gvk) {
		b.mistake("%s %s is there twice: each kind has one controller", what, gvk.GroupKind())
		return gvk, nil
	}
	b.seen = append(b.seen, gvk)
	if _, untyped := o.(runtime.Unstructured); !untyped && !b.scheme.Recognizes(listOf(gvk)) {
		b.mistake("%s %s: its list %s is not in the scheme; let Provider.AddToScheme add it", what, gvk.GroupKind(), listOf(gvk).Kind)
	}
	for _, d := range b.definitions {
		if d.Spec.Group == gvk.Group && d.Spec.Names.Kind == gvk.Kind {
			if !serves(d, gvk.Version) {
				b.mistake("%s %s: its definition %s does not serve version %s", what, gvk.GroupKind(), d.Name, gvk.Version)
			}
			return gvk, d
		}
	}
	b.mistake("%s %s has no definition among Provider.CRDs: generate it, and see that it is embedded", what, gvk.GroupKind())
	return gvk, nil
}

// checkConfigs looks for the configurations that objects of a kind may name (N2, N29).
func (b *layoutBuilder) checkConfigs(k placed[Kind]) {
	if len(b.provider.Configs) == 0 && k.configs == "" {
		return
	}
	if k.configs == "" {
		b.mistake("kind %s: its definition has no label %s; set it to the group of the configurations that its objects use, or nobody "+
			"keeps these while they are in use", k.gvk.GroupKind(), providerconfig.LabelProviderConfig)
		return
	}
	needed := []string{xpv1.ProviderConfigKind}
	if k.namespaced {
		needed = append(needed, xpv1.ClusterProviderConfigKind)
	}
	for _, kind := range needed {
		fits := func(c placed[resource.ProviderConfig]) bool {
			namespaced := k.namespaced && kind == xpv1.ProviderConfigKind
			return c.gvk.Group == k.configs && c.gvk.Kind == kind && c.namespaced == namespaced
		}
		if !slices.ContainsFunc(b.configs, fits) {
			b.mistake("kind %s is %s and uses configurations of group %s, but Provider.Configs has no %s for it",
				k.gvk.GroupKind(), scopeName(k.namespaced), k.configs, kind)
		}
	}
}

// addToScheme adds the provider's kinds to a scheme that lacks some.
func (l *layout) addToScheme(s *runtime.Scheme) error {
	known := true
	for _, k := range l.kinds {
		_, untyped := k.is.Object.(runtime.Unstructured)
		known = known && (untyped || s.Recognizes(k.gvk))
	}
	for _, c := range l.configs {
		known = known && s.Recognizes(c.gvk)
	}
	for _, c := range l.claims {
		known = known && s.Recognizes(c.gvk)
	}
	for _, t := range l.targets {
		known = known && s.Recognizes(t.gvk)
	}
	for _, c := range l.classes {
		known = known && s.Recognizes(c.class)
		if !s.Recognizes(c.claim) {
			if err := addCore(s); err != nil {
				return err
			}
		}
	}
	if known {
		return nil
	}
	if err := l.provider.AddToScheme(s); err != nil {
		return fmt.Errorf("adding kinds of provider %s to the scheme: %w", l.provider.Name, err)
	}
	return nil
}

func (l *layout) kindOf(managed schema.GroupKind) placed[Kind] {
	for _, k := range l.kinds {
		if k.gvk.GroupKind() == managed {
			return k
		}
	}
	return placed[Kind]{}
}

func (l *layout) configKinds() []clients.ConfigKind {
	var kinds []clients.ConfigKind
	for _, c := range l.configs {
		kinds = append(kinds, clients.ConfigKind{Object: c.is, Kind: c.gvk, Namespaced: c.namespaced})
	}
	return kinds
}

// usersOf returns the kinds whose objects may use configurations of a kind.
func (l *layout) usersOf(config schema.GroupKind) []schema.GroupVersionKind {
	var users []schema.GroupVersionKind
	for _, k := range l.kinds {
		if k.configs == config.Group {
			users = append(users, k.gvk)
		}
	}
	return users
}

func listOf(gvk schema.GroupVersionKind) schema.GroupVersionKind {
	return gvk.GroupVersion().WithKind(gvk.Kind + "List")
}

func isNamespaced(d *apiextensionsv1.CustomResourceDefinition) bool {
	return d.Spec.Scope == apiextensionsv1.NamespaceScoped
}

func scopeName(namespaced bool) string {
	if namespaced {
		return "namespaced"
	}
	return "cluster-scoped"
}

func serves(d *apiextensionsv1.CustomResourceDefinition, version string) bool {
	return slices.ContainsFunc(d.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool {
		return v.Name == version && v.Served
	})
}
