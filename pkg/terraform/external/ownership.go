// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package external

import (
	"cmp"
	"fmt"
	"time"

	"github.com/zclconf/go-cty/cty"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
	"github.com/bowline-dev/bowline/pkg/terraform/kinds"
	"github.com/bowline-dev/bowline/pkg/terraform/schema"
)

// TypeSettings are what a platform team decides about a resource type.
type TypeSettings struct {
	// ConnectionKeys are computed attributes that connection Secrets have beside the sensitive ones.
	ConnectionKeys []string
	// ImportID is a template of import ids. Default: they are not known before the creation.
	ImportID string
	// Ownership is the field for labels that gets the UID of the object. Default: none.
	Ownership string
	// AbsentAfter is how long an import must find nothing until an interrupted creation counts as one that made nothing. Default: 5 minutes.
	AbsentAfter time.Duration
}

const defaultAbsentAfter = 5 * time.Minute

// settings are TypeSettings that fit the schema of the type.
type settings struct {
	TypeSettings
	importID *kinds.Template // nil for none
	owner    cty.Path        // nil for none
}

func (s TypeSettings) resolve(b *schema.Block) (*settings, error) {
	resolved := &settings{TypeSettings: s}
	resolved.AbsentAfter = cmp.Or(s.AbsentAfter, defaultAbsentAfter)
	var err error
	if s.ImportID != "" {
		if resolved.importID, err = kinds.NewTemplate(b, s.ImportID); err != nil {
			return nil, fmt.Errorf("importID %s of spec.typeSettings: %w", s.ImportID, err)
		}
	}
	if s.Ownership != "" {
		if resolved.owner, err = kinds.LabelsPath(b, s.Ownership); err != nil {
			return nil, fmt.Errorf("ownership of spec.typeSettings: %w", err)
		}
	}
	return resolved, nil
}

// label returns a configuration with the UID of the object in the field for ownership labels. Where updates are not permitted what exists
// keeps the label that it has.
func (c *client) label(mg resource.Managed, config, prior cty.Value) (cty.Value, error) {
	at, uid := c.settings.Load().owner, string(mg.GetUID())
	if at == nil {
		return config, nil
	}
	labels, declared := labelsAt(config, at), kinds.Child(c.settings.Load().Ownership, meta.ExternalLabelUID)
	switch owner, has := labels[meta.ExternalLabelUID]; {
	case has && !isText(owner, uid):
		return config, invalid(fmt.Errorf("spec.forProvider.%s must be left out: Bowline sets it to the UID of the object", declared))
	case !prior.IsNull() && !mg.GetManagementPolicies().Allow(xpv1.ManagementActionUpdate) && !c.isLabelled(mg, prior):
		return config, nil
	}
	if labels == nil { // the labels of others stay where the provider keeps them
		labels = labelsAt(c.Schema.Block.Proposed(prior, config), at)
	}
	all := map[string]cty.Value{meta.ExternalLabelUID: cty.StringVal(uid)}
	for key, value := range labels {
		if key != meta.ExternalLabelUID {
			all[key] = value
		}
	}
	labelled, ok := with(config, at, cty.MapVal(all))
	if !ok {
		return config, invalid(fmt.Errorf("spec.forProvider.%s cannot be set, and Bowline writes the owner there: declare what it is in", declared))
	}
	return labelled, nil
}

// isLabelled is true for a resource with the UID of the object in the field for ownership labels.
func (c *client) isLabelled(mg resource.Managed, value cty.Value) bool {
	return isText(labelsAt(value, c.settings.Load().owner)[meta.ExternalLabelUID], string(mg.GetUID()))
}

func isText(value cty.Value, text string) bool {
	return value != cty.NilVal && value.IsKnown() && !value.IsNull() && value.AsString() == text
}

// labelsAt returns the labels at a path, nil for none.
func labelsAt(value cty.Value, at cty.Path) map[string]cty.Value {
	labels, err := at.Apply(value)
	if err != nil || labels.IsNull() || !labels.IsKnown() {
		return nil
	}
	return labels.AsValueMap()
}

// with returns a value with another one at a path of attributes and elements of lists, and false if the path ends before.
func with(value cty.Value, at cty.Path, other cty.Value) (cty.Value, bool) {
	if len(at) == 0 {
		return other, true
	}
	if value.IsNull() || !value.IsKnown() {
		return value, false
	}
	switch step := at[0].(type) {
	case cty.GetAttrStep:
		parts := value.AsValueMap()
		part, ok := with(parts[step.Name], at[1:], other)
		parts[step.Name] = part
		return cty.ObjectVal(parts), ok
	case cty.IndexStep:
		if t := value.Type(); !t.IsListType() || value.HasIndex(step.Key).False() {
			return value, false
		}
		i, _ := step.Key.AsBigFloat().Int64()
		items := value.AsValueSlice()
		item, ok := with(items[i], at[1:], other)
		items[i] = item
		return cty.ListVal(items), ok
	}
	return value, false
}
