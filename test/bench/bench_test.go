// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/bowline-dev/bowline/internal/cli"
	"github.com/bowline-dev/bowline/pkg/terraform/journal"
	"github.com/bowline-dev/bowline/test/bench/page"
	"github.com/bowline-dev/bowline/test/bench/report"
)

// TestMain makes the test binary the programs that the bench starts: bowline, and the controllers.
func TestMain(m *testing.M) {
	journal.Main()
	switch settings := os.Getenv(settingsVariable); {
	case settings != "":
		os.Exit(runControllers(settings))
	case len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-"):
		os.Exit(cli.Main())
	}
	ctrl.SetLogger(logr.Discard())
	os.Exit(m.Run())
}

// A run with few objects measures everything that the page shows.
func TestRun(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r, err := measure(t.Context(), options{
		rounds: 1, objects: 3, workers: 2, measure: measurable(), bowline: self, crowd: 10, crowdPoll: time.Second, kinds: 2,
		settle: time.Millisecond, rest: 3 * time.Second, floorWorkers: []int{2},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := page.Write(t.TempDir(), r); err != nil {
		t.Error(err)
	}
	type calls struct{ create, update, delete float64 }
	for phase, want := range map[string]calls{"create": {create: 1}, "idle": {}, "restart": {}, "update": {update: 1}, "delete": {delete: 1}} {
		var got calls
		for verb, n := range map[string]*float64{"create": &got.create, "update": &got.update, "delete": &got.delete} {
			*n, _ = r.Get(phase, "external calls: "+verb+" per object")
		}
		if got != want {
			t.Errorf("%s: external calls per object %+v, want %+v", phase, got, want)
		}
	}
	if polls, _ := r.Get("idle", "external calls: observe per object"); polls == 0 {
		t.Error("nothing was polled")
	}
	for name, want := range map[string]float64{"objects polled": 10, "objects refused": 1, "new objects": 10} {
		if got, _ := r.Get(report.Crowd, name); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	for _, name := range []string{"external calls: observe per second", "slowest seconds to Ready"} {
		if got, _ := r.Get(report.Crowd, name); got <= 0 {
			t.Errorf("%s: %v", name, got)
		}
	}
}
