// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/bowline-dev/bowline/pkg/provider"
	"github.com/bowline-dev/bowline/pkg/terraform/external"
	"github.com/bowline-dev/bowline/pkg/terraform/plugin"
	"github.com/bowline-dev/bowline/pkg/terraform/processes"
	"github.com/bowline-dev/bowline/providers/terraform/apis/v1alpha1"
)

// A wish is what is to be served of a TerraformProvider.
type wish struct {
	of     *v1alpha1.TerraformProvider
	former []v1alpha1.ServedKind // what was served before, also by former controllers
	kept   []keptType
	partly bool // what cannot be served does not stop the rest
}

// A keptType is one that spec.types lacks, and that has objects, such as user: nothing would change or delete them any more without it.
type keptType struct{ name, user string }

// wishOf returns what is to be served: what the spec declares, and former types that have objects.
func (r *Reconciler) wishOf(ctx context.Context, tp *v1alpha1.TerraformProvider) (wish, error) {
	w := wish{of: tp, former: tp.Status.Kinds}
	if now := r.serving[tp.Name]; now != nil && now.binary != nil {
		w.former = now.status.Kinds // which the cache may not have yet
	}
	for _, kind := range w.former {
		if matches(tp.Spec.Types, kind.Type) {
			continue
		}
		user, err := r.user(ctx, tp.Name, kind)
		if err != nil {
			return w, err
		}
		if user != "" {
			w.kept = append(w.kept, keptType{kind.Type, user})
		}
	}
	return w, nil
}

// types are names and patterns of the types to serve.
func (w wish) types() []string {
	all := slices.Clone(w.of.Spec.Types)
	for _, kept := range w.kept {
		all = append(all, kept.name)
	}
	return all
}

// unfinished returns an error about types that a binary serves for their last objects only.
func (w wish) unfinished(by *processes.Binary) error {
	var errs []error
	for _, kept := range w.kept {
		if by.Schemas.Resources[kept.name] != nil {
			errs = append(errs, fmt.Errorf("resource type %s is not in spec.types, and is served until its objects are deleted, such as %s: delete them, or "+
				"add it to spec.types again", kept.name, kept.user))
		}
	}
	return errors.Join(errs...)
}

// matches is true for a resource type that is one of some names, or fits a pattern.
func matches(patterns []string, resourceType string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		matched, _ := path.Match(pattern, resourceType)
		return matched
	})
}

// checkTypes returns an error with all patterns that match no type of the provider.
func checkTypes(patterns []string, schemas *plugin.Schemas) error {
	var unknown []string
	for _, pattern := range patterns {
		if !slices.ContainsFunc(schemas.Types, func(name string) bool { return matches([]string{pattern}, name) }) {
			unknown = append(unknown, pattern)
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	return fmt.Errorf("the provider has no resource type %s, in spec.types, but %s", some(unknown), some(schemas.Types))
}

// some names a few types in a message.
func some(types []string) string {
	const most = 10
	if more := len(types) - most; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(types[:most], ", "), more)
	}
	return strings.Join(types, ", ")
}

// An offer is a resource type with its two kinds.
type offer struct {
	v1alpha1.ServedKind
	rows        []provider.Kind
	definitions []*apiextensionsv1.CustomResourceDefinition
}

// offer has a bridge serve a resource type, with the settings of the spec. Where these are wrong it is served with those that were in use, beside
// an error. A type that the spec lacks keeps the settings in use unless the spec has others: without them the labels of owners would be removed,
// and keys of connection Secrets.
func (w wish) offer(b *external.Bridge, of plugin.Resource) (*offer, error) {
	settings := settingsIn(w.of, of.Type)
	former, was, err := recordedSettings(w.former, of.Type)
	if err != nil {
		return nil, err
	}
	if settings == nil && !matches(w.of.Spec.Types, of.Type) {
		settings = former
	}
	rows, definitions, wrong := b.Serve(of, typeSettings(settings))
	if wrong != nil && !was {
		return nil, wrong
	}
	if wrong != nil {
		settings = former
		if rows, definitions, err = b.Serve(of, typeSettings(former)); err != nil {
			return nil, wrong
		}
		wrong = fmt.Errorf("%w; until that is corrected its former settings count", wrong)
	}
	o := &offer{rows: rows, definitions: definitions}
	o.Type, o.Kind = of.Type, definitions[0].Spec.Names.Kind
	if o.Settings, err = record(settings); err != nil {
		return nil, err
	}
	return o, wrong
}

// A selection is what a binary serves of a wish.
type selection struct {
	offers []offer
	lost   []v1alpha1.ServedKind // former types that have objects, and that the binary cannot serve
	wrong  error
}

// selectOf selects what schemas have of a wish. Types that cannot be served are removed from the schemas, so that no client uses them.
func (r *Reconciler) selectOf(ctx context.Context, now *served, w wish, schemas *plugin.Schemas) (s selection, err error) {
	var all []v1alpha1.ServedKind
	for _, name := range schemas.Types {
		of := schemas.Resources[name]
		if of == nil {
			continue
		}
		o, err := w.offer(now.bridge, schemas.Resource(name))
		if err != nil {
			s.wrong = errors.Join(s.wrong, fmt.Errorf("resource type %s: %w", name, err))
		}
		if o == nil {
			delete(schemas.Resources, name)
			continue
		}
		all = addServed(all, o.ServedKind, of)
		o.ServedKind = all[len(all)-1]
		s.offers = append(s.offers, *o)
	}
	for _, former := range w.former {
		if schemas.Resources[former.Type] != nil || !matches(w.types(), former.Type) {
			continue
		}
		user, err := r.user(ctx, w.of.Name, former)
		if err != nil {
			return s, err
		}
		if user == "" {
			continue
		}
		s.lost = append(s.lost, former)
		if !slices.Contains(schemas.Types, former.Type) {
			s.wrong = errors.Join(s.wrong, fmt.Errorf("the provider has no resource type %s any more, and it has objects, such as %s: use a version of the "+
				"provider that has it until they are deleted", former.Type, user))
		}
	}
	return s, nil
}

// loses is true where a binary must not be used in place of another one, which can serve more types that have objects. While none is in use
// there may be another one, unless a part is all that can be served.
func (s *served) loses(by selection, partly bool) bool {
	if s.binary == nil {
		return len(by.lost) > 0 && !partly
	}
	return slices.ContainsFunc(by.lost, func(k v1alpha1.ServedKind) bool { return s.binary.Schemas.Resources[k.Type] != nil })
}

// keep removes what is not among some kinds.
func (s *selection) keep(only []v1alpha1.ServedKind) {
	s.offers = slices.DeleteFunc(s.offers, func(o offer) bool {
		return !slices.ContainsFunc(only, func(k v1alpha1.ServedKind) bool { return k.Type == o.Type })
	})
}

func (s *selection) all() (rows []provider.Kind, definitions []*apiextensionsv1.CustomResourceDefinition) {
	for _, o := range s.offers {
		rows, definitions = append(rows, o.rows...), append(definitions, o.definitions...)
	}
	return rows, definitions
}

// kinds are those in status, with those that are lost: their objects remain, and another binary may serve them.
func (s *selection) kinds() (all []v1alpha1.ServedKind) {
	for _, o := range s.offers {
		all = append(all, o.ServedKind)
	}
	return append(all, s.lost...)
}
