// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package providers checks that the test providers are valid, and that they do what package disk says.
package providers_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov5"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/bowline-dev/bowline/test/terraform/providers/disk"
	"github.com/bowline-dev/bowline/test/terraform/providers/favouritecloud"
	"github.com/bowline-dev/bowline/test/terraform/providers/reef"
	"github.com/bowline-dev/bowline/test/terraform/providers/shoal"
)

func TestSchemasAreValid(t *testing.T) {
	if err := shoal.New().InternalValidate(); err != nil {
		t.Error(err)
	}
	for name, server := range map[string]tfprotov6.ProviderServer{
		"reef": providerserver.NewProtocol6(reef.New())(), "favouritecloud": providerserver.NewProtocol6(favouritecloud.New())(),
	} {
		resp, err := server.GetProviderSchema(t.Context(), &tfprotov6.GetProviderSchemaRequest{})
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range resp.Diagnostics {
			t.Errorf("%s: %s: %s", name, d.Summary, d.Detail)
		}
		if len(resp.ResourceSchemas) < 2 {
			t.Errorf("%s has %d resource types", name, len(resp.ResourceSchemas))
		}
	}
}

// A stage is a provider with a folder. Both providers have a berth and a chart with much the same attributes.
type stage struct {
	folder string
	types  map[string]tftypes.Type
	// apply plans a change of a resource from prior to config, makes it, and reads the result.
	apply func(ctx context.Context, kind string, prior *state, config map[string]any) (*state, []string)
	read  func(kind string, prior *state) (*state, []string)
}

type state struct {
	value    tftypes.Value
	private  []byte
	identity *tfprotov6.ResourceIdentityData // nil without one
}

// get returns a string, a number as text, or "".
func (s *state) get(t *testing.T, name string) (text string) {
	t.Helper()
	var attributes map[string]tftypes.Value
	if err := s.value.As(&attributes); err != nil {
		t.Fatal(err)
	}
	if attributes[name].IsNull() || !attributes[name].IsKnown() {
		return ""
	}
	if err := attributes[name].As(&text); err != nil {
		t.Fatal(err)
	}
	return text
}

// value returns what the protocol's JSON of an object is as a value.
func value(t *testing.T, of tftypes.Type, o map[string]any) tftypes.Value {
	t.Helper()
	content, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	result, err := tfprotov6.DynamicValue{JSON: content}.Unmarshal(of)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func must[T any](t *testing.T) func(T, error) T {
	return func(result T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return result
	}
}

func stages(t *testing.T) map[string]func(t *testing.T) stage {
	t.Helper()
	return map[string]func(t *testing.T) stage{"reef": reefStage, "shoal": shoalStage}
}

func reefStage(t *testing.T) stage {
	t.Helper()
	server := must[tfprotov6.ProviderServer](t)(providerserver.NewProtocol6WithError(reef.New())())
	schema := must[*tfprotov6.GetProviderSchemaResponse](t)(server.GetProviderSchema(t.Context(), &tfprotov6.GetProviderSchemaRequest{}))
	s := stage{folder: t.TempDir(), types: map[string]tftypes.Type{}}
	for name, resource := range schema.ResourceSchemas {
		s.types[strings.TrimPrefix(name, "reef_")] = resource.ValueType()
	}
	encode := func(of tftypes.Type, v tftypes.Value) *tfprotov6.DynamicValue {
		encoded := must[tfprotov6.DynamicValue](t)(tfprotov6.NewDynamicValue(of, v))
		return &encoded
	}
	texts := func(all []*tfprotov6.Diagnostic) (texts []string) {
		for _, d := range all {
			texts = append(texts, d.Summary+": "+d.Detail)
		}
		return texts
	}
	config := schema.Provider.ValueType()
	configured := must[*tfprotov6.ConfigureProviderResponse](t)(server.ConfigureProvider(t.Context(), &tfprotov6.ConfigureProviderRequest{
		Config: encode(config, value(t, config, map[string]any{"folder": s.folder, "retry": map[string]any{"attempts": 3}})),
	}))
	if problems := texts(configured.Diagnostics); problems != nil {
		t.Fatal(problems)
	}
	s.apply = func(ctx context.Context, kind string, prior *state, config map[string]any) (*state, []string) {
		of := s.types[kind]
		wanted := tftypes.NewValue(of, nil)
		if config != nil {
			wanted = value(t, of, config)
		}
		plan := must[*tfprotov6.PlanResourceChangeResponse](t)(server.PlanResourceChange(t.Context(), &tfprotov6.PlanResourceChangeRequest{
			TypeName: "reef_" + kind, PriorState: encode(of, prior.value), ProposedNewState: encode(of, wanted), Config: encode(of, wanted),
			PriorPrivate: prior.private, PriorIdentity: prior.identity,
		}))
		if problems := texts(plan.Diagnostics); problems != nil {
			return prior, problems
		}
		done := must[*tfprotov6.ApplyResourceChangeResponse](t)(server.ApplyResourceChange(ctx, &tfprotov6.ApplyResourceChangeRequest{
			TypeName: "reef_" + kind, PriorState: encode(of, prior.value), PlannedState: plan.PlannedState, Config: encode(of, wanted),
			PlannedPrivate: plan.PlannedPrivate, PlannedIdentity: plan.PlannedIdentity,
		}))
		return &state{must[tftypes.Value](t)(done.NewState.Unmarshal(of)), done.Private, done.NewIdentity}, texts(done.Diagnostics)
	}
	s.read = func(kind string, prior *state) (*state, []string) {
		of := s.types[kind]
		done := must[*tfprotov6.ReadResourceResponse](t)(server.ReadResource(t.Context(), &tfprotov6.ReadResourceRequest{
			TypeName: "reef_" + kind, CurrentState: encode(of, prior.value), Private: prior.private, CurrentIdentity: prior.identity,
		}))
		return &state{must[tftypes.Value](t)(done.NewState.Unmarshal(of)), done.Private, done.NewIdentity}, texts(done.Diagnostics)
	}
	return s
}

func shoalStage(t *testing.T) stage {
	t.Helper()
	server := shoal.New().GRPCProvider()
	schema := must[*tfprotov5.GetProviderSchemaResponse](t)(server.GetProviderSchema(t.Context(), &tfprotov5.GetProviderSchemaRequest{}))
	s := stage{folder: t.TempDir(), types: map[string]tftypes.Type{}}
	for name, resource := range schema.ResourceSchemas {
		s.types[strings.TrimPrefix(name, "shoal_")] = resource.ValueType()
	}
	encode := func(of tftypes.Type, v tftypes.Value) *tfprotov5.DynamicValue {
		encoded := must[tfprotov5.DynamicValue](t)(tfprotov5.NewDynamicValue(of, v))
		return &encoded
	}
	texts := func(all []*tfprotov5.Diagnostic) (texts []string) {
		for _, d := range all {
			texts = append(texts, d.Summary+": "+d.Detail)
		}
		return texts
	}
	config := schema.Provider.ValueType()
	configured := must[*tfprotov5.ConfigureProviderResponse](t)(server.ConfigureProvider(t.Context(), &tfprotov5.ConfigureProviderRequest{
		Config: encode(config, value(t, config, map[string]any{"folder": s.folder, "retry": []any{map[string]any{"attempts": 3}}})),
	}))
	if problems := texts(configured.Diagnostics); problems != nil {
		t.Fatal(problems)
	}
	s.apply = func(ctx context.Context, kind string, prior *state, config map[string]any) (*state, []string) {
		of := s.types[kind]
		wanted := tftypes.NewValue(of, nil)
		if config != nil {
			wanted = value(t, of, config)
		}
		plan := must[*tfprotov5.PlanResourceChangeResponse](t)(server.PlanResourceChange(t.Context(), &tfprotov5.PlanResourceChangeRequest{
			TypeName: "shoal_" + kind, PriorState: encode(of, prior.value), ProposedNewState: encode(of, wanted), Config: encode(of, wanted),
			PriorPrivate: prior.private,
		}))
		if problems := texts(plan.Diagnostics); problems != nil {
			return prior, problems
		}
		done := must[*tfprotov5.ApplyResourceChangeResponse](t)(server.ApplyResourceChange(ctx, &tfprotov5.ApplyResourceChangeRequest{
			TypeName: "shoal_" + kind, PriorState: encode(of, prior.value), PlannedState: plan.PlannedState, Config: encode(of, wanted),
			PlannedPrivate: plan.PlannedPrivate,
		}))
		return &state{must[tftypes.Value](t)(done.NewState.Unmarshal(of)), done.Private, nil}, texts(done.Diagnostics)
	}
	s.read = func(kind string, prior *state) (*state, []string) {
		of := s.types[kind]
		done := must[*tfprotov5.ReadResourceResponse](t)(server.ReadResource(t.Context(), &tfprotov5.ReadResourceRequest{
			TypeName: "shoal_" + kind, CurrentState: encode(of, prior.value), Private: prior.private,
		}))
		return &state{must[tftypes.Value](t)(done.NewState.Unmarshal(of)), done.Private, nil}, texts(done.Diagnostics)
	}
	return s
}

func (s stage) none(kind string) *state { return &state{value: tftypes.NewValue(s.types[kind], nil)} }

func (s stage) inject(t *testing.T, faults ...disk.Fault) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(s.folder, "faults.json"), must[[]byte](t)(json.Marshal(faults)), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (s stage) objects(t *testing.T) int {
	t.Helper()
	return len(must[[]string](t)(filepath.Glob(filepath.Join(s.folder, "*", "*.json"))))
}

func TestLifeOfABerth(t *testing.T) {
	for name, start := range stages(t) {
		t.Run(name, func(t *testing.T) {
			s := start(t)
			config := map[string]any{"name": "a", "tags": map[string]any{"k": "v"}, "owners": nil}
			if name == "reef" {
				config["owners"] = []any{map[string]any{"name": "o"}}
				config["labels"] = []any{map[string]any{"key": "k"}}
				config["ports"] = map[string]any{"http": map[string]any{"number": 80}}
			} else {
				delete(config, "owners")
			}
			created, problems := s.apply(t.Context(), "berth", s.none("berth"), config)
			if problems != nil || created.get(t, "id") == "" || len(created.get(t, "password")) != 26 || !created.value.IsFullyKnown() {
				t.Fatal(problems, created.value)
			}
			read, problems := s.read("berth", created)
			if problems != nil || !read.value.Equal(created.value) {
				t.Error(problems, cmp.Diff(created.value.String(), read.value.String()))
			}
			config["password"], config["id"], config["size"] = created.get(t, "password"), created.get(t, "id"), 2
			changed, problems := s.apply(t.Context(), "berth", read, config)
			if problems != nil || changed.get(t, "id") != created.get(t, "id") || s.objects(t) != 1 {
				t.Error(problems, changed.value)
			}
			if _, problems := s.apply(t.Context(), "berth", changed, nil); problems != nil || s.objects(t) != 0 {
				t.Error(problems)
			}
			if gone, problems := s.read("berth", changed); problems != nil || !gone.value.IsNull() {
				t.Error(problems, gone.value)
			}
		})
	}
}

func TestLifeOfAChart(t *testing.T) {
	const secret = "a secret that only the vendor keeps"
	for name, start := range stages(t) {
		t.Run(name, func(t *testing.T) {
			s := start(t)
			config := map[string]any{
				"title": "t", "scale": 0.1, "secret_wo": secret, "secret_wo_version": 1,
				"layer": []any{map[string]any{"name": "l", "point": []any{map[string]any{"x": 1, "y": 2}}}},
				"buoy":  []any{map[string]any{"colour": "red", "light": []any{map[string]any{"period": 3}, map[string]any{"period": 4}}}},
			}
			if name == "reef" {
				config["anything"] = map[string]any{"type": []any{"tuple", []any{"string", "number"}}, "value": []any{"x", 0.2}}
				config["place"] = map[string]any{"name": "p", "latitude": 1.5}
				config["legend"] = map[string]any{"text": "x"}
			} else {
				config["legend"] = []any{map[string]any{"text": "x"}}
				config["languages"] = []any{"b", "a"}
			}
			created, problems := s.apply(t.Context(), "chart", s.none("chart"), config)
			if problems != nil || created.get(t, "revision") == "" || created.get(t, "secret_wo") != "" || !created.value.IsFullyKnown() {
				t.Fatal(problems, created.value)
			}
			read, problems := s.read("chart", created)
			if problems != nil || !read.value.Equal(created.value) {
				t.Error(problems, cmp.Diff(created.value.String(), read.value.String()))
			}
			names := must[[]string](t)(filepath.Glob(filepath.Join(s.folder, "*", "*.json")))
			if stored := must[[]byte](t)(os.ReadFile(names[0])); !strings.Contains(string(stored), secret) {
				t.Errorf("the vendor has no secret: %s", stored)
			}
		})
	}
}

func TestFaults(t *testing.T) {
	cases := map[string]struct {
		fault          disk.Fault
		objects        int
		id, password   bool // in the state
		afterCancelled bool
	}{
		"a failure before the change":     {fault: disk.Fault{Do: disk.Fail}},
		"a lost answer":                   {fault: disk.Fault{Do: disk.Fail, When: disk.After}, objects: 1},
		"a failure with a partial state":  {fault: disk.Fault{Do: disk.Partial}, objects: 1, id: true},
		"a tainted object":                {fault: disk.Fault{Do: disk.Taint}, objects: 1, id: true, password: true},
		"a stop before the change":        {fault: disk.Fault{Do: disk.Hang}, afterCancelled: true},
		"a stop while it is provisioned":  {fault: disk.Fault{Do: disk.Hang, When: disk.During}, objects: 1, id: true, afterCancelled: true},
		"a stop during a delay afterward": {fault: disk.Fault{Do: disk.Delay, Delay: "1m", When: disk.After}, objects: 1, id: true, afterCancelled: true},
	}
	for name, start := range stages(t) {
		for title, tc := range cases {
			t.Run(name+" "+title, func(t *testing.T) {
				s := start(t)
				tc.fault.Verb, tc.fault.Type, tc.fault.Times, tc.fault.Message = "create", name+"_berth", 1, "out of order"
				s.inject(t, tc.fault)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if tc.afterCancelled {
					time.AfterFunc(100*time.Millisecond, cancel)
				}
				failed, problems := s.apply(ctx, "berth", s.none("berth"), map[string]any{"name": "a", "size": 1})
				if len(problems) != 1 || !tc.afterCancelled && !strings.Contains(problems[0], "out of order") {
					t.Error(problems)
				}
				if s.objects(t) != tc.objects {
					t.Errorf("the vendor has %d objects, want %d", s.objects(t), tc.objects)
				}
				if failed.value.IsNull() != !tc.id {
					t.Fatal(failed.value)
				}
				if tc.id && failed.get(t, "id") == "" {
					t.Error(failed.value)
				}
				if tc.id && (failed.get(t, "password") != "") != tc.password {
					t.Error(failed.value)
				}
				s.inject(t)
				if _, problems := s.apply(t.Context(), "berth", s.none("berth"), map[string]any{"name": "a", "size": 1}); problems != nil {
					t.Error(problems)
				}
			})
		}
	}
}

func TestABerthInUseIsNotDeleted(t *testing.T) {
	for name, start := range stages(t) {
		t.Run(name, func(t *testing.T) {
			s := start(t)
			berth, _ := s.apply(t.Context(), "berth", s.none("berth"), map[string]any{"name": "a", "size": 1})
			anchor, problems := s.apply(t.Context(), "anchor", s.none("anchor"), map[string]any{"berth_id": berth.get(t, "id")})
			if problems != nil {
				t.Fatal(problems)
			}
			// The state is no evidence: the SDK of version 5 returns none with the error.
			if _, problems := s.apply(t.Context(), "berth", berth, nil); problems == nil || s.objects(t) != 2 {
				t.Errorf("the vendor has %d objects: %v", s.objects(t), problems)
			}
			_, problemsAnchor := s.apply(t.Context(), "anchor", anchor, nil)
			if _, problems := s.apply(t.Context(), "berth", berth, nil); problems != nil || problemsAnchor != nil {
				t.Error(problems, problemsAnchor)
			}
			if _, problems := s.apply(t.Context(), "anchor", s.none("anchor"), map[string]any{"berth_id": "berth-none"}); problems == nil {
				t.Error("an anchor was made without its berth")
			}
		})
	}
}

func TestTokenIsInErrorsOnlyOnRequest(t *testing.T) {
	const token = "not the right one"
	vendor := &disk.Vendor{Folder: t.TempDir(), Token: token}
	if err := os.WriteFile(filepath.Join(vendor.Folder, "token"), []byte("right\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, vendor.Leak = range []bool{false, true} {
		if _, err := vendor.List(t.Context(), "reef_berth"); err == nil || strings.Contains(err.Error(), token) != vendor.Leak {
			t.Errorf("leak %t: %v", vendor.Leak, err)
		}
	}
	vendor.Token = "right"
	if _, err := vendor.List(t.Context(), "reef_berth"); err != nil {
		t.Error(err)
	}
}
