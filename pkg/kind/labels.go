// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package kind

import (
	"maps"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// ours are the labels that say whose an external resource is (P10, N23).
func (c *client[C, P, O, V]) ours(mg resource.Managed) map[string]string {
	return meta.GetExternalLabels(mg, c.kind, resource.ProviderConfigName(mg))
}

// users are the labels that the user declares.
func (c *client[C, P, O, V]) users(p *P) map[string]string {
	if c.labelsIn == nil {
		return nil
	}
	return *c.labelsIn(p)
}

// declaredLabels are the labels that the external resource is kept at: the user's and, where we may and can put them there,
// ours (P15).
func (c *client[C, P, O, V]) declaredLabels(of Object[P, O]) map[string]string {
	if c.Kind.Update == nil || !of.GetManagementPolicies().Allow(xpv1.ManagementActionUpdate) {
		return c.users(of.Parameters())
	}
	return union(c.users(of.Parameters()), c.ours(of))
}

// label gives a request all labels that the external resource is to carry. Those that others put there stay.
func (c *client[C, P, O, V]) label(r *Request[P, V], seen map[string]string) {
	if c.labelsIn == nil && c.Labels == nil {
		return
	}
	r.Labels = union(seen, c.users(&r.Parameters), c.ours(r.Object))
	if c.labelsIn != nil {
		*c.labelsIn(&r.Parameters) = r.Labels
	}
}

// union returns the entries of all maps; the later ones win.
func union[M ~map[string]T, T any](all ...M) M {
	joined := M{}
	for _, some := range all {
		maps.Copy(joined, some)
	}
	return joined
}
