// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package configuration writes objects of Terraform kinds as Terraform configuration: a resource block for each, and one that imports its external
// resource. No secret is written: variables stand for the keys of Secrets.
package configuration

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/hashicorp/hcl/v2/hclwrite"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/bowline-dev/bowline/internal/cli/inspect"
	"github.com/bowline-dev/bowline/internal/cli/terraform/source"
)

// Print writes objects of the providers, and what is missing of them. It fails for an object of another provider.
func Print(out, problems io.Writer, objects []*unstructured.Unstructured, sources []*source.Provider) error {
	all, err := resources(objects, sources)
	if err != nil {
		return err
	}
	known := slices.DeleteFunc(slices.Clone(all), func(r *resource) bool {
		reason := r.notImportable()
		if reason != "" {
			r.problem("it is left out, since Terraform cannot import it: %s", reason)
		}
		return reason != ""
	})
	file := hclwrite.NewEmptyFile()
	configs, alias := aliases(known)
	writeAliases(file.Body(), configs, alias)
	for i, r := range known {
		if i > 0 {
			file.Body().AppendNewline()
		}
		r.write(file.Body(), alias[r.config()], func(ref map[string]any) *resource { return r.find(ref, known) })
	}
	if _, err := out.Write(hclwrite.Format(file.Bytes())); err != nil {
		return err
	}
	for _, r := range all {
		for _, problem := range r.problems {
			fmt.Fprintln(problems, inspect.Plain(problem))
		}
	}
	if len(known) == 0 {
		return errors.New("no object can be exported: see the reasons above")
	}
	return nil
}

// resources returns the resource of each object, with a name that no other of its type has.
func resources(objects []*unstructured.Unstructured, sources []*source.Provider) ([]*resource, error) {
	var all []*resource
	for _, o := range objects {
		r := &resource{Unstructured: o}
		for _, s := range sources {
			for name, t := range s.Types {
				if apiVersion, kind := s.Kind(name, o.GetNamespace() != ""); o.GetAPIVersion() == apiVersion && o.GetKind() == kind {
					r.source, r.of, r.block = s, name, t.Block
				}
			}
		}
		if r.source == nil {
			return nil, fmt.Errorf("%s: no provider that is given has kind %s of %s: add --provider NAME, where NAME is the first part of the group",
				r, o.GetKind(), o.GetAPIVersion())
		}
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b *resource) int {
		return cmp.Or(cmp.Compare(a.of, b.of), cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
	})
	taken := map[string]bool{}
	for _, r := range all {
		r.name = identifier(r.GetName())
		if taken[r.of+"."+r.name] {
			r.name = identifier(r.GetNamespace() + "_" + r.GetName())
		}
		for taken[r.of+"."+r.name] {
			r.name += "_"
		}
		taken[r.of+"."+r.name] = true
	}
	return all, nil
}

// find returns the resource of an item of spec.references.
func (r *resource) find(ref map[string]any, all []*resource) *resource {
	text := func(key, otherwise string) string { s, _ := ref[key].(string); return cmp.Or(s, otherwise) }
	apiVersion, kind := text("apiVersion", r.GetAPIVersion()), text("kind", "")
	at := inspect.Path(text("namespace", r.GetNamespace()), text("name", ""))
	for _, other := range all {
		if other.GetAPIVersion() == apiVersion && other.GetKind() == kind && inspect.Path(other.GetNamespace(), other.GetName()) == at {
			return other
		}
	}
	return nil
}
