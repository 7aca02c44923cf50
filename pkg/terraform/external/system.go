// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package external

import (
	"fmt"
	"slices"

	"github.com/zclconf/go-cty/cty"
	kube "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
	"github.com/bowline-dev/bowline/pkg/terraform/kinds"
	"github.com/bowline-dev/bowline/pkg/terraform/schema"
	"github.com/bowline-dev/bowline/pkg/terraform/state"
)

// place is where the external resource of the object is. In two external systems, such as two accounts, two resources may have one name.
func (c *client) place() state.Place {
	return state.Place{Type: c.Name, System: c.Client.System.ID, Config: c.Client.Config.Group + " " + c.Client.Config.String()}
}

// checkSystem refuses what has the name of the object's resource in another external system than that in which this was last seen, unless it is the
// same one: settings of a ProviderConfig may change without leading elsewhere. The label of ownership proves that. Without it, what may be
// configured has to be as it was, except for what the provider chose, or a person accepts the system.
func (c *client) checkSystem(mg resource.Managed, known cty.Value) error {
	stored, now := c.stored, c.Client.System
	moved := stored != nil && !stored.Empty() && stored.System != "" && stored.System != now.ID && stored.Name == meta.GetExternalName(mg)
	if !moved || onlyObserves(mg) || mg.GetAnnotations()[meta.AnnotationKeyRestoredAs] == now.ID {
		return nil
	}
	how := fmt.Sprintf("has no label %s of this object", meta.ExternalLabelUID)
	switch b := c.Schema.Block; {
	case c.isLabelled(mg, c.found.Value):
		return nil
	case c.settings.Load().owner == nil:
		forProvider, _, _ := kube.NestedMap(content(mg), "spec", "forProvider")
		declared, _ := c.parse(forProvider, true) // compare reports what is wrong with it
		differences := b.Differences(b.Configurable(known), b.Configurable(c.found.Value))
		i := slices.IndexFunc(differences, func(d schema.Difference) bool {
			return (!d.Computed || isSet(declared, d.Path)) && (!isZero(d.Before) || !isZero(d.After))
		})
		if i < 0 {
			return nil
		}
		how = "differs in " + kinds.FieldPath(b, differences[i].Path)
	}
	const team = "the external resource may be in another external system than the one that its configuration leads to now: ask your platform team " +
		"to correct the configuration"
	return failure.ForTeam(failure.ExternalSystemChanged, team, fmt.Errorf("external resource %q was last seen in external system %s, and its "+
		"ProviderConfig leads to %s now, where what has that name %s: point the ProviderConfig or its Secret back; or, if it is the same one, "+
		"set the annotation %s to %q", stored.Name, stored.System, now, how, meta.AnnotationKeyRestoredAs, now.ID))
}

// isZero is true for a value that is nothing, in one of the forms in which a provider may return that.
func isZero(v cty.Value) bool {
	switch t := v.Type(); {
	case v.IsNull():
		return true
	case !v.IsKnown():
		return false
	case t == cty.String, t == cty.Number, t == cty.Bool:
		return v.RawEquals(cty.StringVal("")) || v.RawEquals(cty.Zero) || v.RawEquals(cty.False)
	}
	return v.CanIterateElements() && v.LengthInt() == 0
}
