// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/test/inspect"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	crds, err := definitions()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(controlplanetest.Main(m, crds...))
}

// A part of what make crashpoints does: kinds of each identity, and claims.
func TestCrashPoints(t *testing.T) {
	t.Parallel()
	c, err := inspect.StartCloud(cloudConfig(t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	for name, tc := range map[string]struct {
		kind, operation string
		losses          int // trials that must lose a one-time answer, and report that
	}{
		"creations are repeated (R77, R79, R93, N22)":           {"NodeGroup", "create", 0},
		"creations are found (R77, R79, R93, N5, N26)":          {"Network", "create", 0},
		"a lost answer is reported (N22, N42, O6)":              {"ByName", "create", 3},
		"a lost answer is reported, found (N22, N42, O6)":       {"ByLabel", "create", 3},
		"a lost creation is reported, unfindable (N5, N42, O6)": {"Unfindable", "create", 5},
		"rotations are completed, and end (N50, N59)":           {"CacheInstance", "rotate-generated", 0},
		"claims get their class (N10, R241)":                    {"Claim", "schedule", 0},
		"what exists has one claim (N11, R274)":                 {"Claim", "bind", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, err := newHarness(t.Context(), controlplanetest.Config(t), c, 4, t.Output())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := h.close(t.Context()); err != nil {
					t.Error(err)
				}
			})
			if err := h.run(t.Context(), choice{kind: tc.kind, operation: tc.operation}); err != nil {
				t.Error(err)
			}
			line, good := h.summary()
			t.Log(line)
			if !good || h.tried < 3*5 {
				t.Error("see above")
			}
			if got := h.reported[tc.kind+" "+tc.operation]; got != tc.losses {
				t.Errorf("%d losses were reported, want %d", got, tc.losses)
			}
		})
	}
}
