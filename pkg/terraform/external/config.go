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
	both, err := c.parse(declaredBy(mg), len(initial) > 0 && !prior.IsNull())
	if err == nil && mg.GetManagementPolicies().AllowAny(xpv1.ManagementActionCreate, xpv1.ManagementActionUpdate) {
		err = invalid(kinds.CheckRequired(c.Schema.Block, "spec.forProvider", both))
	}
	if err != nil || len(initial) == 0 || prior.IsNull() {
		return both, err
	}
	config, err := c.parse(declared, false)
	if err != nil {
		return config, err
	}
	return c.Schema.Block.Keep(config, both, prior), nil
}

// content is the object itself, to read and to change.
func content(mg resource.Managed) map[string]any {
	untyped, ok := mg.(interface{ GetUnstructured() *kube.Unstructured })
	if !ok {
		return map[string]any{}
	}
	return untyped.GetUnstructured().Object
}

// parse reads parameters. Where they need not be complete, a secret that was not read is unknown.
func (c *client) parse(declared map[string]any, partly bool) (cty.Value, error) {
	config, err := kinds.Config(c.Schema.Block, "spec.forProvider", declared, func(field string) ([]byte, bool) {
		value, ok := c.secrets[field]
		return value, ok || partly
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

// isSet is true for a path of a configuration with a value.
func isSet(config cty.Value, path cty.Path) bool {
	value, err := path.Apply(config)
	return err == nil && !value.IsNull()
}
