// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package schematest_test

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"

	"github.com/bowline-dev/bowline/pkg/terraform/schema"
	"github.com/bowline-dev/bowline/pkg/terraform/schema/schematest"
)

func TestValuesObeyTheirSchema(t *testing.T) {
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 0))
		b := schematest.Schema(r).Block
		state := schematest.Value(r, b, schematest.Options{})
		config := schematest.Value(r, b, schematest.Options{Config: true, Unknown: true})
		if errs := append(state.Type().TestConformance(b.Type()), config.Type().TestConformance(b.Type())...); errs != nil {
			t.Errorf("seed %d: %v", seed, errs)
		}
		if !state.IsWhollyKnown() {
			t.Errorf("seed %d: unknown values in a state", seed)
		}
		for _, a := range b.Attributes {
			switch s, c := state.GetAttr(a.Name), config.GetAttr(a.Name); {
			case a.WriteOnly && !s.IsNull(), !a.Required && !a.Optional && !c.IsNull(), a.Required && c.IsNull():
				t.Errorf("seed %d: %s is %#v in the state, %#v in the configuration", seed, a.Name, s, c)
			}
		}
	}
}

func TestSeedDecides(t *testing.T) {
	generate := func() (*schema.Schema, cty.Value) {
		r := rand.New(rand.NewPCG(1, 2))
		s := schematest.Schema(r)
		return s, schematest.Value(r, s.Block, schematest.Options{Unknown: true})
	}
	s, v := generate()
	for range 20 {
		again, w := generate()
		if diff := cmp.Diff(s, again, cmp.Comparer(cty.Type.Equals)); diff != "" || !v.RawEquals(w) {
			t.Fatalf("one seed makes different schemas or values\n%s", diff)
		}
	}
}
