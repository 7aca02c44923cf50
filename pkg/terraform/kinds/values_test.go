// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package kinds_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"

	"github.com/bowline-dev/bowline/pkg/kind/parameters"
	"github.com/bowline-dev/bowline/pkg/terraform/kinds"
	"github.com/bowline-dev/bowline/pkg/terraform/schema"
	"github.com/bowline-dev/bowline/pkg/terraform/schema/schematest"
)

func lookup(secrets map[string][]byte) func(string) ([]byte, bool) {
	return func(field string) ([]byte, bool) {
		value, ok := secrets[field]
		return value, ok
	}
}

func configOf(t *testing.T, b *schema.Block, from map[string]any, secrets map[string][]byte) cty.Value {
	t.Helper()
	config, err := kinds.Config(b, "spec.forProvider", from, lookup(secrets))
	if err != nil {
		t.Fatal(err)
	}
	return config
}

func TestAnyConfigurationCanBeDeclared(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 1))
		b := schematest.Schema(r).Block
		want := schematest.Value(r, b, schematest.Options{Config: true})
		declared, secrets := kinds.Declare(b, want)
		for field := range secrets {
			if _, found := parameters.SecretReferences(declared)[field]; !found {
				t.Errorf("seed %d: the reconciler would not read the Secret of %s", seed, field)
			}
		}
		got := configOf(t, b, declared, secrets)
		if !got.RawEquals(want) {
			t.Fatalf("seed %d: %#v\nis declared as %v\nwith %q\nand read as %#v", seed, want, declared, secrets, got)
		}
		if err := kinds.CheckRequired(b, "spec.forProvider", got); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

// open returns a copy of attributes that are all inputs and no secrets.
func open(attributes []*schema.Attribute) []*schema.Attribute {
	var all []*schema.Attribute
	for _, a := range attributes {
		o := *a
		o.Optional, o.Required, o.Computed, o.Sensitive, o.WriteOnly = true, false, false, false, false
		if a.Nested != nil {
			o.Nested = &schema.Object{Attributes: open(a.Nested.Attributes), Nesting: a.Nested.Nesting}
		}
		all = append(all, &o)
	}
	return all
}

func openBlock(b *schema.Block) *schema.Block {
	o := &schema.Block{Attributes: open(b.Attributes)}
	for _, n := range b.Blocks {
		c := *n
		c.Block = openBlock(n.Block)
		o.Blocks = append(o.Blocks, &c)
	}
	return o
}

func TestWhatIsShownCanBeDeclared(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 2))
		b := openBlock(schematest.Schema(r).Block)
		state := schematest.Value(r, b, schematest.Options{})
		if got := configOf(t, b, kinds.Object(b, state), nil); !got.RawEquals(state) {
			t.Fatalf("seed %d: %#v\nis shown as %v\nand read as %#v", seed, state, kinds.Object(b, state), got)
		}
	}
}

func TestNoSecretIsShown(t *testing.T) {
	t.Parallel()
	secret := []*schema.Attribute{attribute("a", cty.String, sensitive), attribute("b", cty.DynamicPseudoType, sensitive, computed),
		attribute("c", cty.Map(cty.String), sensitive), attribute("d", cty.NilType, sensitive, nested(schema.List, attribute("e", cty.String)))}
	b := &schema.Block{Attributes: append(secret, attribute("in", cty.NilType, nested(schema.Set, secret[0]))), Blocks: []*schema.NestedBlock{
		block("l", schema.List, 0, 0, secret...), block("m", schema.Map, 0, 0, secret[0]), block("g", schema.Group, 0, 0, secret[0])}}
	for seed := range uint64(500) {
		state := schematest.Value(rand.New(rand.NewPCG(seed, 3)), b, schematest.Options{})
		marked, err := cty.Transform(state, func(_ cty.Path, v cty.Value) (cty.Value, error) {
			if v.Type() == cty.String && !v.IsNull() {
				return cty.StringVal("hidden"), nil
			}
			return v, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if shown := fmt.Sprint(kinds.Object(b, marked)); strings.Contains(shown, "hidden") {
			t.Fatalf("seed %d: %s", seed, shown)
		}
	}
}

// empty is a configuration of a berth in which nothing is set.
func empty(t *testing.T) map[string]cty.Value {
	t.Helper()
	return configOf(t, berth(), nil, nil).AsValueMap()
}

func TestConfig(t *testing.T) {
	t.Parallel()
	ref := map[string]any{"name": "s", "key": "k"}
	for name, tc := range map[string]struct {
		from    map[string]any
		secrets map[string]string
		want    map[string]cty.Value
	}{
		"what is unset": {want: map[string]cty.Value{
			"name":     cty.NullVal(cty.String),
			"limits":   cty.NullVal(cty.Object(map[string]cty.Type{"max_age": cty.Number, "zones": cty.Set(cty.String)})),
			"scaling":  cty.ListValEmpty(cty.Object(map[string]cty.Type{"min_size": cty.Number, "desired_size": cty.Number})),
			"option":   cty.EmptyTupleVal,
			"timeouts": cty.NullVal(cty.Object(map[string]cty.Type{"create": cty.String})),
			"defaults": cty.ObjectVal(map[string]cty.Value{"time_zone": cty.NullVal(cty.String)}),
			"label":    cty.MapValEmpty(cty.Object(map[string]cty.Type{"value_text": cty.String})),
		}},
		"an unset nested attribute": {want: map[string]cty.Value{
			"routes": cty.NullVal(cty.Map(cty.Object(map[string]cty.Type{"next_hop": cty.String, "hop_count": cty.Number}))),
		}},
		"null is unset":             {from: map[string]any{"name": nil}, want: map[string]cty.Value{"name": cty.NullVal(cty.String)}},
		"an integer beyond doubles": {from: map[string]any{"maxSize": int64(9007199254740993)}, want: map[string]cty.Value{"max_size": cty.NumberIntVal(9007199254740993)}},
		"a decimal fraction":        {from: map[string]any{"maxSize": 0.1}, want: map[string]cty.Value{"max_size": cty.MustParseNumberVal("0.1")}},
		"a field whose name another has": {from: map[string]any{"a1": "x", "a_1": "y"},
			want: map[string]cty.Value{"a1": cty.StringVal("x"), "a_1": cty.StringVal("y")}},
		"a field with the name of a Secret's": {from: map[string]any{"image_secret_ref": "x"}, want: map[string]cty.Value{"image_secret_ref": cty.StringVal("x")}},
		"keys of maps stay": {from: map[string]any{"tags": map[string]any{"my_key": "a", "my.Key/x": "b"}},
			want: map[string]cty.Value{"tags": cty.MapVal(map[string]cty.Value{"my_key": cty.StringVal("a"), "my.Key/x": cty.StringVal("b")})}},
		"fields of an object": {from: map[string]any{"limits": map[string]any{"maxAge": int64(3)}},
			want: map[string]cty.Value{"limits": cty.ObjectVal(map[string]cty.Value{"max_age": cty.NumberIntVal(3), "zones": cty.NullVal(cty.Set(cty.String))})}},
		"a value of any type": {from: map[string]any{"anything": map[string]any{"my_key": []any{int64(1), "a", true, nil, 0.5}}},
			want: map[string]cty.Value{"anything": cty.ObjectVal(map[string]cty.Value{"my_key": cty.TupleVal([]cty.Value{
				cty.NumberIntVal(1), cty.StringVal("a"), cty.True, cty.NullVal(cty.DynamicPseudoType), cty.MustParseNumberVal("0.5")})})}},
		"blocks of different types": {from: map[string]any{"option": []any{map[string]any{"value": "a"}, map[string]any{"value": int64(1)}}},
			want: map[string]cty.Value{"option": cty.TupleVal([]cty.Value{
				cty.ObjectVal(map[string]cty.Value{"value": cty.StringVal("a")}), cty.ObjectVal(map[string]cty.Value{"value": cty.NumberIntVal(1)})})}},
		"secrets": {
			from: map[string]any{"passwordSecretRef": ref, "pinSecretRef": ref, "armedSecretRef": ref, "keysSecretRef": ref, "tokenWoSecretRef": ref},
			secrets: map[string]string{"passwordSecretRef": "12", "pinSecretRef": "12\n", "armedSecretRef": "true", "keysSecretRef": `{"my_key":"a"}`,
				"tokenWoSecretRef": "t"},
			want: map[string]cty.Value{"password": cty.StringVal("12"), "pin": cty.NumberIntVal(12), "armed": cty.True,
				"keys": cty.MapVal(map[string]cty.Value{"my_key": cty.StringVal("a")}), "token_wo": cty.StringVal("t")},
		},
		"a secret in a block": {
			from:    map[string]any{"ingress": []any{map[string]any{"fromPort": int64(1), "vpcId": "v", "authTokenSecretRef": ref}}},
			secrets: map[string]string{"ingress[0].authTokenSecretRef": "t"},
			want: map[string]cty.Value{"ingress": cty.SetVal([]cty.Value{cty.ObjectVal(map[string]cty.Value{
				"from_port": cty.NumberIntVal(1), "vpc_id": cty.StringVal("v"), "auth_token": cty.StringVal("t")})})},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			secrets := map[string][]byte{}
			for field, value := range tc.secrets {
				secrets[field] = []byte(value)
			}
			want := empty(t)
			for attribute, value := range tc.want {
				want[attribute] = value
			}
			if got := configOf(t, berth(), tc.from, secrets); !got.RawEquals(cty.ObjectVal(want)) {
				t.Errorf("got %#v\nwant %#v", got, cty.ObjectVal(want))
			}
		})
	}
}

func TestConfigNamesAllFieldsThatDoNotFit(t *testing.T) {
	t.Parallel()
	ref := map[string]any{"name": "s", "key": "k"}
	_, err := kinds.Config(berth(), "spec.forProvider", map[string]any{
		"name": int64(1), "maxSize": "1", "open": "true", "tags": "x", "pair": []any{"a"}, "scaling": map[string]any{},
		"ingress": []any{map[string]any{"fromPort": "x", "authTokenSecretRef": ref}}, "routes": map[string]any{"a.b": map[string]any{"hop_count": int64(1)}},
		"readyAt": int64(1), "password": "geheim", "pinSecretRef": ref, "keysSecretRef": ref, "passwordSecretRef": ref,
	}, lookup(map[string][]byte{"pinSecretRef": []byte("geheim"), "keysSecretRef": []byte(`{"geheim":{}}`), "passwordSecretRef": {0xff}}))
	want := `spec.forProvider.ingress[0].authTokenSecretRef selects a value that was not read: check that the Secret exists and has the key
spec.forProvider.ingress[0].fromPort must be a number
spec.forProvider.keysSecretRef selects a value that is not JSON as the Terraform type has it: correct it in the Secret
spec.forProvider.maxSize must be a number
spec.forProvider.name must be a string
spec.forProvider.open must be true or false
spec.forProvider.pair must be a list of 2 elements
spec.forProvider.passwordSecretRef selects a value that is no text: Terraform providers take UTF-8 only, so encode it, for example as base64
spec.forProvider.pinSecretRef selects a value that is not a number: correct it in the Secret
spec.forProvider.routes[a.b].hop_count is no field: remove it, or see kubectl explain for the fields
spec.forProvider.scaling must be a list
spec.forProvider.tags must be an object
spec.forProvider.password is no field: remove it, or see kubectl explain for the fields
spec.forProvider.readyAt is no field: remove it, or see kubectl explain for the fields`
	if err == nil {
		t.Fatal("no error")
	}
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// Values of any type may be nested as deep as some limit, and the message about deeper ones does not have them.
func TestConfigLimitsLevels(t *testing.T) {
	t.Parallel()
	tooDeep := "spec.forProvider.anything is nested deeper than 100 levels, which no provider handles: declare less"
	for name, tc := range map[string]struct {
		levels int
		around func(any) any
		want   string
	}{
		"100 lists":   {100, func(v any) any { return []any{"a", v} }, ""},
		"101 lists":   {101, func(v any) any { return []any{"a", v} }, tooDeep},
		"9000 lists":  {9000, func(v any) any { return []any{v} }, tooDeep},
		"100 objects": {100, func(v any) any { return map[string]any{"a": v} }, ""},
		"101 objects": {101, func(v any) any { return map[string]any{"a": v} }, tooDeep},
	} {
		var value any = "geheim"
		for range tc.levels {
			value = tc.around(value)
		}
		_, err := kinds.Config(berth(), "spec.forProvider", map[string]any{"anything": value}, lookup(nil))
		if (err == nil) != (tc.want == "") || err != nil && err.Error() != tc.want {
			t.Errorf("%s: error %v, want %q", name, err, tc.want)
		}
	}
}

func TestCheckRequired(t *testing.T) {
	t.Parallel()
	config := configOf(t, berth(), map[string]any{"name": "b", "scaling": []any{map[string]any{"minSize": int64(1)}, map[string]any{}},
		"ingress": []any{map[string]any{"vpcId": "v"}}, "option": []any{map[string]any{}}, "routes": map[string]any{"a": map[string]any{"nextHop": "n"}}}, nil)
	want := `spec.forProvider.maxSize is required
spec.forProvider.namespace is required
spec.forProvider.passwordSecretRef is required
spec.forProvider.ingress[*].authTokenSecretRef is required
spec.forProvider.ingress[*].fromPort is required
spec.forProvider.option needs at least 2 items
spec.forProvider.routes.a.hopCount is required
spec.forProvider.scaling may have at most 1 items
spec.forProvider.scaling[0].desiredSize is required
spec.forProvider.scaling[1].desiredSize is required
spec.forProvider.scaling[1].minSize is required`
	err := kinds.CheckRequired(berth(), "spec.forProvider", config)
	if err == nil {
		t.Fatal("no error")
	}
	if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(err.Error(), "\n"), sorted); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestObject(t *testing.T) {
	t.Parallel()
	state := empty(t)
	state["id"], state["name"] = cty.StringVal("i"), cty.UnknownVal(cty.String)
	state["max_size"] = cty.MustParseNumberVal("18446744073709551616")
	state["password"], state["private_key"] = cty.StringVal("p"), cty.StringVal("k")
	state["a_1"], state["tags"] = cty.StringVal(""), cty.MapValEmpty(cty.String)
	state["limits"] = cty.ObjectVal(map[string]cty.Value{"max_age": cty.NumberFloatVal(1.5), "zones": cty.SetVal([]cty.Value{cty.StringVal("a")})})
	state["anything"] = cty.ListVal([]cty.Value{cty.ObjectVal(map[string]cty.Value{"my_key": cty.True})})
	state["ingress"] = cty.SetVal([]cty.Value{cty.ObjectVal(map[string]cty.Value{
		"from_port": cty.NumberIntVal(1), "vpc_id": cty.NullVal(cty.String), "auth_token": cty.StringVal("t")})})
	want := map[string]any{
		"id": "i", "maxSize": 18446744073709551616.0, "a_1": "", "tags": map[string]any{}, "limits": map[string]any{"maxAge": 1.5, "zones": []any{"a"}},
		"anything": []any{map[string]any{"my_key": true}}, "ingress": []any{map[string]any{"fromPort": int64(1)}}, "defaults": map[string]any{},
	}
	if diff := cmp.Diff(want, kinds.Object(berth(), cty.ObjectVal(state))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got := kinds.Object(berth(), cty.NullVal(berth().Type())); got != nil {
		t.Errorf("without a state: %v", got)
	}
}

func TestConnection(t *testing.T) {
	t.Parallel()
	state := empty(t)
	state["id"], state["name"], state["max_size"] = cty.StringVal("i"), cty.StringVal("n"), cty.NumberIntVal(5432)
	state["password"], state["private_key"] = cty.StringVal("p"), cty.StringVal("")
	state["pin"], state["armed"] = cty.NumberFloatVal(0.5), cty.True
	state["keys"] = cty.MapVal(map[string]cty.Value{"a b": cty.StringVal("x"), "a/b": cty.StringVal("y"), "c": cty.UnknownVal(cty.String)})
	state["limits"] = cty.ObjectVal(map[string]cty.Value{"max_age": cty.NumberIntVal(3), "zones": cty.SetVal([]cty.Value{cty.StringVal("a")})})
	state["tags"] = cty.MapVal(map[string]cty.Value{"t": cty.StringVal("not chosen")})
	state["ingress"] = cty.SetVal([]cty.Value{cty.ObjectVal(map[string]cty.Value{
		"from_port": cty.NumberIntVal(1), "vpc_id": cty.NullVal(cty.String), "auth_token": cty.StringVal("t")})})
	got := map[string]string{}
	for key, value := range kinds.Connection(berth(), cty.ObjectVal(state), "maxSize", "limits", "missing", "na") {
		got[key] = string(value)
	}
	want := map[string]string{"password": "p", "pin": "0.5", "armed": "true", "keys.a_b": "x", "ingress.0.authToken": "t", "maxSize": "5432",
		"limits.maxAge": "3", "limits.zones.0": "a"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// A key that no state can have is told from those that some have.
func TestCheckConnectionKey(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{
		"maxSize": "", "password": "", "limits": "", "limits.maxAge": "", "limits.zones.0": "", "tags.example.org/team": "", "ingress.0.authToken": "",
		"max_size":          "there is no max_size, but ",
		"passwordSecretRef": "there is no passwordSecretRef, but ",
		"limits.age":        "there is no limits.age, but limits.maxAge, limits.zones",
		"maxSize.unit":      "there is no maxSize.unit: maxSize has no fields",
		"ingress.authToken": "there is no ingress.authToken: ingress has no fields, and elements of lists are numbers, such as ingress.0",
	} {
		err := kinds.CheckConnectionKey(berth(), key)
		if (err == nil) != (want == "") || err != nil && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", key, err, want)
		}
	}
}

func TestConnectionHasAllOfASecretObject(t *testing.T) {
	t.Parallel()
	b := &schema.Block{Attributes: []*schema.Attribute{
		attribute("login", cty.NilType, sensitive, computed, nested(schema.Single, attribute("user_name", cty.String), attribute("any", cty.DynamicPseudoType)))}}
	state := cty.ObjectVal(map[string]cty.Value{"login": cty.ObjectVal(map[string]cty.Value{
		"user_name": cty.StringVal("u"), "any": cty.ObjectVal(map[string]cty.Value{"my_key": cty.TupleVal([]cty.Value{cty.StringVal("a")})})})})
	want := map[string][]byte{"login.userName": []byte("u"), "login.any.my_key.0": []byte("a")}
	if diff := cmp.Diff(want, kinds.Connection(b, state)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
