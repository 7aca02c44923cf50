// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"

	"github.com/bowline-dev/bowline/pkg/terraform/plugin"
	"github.com/bowline-dev/bowline/pkg/terraform/wire"
)

// list returns the names in a list of berths, all or those of a name.
func (s *stage) list(name cty.Value) (names []string, err error) {
	config := with(s.berth.List.Block, map[string]cty.Value{"name": name})
	err = s.List(s.t.Context(), s.berth, config, func(l plugin.Listed) error {
		names = append(names, l.Name)
		return nil
	})
	return names, err
}

// What a provider lists can be imported by its identity, with what only states have.
func TestList(t *testing.T) {
	t.Parallel()
	s := newStage(t, "reef")
	north := s.apply(s.berth.NoState(), s.config("north", 2))
	s.apply(s.berth.NoState(), s.config("south", 3))
	for name, want := range map[cty.Value]int{cty.NullVal(cty.String): 2, cty.StringVal("north"): 1, cty.StringVal("west"): 0} {
		if names, err := s.list(name); err != nil || len(names) != want {
			t.Errorf("the list of %#v has %v, %v", name, names, err)
		}
	}
	config := with(s.berth.List.Block, map[string]cty.Value{"name": cty.StringVal("north")})
	err := s.List(t.Context(), s.berth, config, func(l plugin.Listed) error {
		if diff := cmp.Diff(north.Identity, l.Identity); diff != "" || !l.Value.GetAttr("id").RawEquals(north.Value.GetAttr("id")) {
			t.Errorf("it has %#v, and another identity: %s", l.Value, diff)
		}
		imported, err := s.ImportListed(t.Context(), s.berth, l)
		if err != nil || !imported.Value.GetAttr("id").RawEquals(north.Value.GetAttr("id")) || len(imported.Private) == 0 {
			t.Errorf("the import has %#v, %v", imported, err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if shoal := newStage(t, "shoal"); shoal.berth.List != nil {
		t.Error("a provider without lists has some")
	}
}

// A list that is not whole is an error.
func TestListIsWhole(t *testing.T) {
	t.Parallel()
	stopped := errors.New("stopped")
	is := func(target error) func(error) bool { return func(err error) bool { return errors.Is(err, target) } }
	for name, tc := range map[string]struct {
		limits plugin.ListLimits
		fault  map[string]any
		warn   string
		each   error
		want   func(error) bool
	}{
		"refused":             {fault: map[string]any{"verb": "list", "do": "fail"}, want: isA[plugin.Diagnostics]},
		"the process crashes": {fault: map[string]any{"verb": "list", "do": "exit"}, want: isA[*wire.Unanswered]},
		"a warning":           {warn: "one region is down", want: isA[plugin.Diagnostics]},
		"too many":            {limits: plugin.ListLimits{Resources: 1}, want: isA[*plugin.ListLimitError]},
		"as many as may be":   {limits: plugin.ListLimits{Resources: 2}, want: is(nil)},
		"too large":           {limits: plugin.ListLimits{Bytes: 100}, want: isA[*plugin.ListLimitError]},
		"too slow": {limits: plugin.ListLimits{Time: 100 * time.Millisecond}, fault: map[string]any{"verb": "list", "do": "delay", "delay": "1m"},
			want: isA[*plugin.ListLimitError]},
		"stopped": {each: stopped, want: is(stopped)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, "reef")
			s.apply(s.berth.NoState(), s.config("north", 2))
			s.apply(s.berth.NoState(), s.config("south", 3))
			if tc.fault != nil {
				s.faults(tc.fault)
			}
			if err := os.WriteFile(filepath.Join(s.folder, "warning-list"), []byte(tc.warn), 0o600); err != nil {
				t.Fatal(err)
			}
			s.Lists = tc.limits
			err := s.List(t.Context(), s.berth, s.berth.List.Block.Empty(), func(plugin.Listed) error { return tc.each })
			if !tc.want(err) {
				t.Errorf("error %v", err)
			}
		})
	}
}

func isA[E error](err error) bool {
	_, is := errors.AsType[E](err)
	return is
}
