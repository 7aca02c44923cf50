// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package external

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zclconf/go-cty/cty"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
	"github.com/bowline-dev/bowline/pkg/terraform/kinds"
	"github.com/bowline-dev/bowline/pkg/terraform/lists"
	"github.com/bowline-dev/bowline/pkg/terraform/plugin"
)

// TypeSettings are what a platform team decides about a resource type.
type TypeSettings struct {
	// ConnectionKeys are computed attributes that connection Secrets have beside the sensitive ones.
	ConnectionKeys []string
	// ImportID is a template of import ids. Default: they are not known before the creation.
	ImportID string
	// Ownership is the field for labels that gets the UID of the object. Default: none.
	Ownership string
	// ListConfig is the template of configurations of lists, in which what has the label is looked for: see package lists. Default: empty.
	ListConfig map[string]any
	// AbsentAfter is how long an import must find nothing until an interrupted creation counts as one that made nothing. Default: 5 minutes.
	AbsentAfter time.Duration
}

const defaultAbsentAfter = 5 * time.Minute

// settings are TypeSettings that fit the schema of the type.
type settings struct {
	TypeSettings
	importID *kinds.Template // nil for none
	owner    cty.Path        // nil for none
	list     *lists.Template
}

func (s TypeSettings) resolve(r plugin.Resource) (*settings, error) {
	b, resolved := r.Schema.Block, &settings{TypeSettings: s}
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
	if len(s.ListConfig) > 0 && s.Ownership == "" {
		return nil, errors.New("listConfig of spec.typeSettings has no effect without ownership: set both")
	}
	resolved.list, err = lists.NewTemplate(r, s.ListConfig)
	return resolved, err
}

// label returns a configuration with the UID of the object in the field for ownership labels. Where updates are not permitted what exists
// keeps the label that it has.
func (c *client) label(mg resource.Managed, config, prior cty.Value) (cty.Value, error) {
	at, uid := c.settings.Load().owner, string(mg.GetUID())
	if at == nil {
		return config, nil
	}
	labels, declared := labelsAt(config, at), kinds.Child(c.settings.Load().Ownership, meta.ExternalLabelUID)
	switch _, has := labels[meta.ExternalLabelUID]; {
	case has && !c.isLabelled(mg, config):
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

// onlyObserves is true for objects whose policies permit no change of what exists.
func onlyObserves(mg resource.Managed) bool {
	policies := mg.GetManagementPolicies()
	return !policies.AllowAny(xpv1.ManagementActionCreate, xpv1.ManagementActionUpdate, xpv1.ManagementActionDelete)
}

// adopted stores the state of what an object adopts, or only observes. What another object has is not adopted without a person's permission:
// both would change it, and the deletion of one would delete it. An object under deletion leaves it alone.
func (c *client) adopted(ctx context.Context, mg resource.Managed, s plugin.State) (plugin.State, error) {
	owner, uid, err := c.ownerOf(ctx, mg, s.Value)
	switch {
	case err != nil:
		return c.NoState(), err
	case owner == "" || mg.GetAnnotations()[meta.AnnotationKeyTakeOverFrom] == uid:
		return s, c.save(ctx, mg, meta.GetExternalName(mg), s, false, false)
	case meta.WasDeleted(mg):
		return c.NoState(), nil
	}
	message := fmt.Sprintf("%s %q belongs to %s: set the annotation %s to another one, or observe it only, by spec.managementPolicies: [Observe]; to take "+
		"it over with its data, orphan or delete that object, or set the annotation %s to %s", c.Name, meta.GetExternalName(mg), owner,
		meta.AnnotationKeyExternalName, meta.AnnotationKeyTakeOverFrom, uid)
	return c.NoState(), failure.Terminal(failure.ForTeam(failure.ExternalNameTaken, message, errors.New(message)))
}

// ownerOf returns the other object that has an external resource, with its UID, for one that may change it. It is empty for none.
func (c *client) ownerOf(ctx context.Context, mg resource.Managed, value cty.Value) (owner, uid string, err error) {
	if onlyObserves(mg) {
		return "", "", nil
	}
	if uid := c.labelOf(value); uid != "" && uid != string(mg.GetUID()) {
		return "the object with UID " + uid, uid, nil
	}
	return c.Store.Other(ctx, mg.GetUID(), c.nameOf(mg, value), c.Kind.Resource, kinds.Groups(c.Kind.Group)...)
}

// isLabelled is true for a resource with the UID of the object in the field for ownership labels.
func (c *client) isLabelled(mg resource.Managed, value cty.Value) bool {
	return c.labelOf(value) == string(mg.GetUID())
}

// labelOf returns the UID in the field for ownership labels, empty for none and for a type without such a field.
func (c *client) labelOf(value cty.Value) string {
	return labelAt(value, c.settings.Load().owner)
}

func labelAt(value cty.Value, at cty.Path) string {
	label := labelsAt(value, at)[meta.ExternalLabelUID]
	if label == cty.NilVal || !label.IsKnown() || label.IsNull() {
		return ""
	}
	return label.AsString()
}

// labelsAt returns the labels at a path, nil for none and without a path.
func labelsAt(value cty.Value, at cty.Path) map[string]cty.Value {
	labels, err := at.Apply(value)
	if len(at) == 0 || err != nil || labels.IsNull() || !labels.IsKnown() {
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
