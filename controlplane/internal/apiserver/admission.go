// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiserver/pkg/admission"
)

// establishedLead is longer than the delay of the first objects of a new kind.
const establishedLead = 3 * time.Second

// establishAtOnce backdates the moment at which a custom resource definition is established.
//
// The handler of custom resources delays a create by two seconds if its definition was established less than two seconds ago, for
// other servers. There are no other servers here.
type establishAtOnce struct{}

var _ admission.MutationInterface = establishAtOnce{}

func (establishAtOnce) Handles(op admission.Operation) bool { return op == admission.Update }

func (establishAtOnce) Admit(_ context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if a.GetSubresource() != "status" || a.GetResource().GroupResource() != apiextensions.Resource("customresourcedefinitions") {
		return nil
	}
	crd, ok := a.GetObject().(*apiextensions.CustomResourceDefinition)
	if !ok {
		return nil
	}
	for i := range crd.Status.Conditions {
		c := &crd.Status.Conditions[i]
		if c.Type == apiextensions.Established && c.Status == apiextensions.ConditionTrue && time.Since(c.LastTransitionTime.Time) < establishedLead {
			c.LastTransitionTime.Time = c.LastTransitionTime.Add(-establishedLead)
		}
	}
	return nil
}
