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

// A part of what make crashpoints does: one kind whose creations can be repeated, one whose can be found, and claims.
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
	for name, chosen := range map[string]choice{
		"creations are repeated (R77, R79, R93, N22)":  {kind: "NodeGroup", operation: "create"},
		"creations are found (R77, R79, R93, N5, N26)": {kind: "Network", operation: "create"},
		"rotations are completed, and end (N50, N59)":  {kind: "CacheInstance", operation: "rotate-generated"},
		"claims get their class (N10, R241)":           {kind: "Claim", operation: "schedule"},
		"what exists has one claim (N11, R274)":        {kind: "Claim", operation: "bind"},
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
			if err := h.run(t.Context(), chosen); err != nil {
				t.Error(err)
			}
			line, good := h.summary()
			t.Log(line)
			if !good || h.tried < 3*5 {
				t.Error("see above")
			}
		})
	}
}
