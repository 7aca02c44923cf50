// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
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

// Validate returns all mistakes that can be found without an API server, each with what to do.
func (p Provider) Validate() error {
	_, err := p.layout()
	return err
}

func (p Provider) layout() (*layout, error) {
	v := validator{layout: layout{provider: p, growing: &sync.RWMutex{}}, scheme: runtime.NewScheme()}
	if p.Name == "" {
		v.mistake("it has no name: set Provider.Name")
	}
	if p.AddToScheme == nil {
		v.mistake("it adds nothing to schemes: set Provider.AddToScheme")
	} else if err := p.AddToScheme(v.scheme); err != nil {
		v.mistake("adding its kinds to a scheme: %w", err)
	}
	var err error
	if v.provided, err = p.Definitions(); err != nil {
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
	l := v.layout // a pointer into v would keep the definitions in memory
	return &l, nil
}

type validator struct {
	layout
	scheme   *runtime.Scheme
	provided []*apiextensionsv1.CustomResourceDefinition
	core     []*apiextensionsv1.CustomResourceDefinition // of claim kinds, if there are classes
	mistakes []error
	seen     []schema.GroupVersionKind
}

func (v *validator) mistake(format string, args ...any) {
	v.mistakes = append(v.mistakes, fmt.Errorf("provider %s: "+format, append([]any{v.provider.Name}, args...)...))
}

func addPart[T any](v *validator, parts []part[T], object T, empty client.Object, what string) []part[T] {
	gvk, ok := v.kindOf(empty, what)
	if !ok {
		return parts
	}
	if slices.Contains(v.seen, gvk) {
		v.mistake("%s %s is there twice: each kind has one controller", what, gvk.GroupKind())
		return parts
	}
	v.seen = append(v.seen, gvk)
	list := gvk.GroupVersion().WithKind(gvk.Kind + "List")
	_, untyped := empty.(runtime.Unstructured)
	if !untyped && !v.scheme.Recognizes(list) {
		v.mistake("%s %s: its list %s is not in the scheme; let Provider.AddToScheme add it", what, gvk.GroupKind(), list.Kind)
	}
	d := find(v.provided, gvk)
	if d == nil {
		v.mistake("%s %s has no definition among Provider.CRDs: generate it, and check that it is embedded", what, gvk.GroupKind())
		return parts
	}
	if !apihelpers.HasServedCRDVersion(d, gvk.Version) {
		v.mistake("%s %s: its definition %s does not serve version %s", what, gvk.GroupKind(), d.Name, gvk.Version)
	}
	p := part[T]{object: object, definition: defined(gvk, d)}
	p.untyped = untyped
	return append(parts, p)
}

func (v *validator) kindOf(o client.Object, what string) (gvk schema.GroupVersionKind, ok bool) {
	gvk, err := resource.GetKind(o, v.scheme)
	if err != nil {
		v.mistake("%s %T: %w; let Provider.AddToScheme add it once, and its list", what, o, err)
	}
	return gvk, err == nil
}

func defined(gvk schema.GroupVersionKind, d *apiextensionsv1.CustomResourceDefinition) definition {
	subresources, err := apihelpers.GetSubresourcesForVersion(d, gvk.Version)
	return definition{
		gvk: gvk, plural: d.Spec.Names.Plural, namespaced: d.Spec.Scope == apiextensionsv1.NamespaceScoped,
		configs: d.Labels[providerconfig.LabelProviderConfig], data: d.Labels[meta.LabelKeyHoldsData] == "true",
		status: err == nil && subresources != nil && subresources.Status != nil,
	}
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
		if kind.HoldsData && !v.kinds[before].data {
			v.mistake("kind %s holds data, and its definition has no label %s: add the marker +bowline:holdsData to its type and run bowline "+
				"generate: without it objects are not protected from deletion", v.kinds[before].gvk.GroupKind(), meta.LabelKeyHoldsData)
		}
	}
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
	if c.Claim == nil || c.Object == nil || (c.Managed == nil) == (c.Kinds == nil) {
		v.mistake("class %d of Provider.Classes is not complete: set Claim, Object and Managed to empty objects, or Kinds in place of Managed", i)
		return
	}
	if _, names := c.Object.(resource.KindedClass); c.Kinds != nil && !names {
		v.mistake("class %T names no kind of managed resources: implement resource.KindedClass, or set Managed in place of Kinds", c.Object)
		return
	}
	claim, _ := v.defineForClass(c.Claim, slices.Concat(v.provided, v.core))
	class, d := v.defineForClass(c.Object, v.provided)
	var managed definition
	if c.Managed != nil {
		managed, _ = v.defineForClass(c.Managed, v.provided)
	}
	if claim.plural == "" || class.plural == "" || c.Managed != nil && managed.plural == "" {
		return
	}
	if c.Kinds != nil { // for the names of controllers
		managed.gvk = class.gvk.GroupVersion().WithKind(strings.TrimSuffix(class.gvk.Kind, "Class"))
	}
	name := strings.ToLower(claim.gvk.GroupKind().String())
	first, all := d.Labels[meta.LabelKeyClaimKind], strings.Split(d.Annotations[meta.AnnotationKeyClaimKinds], ",")
	if first == "" || first != name && !slices.Contains(all, name) {
		v.mistake("class %s: its definition is not for claims of kind %s: name that kind in the marker +bowline:class of %s",
			class.gvk.GroupKind(), claim.gvk.GroupKind(), managed.gvk.Kind)
	}
	if managed.namespaced {
		v.mistake("class %s: %s is namespaced, but classes are for cluster-scoped managed resources only, whose Secrets are out of reach "+
			"of teams (N28)", class.gvk.GroupKind(), managed.gvk.GroupKind())
	}
	if _, conditioned := c.Object.(resource.Conditioned); !conditioned {
		class.status = false
	}
	v.classes = append(v.classes, classPart{Class: c, claim: claim, class: class, managed: managed})
}

// defineForClass returns the zero definition if there is none.
func (v *validator) defineForClass(
	o client.Object, among []*apiextensionsv1.CustomResourceDefinition,
) (definition, *apiextensionsv1.CustomResourceDefinition) {
	gvk, ok := v.kindOf(o, "class for")
	if !ok {
		return definition{}, nil
	}
	d := find(among, gvk)
	if d == nil {
		v.mistake("class for %s: it has no definition among Provider.CRDs or in the core: generate it", gvk.GroupKind())
		return definition{}, nil
	}
	return defined(gvk, d), d
}

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

func find(among []*apiextensionsv1.CustomResourceDefinition, gvk schema.GroupVersionKind) *apiextensionsv1.CustomResourceDefinition {
	for _, d := range among {
		if d.Spec.Group == gvk.Group && d.Spec.Names.Kind == gvk.Kind {
			return d
		}
	}
	return nil
}
