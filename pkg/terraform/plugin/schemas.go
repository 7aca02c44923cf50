// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/bowline-dev/bowline/pkg/terraform/schema"
	"github.com/bowline-dev/bowline/pkg/terraform/wire"
)

// Schemas are what a provider declares.
type Schemas struct {
	Provider  *schema.Schema            // of its configuration
	Types     []string                  // names of all resource types, sorted
	Resources map[string]*schema.Schema // of the types that were asked for
	Lists     map[string]*schema.Schema // of the configurations of lists of these types; none for those that the provider does not list
	// PlansDestroy is true for a provider that wants to plan deletions, too.
	PlansDestroy bool
	optional     bool // a process works without having been asked for its schemas
}

// Schemas reads the schema of the configuration and those of some resource types: those of all would take memory that nobody uses.
func (p *Process) Schemas(ctx context.Context, keep func(resourceType string) bool) (*Schemas, error) {
	answer := &wire.GetSchema_Response{}
	if err := p.Call(ctx, wire.MethodSchema, &wire.GetSchema_Request{}, answer); err != nil {
		return nil, err
	}
	if _, err := read(answer.GetDiagnostics()); err != nil {
		return nil, err
	}
	all := answer.GetResourceSchemas()
	s := &Schemas{Types: slices.Sorted(maps.Keys(all)), Resources: map[string]*schema.Schema{}, Lists: map[string]*schema.Schema{},
		PlansDestroy: answer.GetServerCapabilities().GetPlanDestroy(), optional: answer.GetServerCapabilities().GetGetProviderSchemaOptional()}
	var err error
	if s.Provider, err = answer.GetProvider().Decoded(); err != nil {
		return nil, fmt.Errorf("reading the schema of the configuration: %w", err)
	}
	for name, encoded := range all {
		if !keep(name) {
			continue
		}
		if s.Resources[name], err = wire.DecodeSchema(encoded); err != nil {
			return nil, fmt.Errorf("reading the schema of %s: %w", name, err)
		}
		encoded, listed := answer.GetListResourceSchemas()[name]
		if !listed {
			continue
		}
		if s.Lists[name], err = wire.DecodeSchema(encoded); err != nil {
			return nil, fmt.Errorf("reading the schema of lists of %s: %w", name, err)
		}
	}
	return s, nil
}

// Resource returns one of the types that were asked for. Its Schema is nil for any other.
func (s *Schemas) Resource(name string) Resource {
	return Resource{Type: name, Schema: s.Resources[name], List: s.Lists[name]}
}
