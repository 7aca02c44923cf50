// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package kind

import (
	"fmt"
	"maps"
	"reflect"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/kind/internal/mapping"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// findLabels finds the field of the parameters that holds the labels.
func (k *compiled[C, P, O, V]) findLabels() error {
	if k.rules.Labels == "" {
		return nil
	}
	for _, f := range k.parameters {
		if f.Path == k.rules.Labels && !f.Pointer && mapping.Holds[map[string]string](f.Type) {
			k.labelsIn = func(p *P) *map[string]string {
				field := reflect.ValueOf(p).Elem().FieldByIndex(f.Indices).Addr()
				labels, _ := field.Convert(reflect.TypeFor[*map[string]string]()).Interface().(*map[string]string)
				return labels
			}
			return nil
		}
	}
	return fmt.Errorf("there is no field %s for labels that is a map of strings to strings outside lists and pointers", k.rules.Labels)
}

// labelsOf returns the labels of an external resource, if its kind has labels.
func (k *compiled[C, P, O, V]) labelsOf(have *V) (labels map[string]string, can bool) {
	switch {
	case k.Labels != nil:
		return k.Labels(have), true
	case k.labelsIn != nil:
		declared, _ := k.declared(have) // compare reports what does not fit
		return *k.labelsIn(&declared), true
	}
	return nil, false
}

// ownershipLabels identify the owner of an external resource (P10, N23).
func (c *client[C, P, O, V]) ownershipLabels(mg resource.Managed) map[string]string {
	return meta.GetExternalLabels(mg, c.kind, resource.ProviderConfigName(mg))
}

// userLabels are the labels that the user declares.
func (c *client[C, P, O, V]) userLabels(p *P) map[string]string {
	if c.labelsIn == nil {
		return nil
	}
	return *c.labelsIn(p)
}

// desiredLabels are the labels that the external resource is compared with: the user's and, where they can be updated, those
// of ownership (P15).
func (c *client[C, P, O, V]) desiredLabels(of Object[P, O]) map[string]string {
	if c.Kind.Update == nil || !of.GetManagementPolicies().Allow(xpv1.ManagementActionUpdate) {
		return c.userLabels(of.Parameters())
	}
	return union(c.userLabels(of.Parameters()), c.ownershipLabels(of))
}

// addLabels gives a request all labels that the external resource shall carry. Those that others put there are kept.
func (c *client[C, P, O, V]) addLabels(r *Request[P, V], observed map[string]string) {
	if c.labelsIn == nil && c.Labels == nil {
		return
	}
	r.Labels = union(observed, c.userLabels(&r.Parameters), c.ownershipLabels(r.Object))
	if c.labelsIn != nil {
		*c.labelsIn(&r.Parameters) = r.Labels
	}
}

// union returns the entries of all maps; later ones win.
func union[M ~map[string]T, T any](all ...M) M {
	joined := M{}
	for _, some := range all {
		maps.Copy(joined, some)
	}
	return joined
}
