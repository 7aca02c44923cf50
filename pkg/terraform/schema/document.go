// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"
)

// A Provider is what a provider declares.
type Provider struct {
	Configuration *Schema            // never nil
	Types         map[string]*Schema // by resource type
}

// ReadDocument reads the output of terraform providers schema -json, by the address of each provider.
func ReadDocument(from io.Reader) (map[string]Provider, error) {
	var d struct {
		FormatVersion string `json:"format_version"`
		Providers     map[string]struct {
			Provider *documentSchema            `json:"provider"`
			Types    map[string]*documentSchema `json:"resource_schemas"`
		} `json:"provider_schemas"`
	}
	if err := json.NewDecoder(from).Decode(&d); err != nil {
		return nil, fmt.Errorf("reading schemas as JSON: %w", err)
	}
	if major, _, _ := strings.Cut(d.FormatVersion, "."); major != "0" && major != "1" {
		return nil, fmt.Errorf("schemas have format_version %q, not 1: write them with terraform providers schema -json", d.FormatVersion)
	}
	all := map[string]Provider{}
	var errs []error
	read := func(what string, s *documentSchema) *Schema {
		read, err := cmp.Or(s, &documentSchema{}).read()
		if err != nil {
			errs = append(errs, fmt.Errorf("schema of %s: %w", what, err))
		}
		return read
	}
	for _, address := range slices.Sorted(maps.Keys(d.Providers)) {
		p := Provider{Configuration: read("provider "+address, d.Providers[address].Provider), Types: map[string]*Schema{}}
		for _, name := range slices.Sorted(maps.Keys(d.Providers[address].Types)) {
			p.Types[name] = read(name, d.Providers[address].Types[name])
		}
		all[address] = p
	}
	return all, errors.Join(errs...)
}

type documentSchema struct {
	Version int64         `json:"version"`
	Block   documentBlock `json:"block"`
}

type documentBlock struct {
	Attributes  map[string]*documentAttribute `json:"attributes"`
	Blocks      map[string]*documentNested    `json:"block_types"`
	Description string                        `json:"description"`
	Deprecated  bool                          `json:"deprecated"`
}

type documentAttribute struct {
	Type   cty.Type `json:"type"`
	Nested *struct {
		Attributes map[string]*documentAttribute `json:"attributes"`
		Nesting    string                        `json:"nesting_mode"`
	} `json:"nested_type"`
	Description        string `json:"description"`
	Required           bool   `json:"required"`
	Optional           bool   `json:"optional"`
	Computed           bool   `json:"computed"`
	Sensitive          bool   `json:"sensitive"`
	WriteOnly          bool   `json:"write_only"`
	Deprecated         bool   `json:"deprecated"`
	DeprecationMessage string `json:"deprecation_message"`
}

type documentNested struct {
	Nesting  string        `json:"nesting_mode"`
	Block    documentBlock `json:"block"`
	MinItems int           `json:"min_items"`
	MaxItems int           `json:"max_items"`
}

func (d *documentSchema) read() (*Schema, error) {
	b, err := d.Block.read()
	return &Schema{Version: d.Version, Block: b}, err
}

func (d documentBlock) read() (*Block, error) {
	attributes, err := readAttributes(d.Attributes)
	b := &Block{Attributes: attributes, Description: d.Description, Deprecated: d.Deprecated}
	errs := []error{err}
	for _, name := range slices.Sorted(maps.Keys(d.Blocks)) {
		n := d.Blocks[name]
		nesting, err := readNesting(n.Nesting)
		block, blockErr := n.Block.read()
		if err := errors.Join(err, blockErr); err != nil {
			errs = append(errs, fmt.Errorf("block %s: %w", name, err))
		}
		b.Blocks = append(b.Blocks, &NestedBlock{Name: name, Block: block, Nesting: nesting, MinItems: n.MinItems, MaxItems: n.MaxItems})
	}
	return b, errors.Join(errs...)
}

func readAttributes(from map[string]*documentAttribute) ([]*Attribute, error) {
	var all []*Attribute
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(from)) {
		d := from[name]
		a := &Attribute{Name: name, Type: d.Type, Description: d.Description, Required: d.Required, Optional: d.Optional, Computed: d.Computed,
			Sensitive: d.Sensitive, WriteOnly: d.WriteOnly, Deprecated: d.Deprecated || d.DeprecationMessage != "", DeprecationMessage: d.DeprecationMessage}
		if d.Nested != nil {
			nesting, err := readNesting(d.Nested.Nesting)
			attributes, attributesErr := readAttributes(d.Nested.Attributes)
			if err := errors.Join(err, attributesErr); err != nil {
				errs = append(errs, fmt.Errorf("attribute %s: %w", name, err))
			}
			a.Nested = &Object{Attributes: attributes, Nesting: nesting}
		} else if a.Type == cty.NilType {
			errs = append(errs, fmt.Errorf("attribute %s has no type", name))
		}
		all = append(all, a)
	}
	return all, errors.Join(errs...)
}

func readNesting(name string) (Nesting, error) {
	nesting, ok := map[string]Nesting{"single": Single, "list": List, "set": Set, "map": Map, "group": Group}[name]
	if !ok {
		return 0, fmt.Errorf("nesting mode %q is unknown", name)
	}
	return nesting, nil
}
