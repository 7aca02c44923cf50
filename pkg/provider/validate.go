// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/apis/crds"
	"github.com/bowline-dev/bowline/pkg/crd"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/providerconfig"
	"github.com/bowline-dev/bowline/pkg/resource"
)

type definition = apiextensionsv1.CustomResourceDefinition

// Validate returns all mistakes that can be found without an API server, each with what to do.
func (p Provider) Validate() error {
	_, err := p.layout()
	return err
}

func (p Provider) layout() (*layout, error) {
	v := validator{layout: layout{provider: p}, scheme: runtime.NewScheme()}
	if p.Name == "" {
		v.mistake("it has no name: set Provider.Name")
	}
	if p.AddToScheme == nil {
		v.mistake("it adds nothing to schemes: set Provider.AddToScheme")
	} else if err := p.AddToScheme(v.scheme); err != nil {
		v.mistake("adding its kinds to a scheme: %w", err)
	}
	var err error
	if v.definitions, err = p.Definitions(); err != nil {
		return nil, errors.Join(append(v.mistakes, err)...) // later mistakes would only repeat it
	}
	for _, config := range p.Configs {
		v.addConfig(config)
	}
	for i, kind := range p.Kinds {
		v.addKind(i, kind)
	}
	for _, claim := range p.Claims {
		v.claims = addPart(&v, v.claims, claim, claim, "claim kind")
	}
	for _, target := range p.Targets {
		v.targets = addPart(&v, v.targets, target, target, "target kind")
	}
	if err := v.loadCore(); err != nil {
		return nil, err
	}
	for i, class := range p.Classes {
		v.addClass(i, class)
	}
	if err := errors.Join(v.mistakes...); err != nil {
		return nil, err
	}
	return &v.layout, nil
}

// A validator builds a layout and collects mistakes.
type validator struct {
	layout
	scheme      *runtime.Scheme
	definitions []*definition
	core        []*definition // of claim kinds, if there are classes
	mistakes    []error
	seen        []schema.GroupVersionKind
}

func (v *validator) mistake(format string, args ...any) {
	v.mistakes = append(v.mistakes, fmt.Errorf("provider %s: "+format, append([]any{v.provider.Name}, args...)...))
}

// addPart appends a part, unless its kind or definition is missing.
func addPart[T any](v *validator, parts []part[T], object T, empty client.Object, what string) []part[T] {
	gvk, d := v.define(empty, what)
	if d == nil {
		return parts
	}
	return append(parts, part[T]{
		object: object, gvk: gvk, plural: d.Spec.Names.Plural, namespaced: isNamespaced(d),
		configs: d.Labels[providerconfig.LabelProviderConfig],
	})
}

func (v *validator) addConfig(config resource.ProviderConfig) {
	before := len(v.configs)
	if v.configs = addPart(v, v.configs, config, config, "configuration"); len(v.configs) == before {
		return
	}
	switch c := v.configs[before]; {
	case c.gvk.Kind != xpv1.ProviderConfigKind && c.gvk.Kind != xpv1.ClusterProviderConfigKind:
		v.mistake("configuration %s: managed resources can only name the kinds %s and %s", c.gvk.GroupKind(),
			xpv1.ProviderConfigKind, xpv1.ClusterProviderConfigKind)
	case c.gvk.Kind == xpv1.ClusterProviderConfigKind && c.namespaced:
		v.mistake("configuration %s: a kind of this name is cluster-scoped, but its definition is namespaced", c.gvk.GroupKind())
	}
}

func (v *validator) addKind(i int, kind Kind) {
	if kind.Object == nil {
		v.mistake("kind %d of Provider.Kinds has no object: set Kind.Object to an empty one", i)
		return
	}
	if kind.Err != nil {
		v.mistake("kind of %T: %w", kind.Object, kind.Err)
	}
	before := len(v.kinds)
	if v.kinds = addPart(v, v.kinds, kind, kind.Object, "kind"); len(v.kinds) > before {
		v.checkConfigs(v.kinds[before])
	}
}

// define returns the kind of an object and its definition; nil if there is none.
func (v *validator) define(o client.Object, what string) (schema.GroupVersionKind, *definition) {
	gvk, err := resource.GetKind(o, v.scheme)
	if err != nil {
		v.mistake("%s %T: %w; let Provider.AddToScheme add it once, and its list", what, o, err)
		return gvk, nil
	}
	if slices.Contains(v.seen, gvk) {
		v.mistake("%s %s is there twice: each kind has one controller", what, gvk.GroupKind())
		return gvk, nil
	}
	v.seen = append(v.seen, gvk)
	list := gvk.GroupVersion().WithKind(gvk.Kind + "List")
	if _, untyped := o.(runtime.Unstructured); !untyped && !v.scheme.Recognizes(list) {
		v.mistake("%s %s: its list %s is not in the scheme; let Provider.AddToScheme add it", what, gvk.GroupKind(), list.Kind)
	}
	d := find(v.definitions, gvk)
	if d == nil {
		v.mistake("%s %s has no definition among Provider.CRDs: generate it, and check that it is embedded", what, gvk.GroupKind())
	} else if !serves(d, gvk.Version) {
		v.mistake("%s %s: its definition %s does not serve version %s", what, gvk.GroupKind(), d.Name, gvk.Version)
	}
	return gvk, d
}

// checkConfigs checks that there are the ProviderConfigs that objects of a kind may use (N2, N29).
func (v *validator) checkConfigs(k part[Kind]) {
	if len(v.provider.Configs) == 0 && k.configs == "" {
		return
	}
	if k.configs == "" {
		v.mistake("kind %s: its definition has no label %s; set it to the group of the configurations that its objects use: without it "+
			"configurations in use are not protected", k.gvk.GroupKind(), providerconfig.LabelProviderConfig)
		return
	}
	needed, scope := []string{xpv1.ProviderConfigKind}, "cluster-scoped"
	if k.namespaced {
		needed, scope = append(needed, xpv1.ClusterProviderConfigKind), "namespaced"
	}
	for _, kind := range needed {
		fits := func(c part[resource.ProviderConfig]) bool {
			namespaced := k.namespaced && kind == xpv1.ProviderConfigKind
			return c.gvk.Group == k.configs && c.gvk.Kind == kind && c.namespaced == namespaced
		}
		if !slices.ContainsFunc(v.configs, fits) {
			v.mistake("kind %s is %s and uses configurations of group %s, but Provider.Configs has no %s for it",
				k.gvk.GroupKind(), scope, k.configs, kind)
		}
	}
}

func (v *validator) addClass(i int, c Class) {
	if c.Claim == nil || c.Object == nil || c.Managed == nil {
		v.mistake("class %d of Provider.Classes is not complete: set Claim, Object and Managed to empty objects", i)
		return
	}
	claimKind, claim := v.defineForClass(c.Claim, slices.Concat(v.definitions, v.core))
	classKind, class := v.defineForClass(c.Object, v.definitions)
	managedKind, managed := v.defineForClass(c.Managed, v.definitions)
	if claim == nil || class == nil || managed == nil {
		return
	}
	name := strings.ToLower(claimKind.GroupKind().String())
	first, all := class.Labels[meta.LabelKeyClaimKind], strings.Split(class.Annotations[meta.AnnotationKeyClaimKinds], ",")
	if first == "" || first != name && !slices.Contains(all, name) {
		v.mistake("class %s: its definition is not for claims of kind %s: name that kind in the marker +bowline:class of %s",
			classKind.GroupKind(), claimKind.GroupKind(), managedKind.Kind)
	}
	if isNamespaced(managed) {
		v.mistake("class %s: %s is namespaced, but classes are for cluster-scoped managed resources only, whose Secrets are out of reach "+
			"of teams (N28)", classKind.GroupKind(), managedKind.GroupKind())
	}
	v.classes = append(v.classes, classPart{
		Class: c, claim: claimKind, class: classKind, managed: managedKind,
		claimPlural: claim.Spec.Names.Plural, classPlural: class.Spec.Names.Plural, managedPlural: managed.Spec.Names.Plural,
	})
}

func (v *validator) defineForClass(o client.Object, among []*definition) (schema.GroupVersionKind, *definition) {
	gvk, err := resource.GetKind(o, v.scheme)
	if err != nil {
		v.mistake("class for %T: %w; let Provider.AddToScheme add it once, and its list", o, err)
		return gvk, nil
	}
	d := find(among, gvk)
	if d == nil {
		v.mistake("class for %s: it has no definition among Provider.CRDs or in the core: generate it", gvk.GroupKind())
	}
	return gvk, d
}

// loadCore reads the definitions of the core's claim kinds if there are classes.
func (v *validator) loadCore() error {
	if len(v.provider.Classes) == 0 {
		return nil
	}
	if err := addCore(v.scheme); err != nil {
		return err
	}
	var err error
	v.core, err = crd.Load(crds.FS)
	return err
}

func find(among []*definition, gvk schema.GroupVersionKind) *definition {
	for _, d := range among {
		if d.Spec.Group == gvk.Group && d.Spec.Names.Kind == gvk.Kind {
			return d
		}
	}
	return nil
}

func isNamespaced(d *definition) bool { return d.Spec.Scope == apiextensionsv1.NamespaceScoped }

func serves(d *definition, version string) bool {
	return slices.ContainsFunc(d.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool {
		return v.Name == version && v.Served
	})
}
