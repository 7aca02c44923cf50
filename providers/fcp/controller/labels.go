// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"maps"

	"k8s.io/apimachinery/pkg/runtime/schema"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/parameters"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// Labels are those of one external resource. They are the user's, ours, which say whose it is, and those of others.
type labels struct {
	kind schema.GroupKind  // of the managed resource
	seen map[string]string // what the external resource carries
}

// ours are the labels that say whose an external resource is (P10, N23).
func (l labels) ours(mg resource.Managed) map[string]string {
	return meta.GetExternalLabels(mg, l.kind, resource.ProviderConfigName(mg))
}

// declared are the labels that the external resource is kept at: the user's and, where we may put them there, ours (P15).
func (l labels) declared(mg resource.Managed, users map[string]string) map[string]string {
	if !mg.GetManagementPolicies().Allow(xpv1.ManagementActionUpdate) {
		return users
	}
	return union(users, l.ours(mg))
}

// forCreate are the labels of a new external resource.
func (l labels) forCreate(mg resource.Managed, users map[string]string) map[string]string {
	return union(users, l.ours(mg))
}

// forUpdate are the labels to send in place of all that the external resource carries: those of others stay.
func (l labels) forUpdate(mg resource.Managed, users map[string]string) map[string]string {
	return union(l.seen, users, l.ours(mg))
}

// union returns the labels of all maps; the later ones win.
func union(all ...map[string]string) map[string]string {
	labels := map[string]string{}
	for _, some := range all {
		maps.Copy(labels, some)
	}
	return labels
}

// proof is the label by which what an interrupted creation left behind is found (N5).
func proof(mg resource.Managed) map[string]string {
	return map[string]string{meta.ExternalLabelUID: string(mg.GetUID())}
}

// fillLabels has late initialization fill the labels only where the user set none (R149): else one that is removed from
// the object would come back.
func fillLabels(users map[string]string) parameters.Option {
	if len(users) == 0 {
		return parameters.Ignore()
	}
	return parameters.Ignore("labels")
}
