// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package external

import (
	"context"
	"fmt"
	"strings"

	"github.com/zclconf/go-cty/cty"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
	"github.com/bowline-dev/bowline/pkg/terraform/state"
)

// checkReplacement returns why the external resource must not be deleted, with its data, in order to create another one: because of fields
// that cannot be changed otherwise. It is nil if a person permits it, and the object everything that it takes.
func (c *client) checkReplacement(mg resource.Managed, fields []string) error {
	names := strings.Join(fields, ",")
	message := fmt.Sprintf("%s cannot be changed: the provider would delete the external resource, with its data, and create another one. Set it back, "+
		"or create another object", strings.Join(fields, ", "))
	policies := mg.GetManagementPolicies()
	switch {
	case !meta.AllowsReplace(mg, fields):
		message += fmt.Sprintf("; or, to have the resource replaced once, set the annotation %s to %q", meta.AnnotationKeyAllowReplace, names)
	case meta.IsProtected(mg):
		message += fmt.Sprintf("; or, to have the resource replaced, remove the annotation %s", meta.AnnotationKeyProtect)
	case !policies.Allow(xpv1.ManagementActionCreate) || !policies.Allow(xpv1.ManagementActionUpdate) || !resource.MayDeleteExternal(mg):
		message += "; or, to have the resource replaced, let spec.managementPolicies permit to create, to update and to delete it"
	default:
		return nil
	}
	return failure.Refusal(failure.InvalidSettings, message)
}

// replace deletes the external resource, which the reconciler then creates again. It is noted before, so that no process takes it for lost.
// Nothing is deleted where the provider would refuse the new one.
func (c *client) replace(ctx context.Context, mg resource.Managed, fields []string) error {
	if err := c.checkReplacement(mg, fields); err != nil {
		return err
	}
	config, err := c.config(mg, cty.NullVal(c.Schema.Block.Type()))
	if err != nil {
		return err
	}
	if _, err := c.Client.Plan(ctx, c.Resource, c.NoState(), config); err != nil {
		return called("planning the replacement of", err)
	}
	if err := c.noteReplacing(ctx, mg, true); err != nil {
		return err
	}
	return c.delete(ctx, mg, c.found)
}

// noteReplacing notes in the state whether the external resource is being replaced.
func (c *client) noteReplacing(ctx context.Context, mg resource.Managed, replacing bool) error {
	stored, err := c.Store.Load(ctx, mg.GetUID())
	if err != nil || stored == nil || stored.Replacing == replacing {
		return err
	}
	return c.amend(ctx, mg, stored, func(s *state.State) { s.Replacing = replacing })
}

// wasReplaced is true where the external resource is gone because replace deleted it.
func (c *client) wasReplaced(mg resource.Managed) bool {
	return c.stored != nil && c.stored.Replacing && c.stored.Name == meta.GetExternalName(mg)
}
