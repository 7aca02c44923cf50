// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bowline-dev/bowline/apis"
	"github.com/bowline-dev/bowline/apis/crds"
	"github.com/bowline-dev/bowline/pkg/crd"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// A placedClass is a Class whose kinds were found.
type placedClass struct {
	is                    Class
	claim, class, managed schema.GroupVersionKind
	claims, classes       string // plural names
	made                  string // the plural name of the managed kind
}

func (b *layoutBuilder) placeClaim(claim resource.Claim) {
	gvk, definition := b.place(claim, "claim kind")
	if definition != nil {
		b.claims = append(b.claims, placed[resource.Claim]{is: claim, gvk: gvk, plural: definition.Spec.Names.Plural, namespaced: true})
	}
}

func (b *layoutBuilder) placeTarget(target resource.Target) {
	gvk, definition := b.place(target, "target kind")
	if definition != nil {
		b.targets = append(b.targets, placed[resource.Target]{is: target, gvk: gvk, plural: definition.Spec.Names.Plural, namespaced: true})
	}
}

func (b *layoutBuilder) placeClass(i int, c Class) {
	if c.Claim == nil || c.Object == nil || c.Managed == nil {
		b.mistake("class %d of Provider.Classes is not complete: set Claim, Object and Managed to empty objects", i)
		return
	}
	p := placedClass{is: c}
	var of, by, with *apiextensionsv1.CustomResourceDefinition
	p.claim, of = b.find(c.Claim, slices.Concat(b.definitions, b.core))
	p.class, by = b.find(c.Object, b.definitions)
	p.managed, with = b.find(c.Managed, b.definitions)
	if of == nil || by == nil || with == nil {
		return
	}
	p.claims, p.classes, p.made = of.Spec.Names.Plural, by.Spec.Names.Plural, with.Spec.Names.Plural
	served := strings.ToLower(p.claim.GroupKind().String())
	first, all := by.Labels[meta.LabelKeyClaimKind], strings.Split(by.Annotations[meta.AnnotationKeyClaimKinds], ",")
	if first == "" || first != served && !slices.Contains(all, served) {
		b.mistake("class %s: its definition does not say that it is for claims of kind %s: name it in the marker +bowline:class of %s",
			p.class.GroupKind(), p.claim.GroupKind(), p.managed.Kind)
	}
	if isNamespaced(with) {
		b.mistake("class %s: %s is namespaced, and classes make cluster-scoped managed resources only, so that their Secrets stay out "+
			"of reach (N28)", p.class.GroupKind(), p.managed.GroupKind())
	}
	b.classes = append(b.classes, p)
}

// find returns the kind of an object and its definition.
func (b *layoutBuilder) find(o client.Object, among []*apiextensionsv1.CustomResourceDefinition) (
	schema.GroupVersionKind, *apiextensionsv1.CustomResourceDefinition,
) {
	gvk, err := resource.GetKind(o, b.scheme)
	if err != nil {
		b.mistake("class for %T: %w; let Provider.AddToScheme add it once, and its list", o, err)
		return gvk, nil
	}
	for _, d := range among {
		if d.Spec.Group == gvk.Group && d.Spec.Names.Kind == gvk.Kind {
			return gvk, d
		}
	}
	b.mistake("class for %s: that has no definition among Provider.CRDs, nor in the core: generate it", gvk.GroupKind())
	return gvk, nil
}

// addCore makes the claim kinds of the core known to a scheme that lacks them.
func addCore(s *runtime.Scheme) error {
	if err := apis.AddToScheme(s); err != nil {
		return fmt.Errorf("adding the claim kinds of the core to the scheme: %w", err)
	}
	return nil
}

// loadCore reads the definitions of the core's claim kinds, if there are classes for them.
func (b *layoutBuilder) loadCore() error {
	if len(b.provider.Classes) == 0 {
		return nil
	}
	if err := addCore(b.scheme); err != nil {
		return err
	}
	var err error
	b.core, err = crd.Load(crds.FS)
	return err
}
