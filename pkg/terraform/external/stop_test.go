// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package external_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/resource/unstructured"
)

// Controllers that are asked to end let short changes end. They leave long ones to the journal where it outlives them, and have the provider end
// them elsewhere. The next ones continue without a person, unless the provider tells nothing of a creation that it abandoned.
func TestStoppedControllers(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		fault   map[string]any
		creates int  // calls of the external system
		waits   bool // for a person
		leaves  bool // changes to the journal
	}{
		"a short change ends":                         {map[string]any{"when": "before", "do": "delay", "delay": "2s"}, 1, false, false},
		"what a long change made in part is replaced": {map[string]any{"when": "after", "do": "hang"}, 2, false, false},
		"what is abandoned is not made once more":     {map[string]any{"when": "before", "do": "hang"}, 1, true, false},
		"a long change ends in the journal":           {map[string]any{"when": "before", "do": "delay", "delay": "12s"}, 1, false, true},
	}
	for name, tc := range cases {
		tc.fault["verb"], tc.fault["times"] = "create", 1
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, s *stage) {
				s.leaves = tc.leaves
				stop := s.run()
				s.faults(tc.fault)
				north := s.berth("north", 2)
				s.create(north)
				s.Eventually(t, "the provider creates it", func(context.Context) error { return s.faultsAreUsed() })
				stop()
				s.run()
				if tc.waits {
					s.eventually(north, "it waits for a person", func() error { return s.hasFailed(north, failure.CreateInterrupted) })
				} else {
					s.ready(north)
					s.checkOne(north)
				}
				if n := s.calls("create"); n != tc.creates {
					t.Errorf("the external system got %d calls to create it, want %d", n, tc.creates)
				}
			})
		})
	}
}

// Controllers that are asked to end let polls end: objects are as they were.
func TestStoppedPolls(t *testing.T) {
	t.Parallel()
	for _, leaves := range []bool{false, true} {
		t.Run(fmt.Sprintf("leaves changes to the journal: %t", leaves), func(t *testing.T) {
			each(t, func(t *testing.T, s *stage) {
				s.leaves = leaves
				stop := s.run()
				north := s.berth("north", 2)
				s.create(north)
				s.ready(north)
				s.faults(map[string]any{"verb": "read", "when": "before", "do": "delay", "delay": "2s", "times": 1})
				s.Eventually(t, "the provider reads it", func(context.Context) error { return s.faultsAreUsed() })
				stop()
				if s.read(north); s.isReady(north) != nil || north.GetCondition(xpv1.TypeSynced).Status != corev1.ConditionTrue {
					t.Errorf("it has %v", north.Object["status"])
				}
			})
		})
	}
}

// faultsAreUsed is nil once all faults have been met.
func (s *stage) faultsAreUsed() error {
	content, err := os.ReadFile(filepath.Join(s.folder, "faults.json"))
	if err == nil && strings.TrimSpace(string(content)) != "[]" {
		err = errors.New("faults are left")
	}
	return err
}

// What a damaged note is about is not known: nothing is created once more because of it.
func TestDamagedNote(t *testing.T) {
	t.Parallel()
	damages := map[string]func(note []byte) []byte{
		"emptied":     func([]byte) []byte { return nil },
		"cut-off":     func(note []byte) []byte { return note[:50] },
		"overwritten": func(note []byte) []byte { return make([]byte, len(note)) },
	}
	s := newStage(t, "reef", "beacon")
	s.leaves = true
	stop := s.run()
	s.faults(map[string]any{"verb": "create", "when": "before", "do": "delay", "delay": "12s", "times": len(damages)})
	beacons := map[string]*unstructured.Managed{}
	for name := range damages {
		beacons[name] = s.object("Beacon", name, map[string]any{"forProvider": map[string]any{"name": name}})
		s.create(beacons[name])
	}
	s.Eventually(t, "the provider creates all", func(context.Context) error { return s.faultsAreUsed() })
	stop()
	for name, damage := range damages {
		file := filepath.Join(s.notes, string(beacons[name].GetUID())+".change")
		s.Eventually(t, "the answer is noted", func(context.Context) error {
			note, err := os.ReadFile(file)
			if err != nil || bytes.Count(note, []byte("\n")) < 2 {
				return fmt.Errorf("the note is %q: %w", note, err)
			}
			return os.WriteFile(file, damage(note), 0o600)
		})
	}
	s.run()
	for name, beacon := range beacons {
		s.eventually(beacon, name+" waits for a person", func() error { return s.hasFailed(beacon, failure.CreateInterrupted) })
	}
	if n := s.calls("create"); n != len(damages) {
		t.Errorf("the external system got %d calls to create %d resources", n, len(damages))
	}
}
