// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package telemetry_test

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/pkg/telemetry"
)

// idlePoll records what a pass does that finds nothing changed.
func idlePoll(k *telemetry.Kind) {
	k.Called("connect", telemetry.CallOK, time.Microsecond)
	k.Called("observe", telemetry.CallOK, time.Millisecond)
	k.Reconciled("done", "")
	k.Drifted(types.NamespacedName{Namespace: "a", Name: "b"}, false)
}

func BenchmarkIdlePoll(b *testing.B) {
	m, err := telemetry.NewMetrics(prometheus.NewRegistry())
	if err != nil {
		b.Fatal(err)
	}
	k := m.Kind("bucket.example.org")
	b.ReportAllocs()
	for b.Loop() {
		idlePoll(k)
	}
}

// Thousands of objects are polled all the time: what that records must leave no garbage.
func TestIdlePollAllocatesNothing(t *testing.T) {
	m, _ := newMetrics(t)
	k := m.Kind("bucket.example.org")
	if n := testing.AllocsPerRun(100, func() { idlePoll(k) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
