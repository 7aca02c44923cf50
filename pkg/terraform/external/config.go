// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package external

import (
	"github.com/zclconf/go-cty/cty"
	kube "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/resource"
	"github.com/bowline-dev/bowline/pkg/terraform/kinds"
	"github.com/bowline-dev/bowline/pkg/terraform/schema"
)

// config is the configuration that an object declares, with the ownership label of its type. What only spec.initProvider sets counts at the
// creation, when the reconciler laid it under spec.forProvider: later it is as the external resource has it.
func (c *client) config(mg resource.Managed, prior cty.Value) (cty.Value, error) {
	config, err := c.declared(mg, prior)
	if err != nil {
		return config, err
	}
	return c.label(mg, config, prior)
}

func (c *client) declared(mg resource.Managed, prior cty.Value) (cty.Value, error) {
	declared, _, _ := kube.NestedMap(content(mg), "spec", "forProvider")
	initial, _, _ := kube.NestedMap(content(mg), "spec", "initProvider")
	both, err := c.parse(declaredBy(mg))
	if err == nil && mg.GetManagementPolicies().AllowAny(xpv1.ManagementActionCreate, xpv1.ManagementActionUpdate) {
		err = invalid(kinds.CheckRequired(c.Schema.Block, "spec.forProvider", both))
	}
	if err != nil || len(initial) == 0 || prior.IsNull() {
		return both, err
	}
	config, err := c.parse(declared)
	if err != nil {
		return config, err
	}
	return keep(c.Schema.Block, config, both, prior), nil
}

// content is the object itself, to read and to change.
func content(mg resource.Managed) map[string]any {
	untyped, ok := mg.(interface{ GetUnstructured() *kube.Unstructured })
	if !ok {
		return map[string]any{}
	}
	return untyped.GetUnstructured().Object
}

func (c *client) parse(declared map[string]any) (cty.Value, error) {
	config, err := kinds.Config(c.Schema.Block, "spec.forProvider", declared, func(field string) ([]byte, bool) {
		value, ok := c.secrets[field]
		return value, ok
	})
	return config, invalid(err)
}

// invalid classifies what is wrong with a declaration. Nil stays nil.
func invalid(err error) error {
	if err == nil {
		return nil
	}
	return failure.Terminal(failure.ForTeam(failure.InvalidSettings, err.Error(), err))
}

// keep returns a configuration with the prior values of what is only in both.
func keep(of *schema.Block, config, both, prior cty.Value) cty.Value {
	if config.IsNull() || both.IsNull() || prior.IsNull() || !config.IsKnown() {
		return config
	}
	values := config.AsValueMap()
	for _, a := range of.Attributes {
		if config.GetAttr(a.Name).IsNull() && !both.GetAttr(a.Name).IsNull() && !a.WriteOnly {
			values[a.Name] = prior.GetAttr(a.Name)
		}
	}
	for _, b := range of.Blocks {
		mine, theirs, had := config.GetAttr(b.Name), both.GetAttr(b.Name), prior.GetAttr(b.Name)
		switch {
		case b.Nesting != schema.Single && b.Nesting != schema.Group:
			if isEmpty(mine) && !isEmpty(theirs) {
				values[b.Name] = had
			}
		case mine.IsNull() && !theirs.IsNull():
			values[b.Name] = had
		default:
			values[b.Name] = keep(b.Block, mine, theirs, had)
		}
	}
	return cty.ObjectVal(values)
}

func isEmpty(list cty.Value) bool {
	return list.IsNull() || list.IsKnown() && list.LengthInt() == 0
}

// isSet is true for a path of a configuration with a value.
func isSet(config cty.Value, path cty.Path) bool {
	value, err := path.Apply(config)
	return err == nil && !value.IsNull()
}
