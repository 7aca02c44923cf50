// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/bowline-dev/bowline/internal/testkit"
	"github.com/bowline-dev/bowline/internal/testkit/mirror"
	"github.com/bowline-dev/bowline/pkg/terraform/plugin"
	"github.com/bowline-dev/bowline/pkg/terraform/schema"
	"github.com/bowline-dev/bowline/pkg/terraform/wire"
)

// A stage is a provider of the tests that keeps its objects in a folder.
type stage struct {
	*plugin.Provider
	t      *testing.T
	folder string
	berth  plugin.Resource
}

// newStage starts reef, of protocol 6, or shoal, of protocol 5.
func newStage(t *testing.T, name string) *stage {
	t.Helper()
	s := &stage{t: t, folder: t.TempDir()}
	process, err := plugin.Start(t.Context(), plugin.Command{Path: mirror.Program(t, name)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(process.Close)
	schemas, err := process.Schemas(t.Context(), func(resourceType string) bool { return resourceType == name+"_berth" })
	if err != nil {
		t.Fatal(err)
	}
	if len(schemas.Types) < 3 || len(schemas.Resources) != 1 {
		t.Fatalf("types %v, of which %d have a schema, want one", schemas.Types, len(schemas.Resources))
	}
	s.berth = schemas.Resource(name + "_berth")
	config := with(schemas.Provider.Block, map[string]cty.Value{"folder": cty.StringVal(s.folder)})
	if s.Provider, err = schemas.Configure(t.Context(), process, config, nil); err != nil {
		t.Fatal(err)
	}
	return s
}

// with is a configuration with some attributes.
func with(of *schema.Block, attributes map[string]cty.Value) cty.Value {
	values := of.Empty().AsValueMap()
	for name, value := range attributes {
		values[name] = value
	}
	return cty.ObjectVal(values)
}

func (s *stage) config(name string, size int64) cty.Value {
	return with(s.berth.Schema.Block, map[string]cty.Value{"name": cty.StringVal(name), "size": cty.NumberIntVal(size)})
}

func (s *stage) plan(prior plugin.State, config cty.Value) *plugin.Plan {
	s.t.Helper()
	plan, err := s.Plan(s.t.Context(), s.berth, prior, config)
	if err != nil {
		s.t.Fatal(err)
	}
	return plan
}

func (s *stage) apply(prior plugin.State, config cty.Value) plugin.State {
	s.t.Helper()
	after, err := s.Apply(s.t.Context(), s.berth, s.plan(prior, config), "", "")
	if err != nil {
		s.t.Fatal(err)
	}
	return after
}

// faults has the next calls of the provider's system fail.
func (s *stage) faults(all ...map[string]any) {
	s.t.Helper()
	content, err := json.Marshal(all)
	if err == nil {
		err = os.WriteFile(filepath.Join(s.folder, "faults.json"), content, 0o600)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *stage) objects() int {
	files, err := filepath.Glob(filepath.Join(s.folder, s.berth.Type, "*.json"))
	if err != nil {
		s.t.Fatal(err)
	}
	return len(files)
}

func each(t *testing.T, run func(t *testing.T, s *stage)) {
	for _, name := range []string{"reef", "shoal"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, newStage(t, name))
		})
	}
}

// The providers of both protocols live the whole life of a resource.
func TestLife(t *testing.T) {
	each(t, func(t *testing.T, s *stage) {
		created := s.apply(s.berth.NoState(), s.config("north", 2))
		if s.objects() != 1 || created.Value.GetAttr("id").AsString() == "" {
			t.Fatalf("%d objects after the creation of %#v", s.objects(), created.Value)
		}
		read, err := s.Read(t.Context(), s.berth, created)
		if err != nil {
			t.Fatal(err)
		}
		block := s.berth.Schema.Block
		if d := block.Differences(read.Value, s.plan(read, s.config("north", 2)).Planned); len(d) > 0 {
			t.Errorf("what was not changed is to be changed: %v", d)
		}
		changed := s.apply(read, s.config("north", 3))
		if size, _ := changed.Value.GetAttr("size").AsBigFloat().Int64(); size != 3 || changed.Value.GetAttr("id").AsString() != read.Value.GetAttr("id").AsString() {
			t.Errorf("after a change it is %#v", changed.Value)
		}
		if replaced := s.plan(changed, s.config("south", 3)).Replace; len(replaced) == 0 {
			t.Error("another name needs another resource, and the plan does not say so")
		}
		imported, err := s.Import(t.Context(), s.berth, changed.Value.GetAttr("id").AsString())
		if err != nil || imported.Value.IsNull() || imported.Value.GetAttr("name").AsString() != "north" {
			t.Errorf("the import has %#v, %v", imported.Value, err)
		}
		stored := s.apply(changed, s.config("north", 4))
		gone := s.apply(stored, cty.NullVal(block.Type()))
		if !gone.Value.IsNull() || s.objects() != 0 {
			t.Errorf("%d objects after the deletion, with state %#v", s.objects(), gone.Value)
		}
		if read, err := s.Read(t.Context(), s.berth, stored); err != nil || !read.Value.IsNull() {
			t.Errorf("what is gone has state %#v, %v", read.Value, err)
		}
	})
}

// A process is asked once whether a configuration is valid and whether a state is to be upgraded, unless it has something to say.
func TestQuestionsAreNotRepeated(t *testing.T) {
	each(t, func(t *testing.T, s *stage) {
		stored, err := ctyjson.Marshal(s.apply(s.berth.NoState(), s.config("north", 2)).Value, s.berth.Schema.Block.Type())
		if err != nil {
			t.Fatal(err)
		}
		old := []byte(`{"name": "north", "depth": 3}`)
		version := s.berth.Schema.Version
		type question struct {
			ask  func() error
			want int // calls
		}
		questions := map[string]question{
			"a valid configuration":         {func() error { return s.Validate(t.Context(), s.berth, s.config("south", 2)) }, 1},
			"a state that needs no upgrade": {func() error { _, err := s.Upgrade(t.Context(), s.berth, version, stored); return err }, 1},
			"a state in another form":       {func() error { _, err := s.Upgrade(t.Context(), s.berth, version, old); return err }, 3},
		}
		if s.berth.Schema.Block.Attribute("notes") != nil { // of shoal, deprecated
			config := with(s.berth.Schema.Block, map[string]cty.Value{"name": cty.StringVal("north"), "notes": cty.StringVal("old")})
			questions["a configuration with a warning"] = question{func() error { return s.Validate(t.Context(), s.berth, config) }, 3}
		}
		for name, tc := range questions {
			calls := 0
			s.Called = func(wire.Method, wire.Outcome, time.Duration) { calls++ }
			for range 3 {
				if err := tc.ask(); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
			}
			if calls != tc.want {
				t.Errorf("%s: %d calls, want %d", name, calls, tc.want)
			}
		}
	})
}

// What a provider refuses is told from what it does not answer, and a change that failed in part has a state.
func TestRefusals(t *testing.T) {
	create := func(s *stage) (plugin.State, error) {
		return s.Apply(s.t.Context(), s.berth, s.plan(s.berth.NoState(), s.config("north", 2)), "", "")
	}
	cases := map[string]struct {
		fault      map[string]any
		unanswered bool
		made       bool // as the state says
		objects    int
	}{
		"nothing was made":    {map[string]any{"verb": "create", "do": "fail", "times": 1}, false, false, 0},
		"a part was made":     {map[string]any{"verb": "create", "do": "partial", "times": 1}, false, true, 1},
		"it is tainted":       {map[string]any{"verb": "create", "do": "taint", "times": 1}, false, true, 1},
		"the process crashes": {map[string]any{"verb": "create", "when": "after", "do": "exit", "times": 1}, true, false, 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, s *stage) {
				s.faults(tc.fault)
				after, err := create(s)
				_, unanswered := errors.AsType[*wire.Unanswered](err)
				_, refused := errors.AsType[plugin.Diagnostics](err)
				if unanswered != tc.unanswered || refused == tc.unanswered || after.Value.IsNull() == tc.made || s.objects() != tc.objects {
					t.Errorf("state %#v, %d objects, error %v", after.Value, s.objects(), err)
				}
			})
		})
	}
}

// A deletion that fails leaves the state, whatever the provider answers.
func TestFailedDeletion(t *testing.T) {
	each(t, func(t *testing.T, s *stage) {
		created := s.apply(s.berth.NoState(), s.config("north", 2))
		s.faults(map[string]any{"verb": "delete", "do": "fail", "times": 1})
		after, err := s.Apply(t.Context(), s.berth, s.plan(created, cty.NullVal(s.berth.Schema.Block.Type())), "", "")
		if err == nil || !after.Value.RawEquals(created.Value) || string(after.Private) != string(created.Private) {
			t.Errorf("state %#v, error %v", after.Value, err)
		}
	})
}

// A provider that is asked to stop answers with what it achieved.
func TestStop(t *testing.T) {
	each(t, func(t *testing.T, s *stage) {
		s.faults(map[string]any{"verb": "create", "when": "after", "do": "hang"})
		plan, done := s.plan(s.berth.NoState(), s.config("north", 2)), make(chan plugin.State)
		go func() {
			after, _ := s.Apply(t.Context(), s.berth, plan, "", "")
			done <- after
		}()
		testkit.Eventually(t, "the provider creates it", func() error {
			if s.objects() == 0 {
				return errors.New("it does not")
			}
			return nil
		})
		s.Stop(t.Context())
		if after := <-done; after.Value.IsNull() || after.Value.GetAttr("id").AsString() == "" {
			t.Errorf("state %#v", after.Value)
		}
	})
}

// A program that is no provider, and a process that is killed, are reported.
func TestProcess(t *testing.T) {
	t.Run("no provider", func(t *testing.T) {
		if _, err := plugin.Start(t.Context(), plugin.Command{Path: "/bin/true"}); !errors.Is(err, wire.ErrNoPlugin) {
			t.Errorf("error %v", err)
		}
	})
	t.Run("a line without end", func(t *testing.T) {
		endless := filepath.Join(t.TempDir(), "endless")
		if err := os.WriteFile(endless, []byte("#!/bin/sh\nexec cat /dev/zero\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if _, err := plugin.Start(ctx, plugin.Command{Path: endless}); !errors.Is(err, wire.ErrNoPlugin) {
			t.Errorf("error %v", err)
		}
	})
	t.Run("no program", func(t *testing.T) {
		if _, err := plugin.Start(t.Context(), plugin.Command{Path: filepath.Join(t.TempDir(), "missing")}); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("error %v", err)
		}
	})
	t.Run("killed", func(t *testing.T) {
		s := newStage(t, "reef")
		if err := syscall.Kill(s.PID(), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		<-s.Done()
		_, err := s.Read(t.Context(), s.berth, s.berth.NoState())
		if _, unanswered := errors.AsType[*wire.Unanswered](err); !unanswered {
			t.Errorf("error %v", err)
		}
	})
	t.Run("its environment", func(t *testing.T) {
		t.Setenv("BOWLINE_TEST_SECRET", "hidden")
		s := newStage(t, "reef")
		content, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(s.PID()), "environ"))
		if err != nil || strings.Contains(string(content), "hidden") {
			t.Errorf("the process has the environment of this one (%v)", err)
		}
	})
}
