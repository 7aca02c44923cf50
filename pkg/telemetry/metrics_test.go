// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package telemetry_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/apimachinery/pkg/types"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/telemetry"
)

func newMetrics(t *testing.T) (*telemetry.Metrics, *prometheus.Registry) {
	t.Helper()
	registry := prometheus.NewRegistry()
	m, err := telemetry.NewMetrics(registry)
	if err != nil {
		t.Fatal(err)
	}
	return m, registry
}

// want compares what a registry gathers under some names with the text that Prometheus reads, without its comments.
func want(t *testing.T, from prometheus.Gatherer, lines string, names ...string) {
	t.Helper()
	families, err := from.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, f := range families {
		for _, name := range names {
			if f.GetName() == name {
				text.WriteString("# HELP " + name + " " + f.GetHelp() + "\n# TYPE " + name + " " + strings.ToLower(f.GetType().String()) + "\n")
			}
		}
	}
	text.WriteString(lines)
	if err := testutil.GatherAndCompare(from, strings.NewReader(text.String()), names...); err != nil {
		t.Error(err)
	}
}

func TestKind(t *testing.T) {
	t.Parallel()
	m, registry := newMetrics(t)
	k := m.Kind("bucket.example.org")
	k.Reconciled("done", "")
	k.Reconciled("done", "")
	k.Reconciled("failed", "CannotObserveExternalResource")
	k.Called("observe", telemetry.CallOK, 20*time.Millisecond)
	k.Called("create", telemetry.CallThrottled, 2*time.Second)
	k.Ready(90 * time.Second)
	k.Ready(-time.Second)
	k.Rotated(true)
	k.Rotated(false)
	k.Rotated(true)
	want(t, registry, `
bowline_reconciles_total{kind="bucket.example.org",outcome="done",reason=""} 2
bowline_reconciles_total{kind="bucket.example.org",outcome="failed",reason="CannotObserveExternalResource"} 1
`, "bowline_reconciles_total")
	want(t, registry, `
bowline_credential_rotations_total{kind="bucket.example.org",outcome="done"} 2
bowline_credential_rotations_total{kind="bucket.example.org",outcome="failed"} 1
`, "bowline_credential_rotations_total")
	want(t, registry, `bowline_throttled_calls_total{kind="bucket.example.org"} 1`+"\n", "bowline_throttled_calls_total")
	for name, count := range map[string]int{"bowline_external_call_duration_seconds": 2, "bowline_time_to_ready_seconds": 1} {
		if got, err := testutil.GatherAndCount(registry, name); got != count || err != nil {
			t.Errorf("%s: %d series, %v, want %d", name, got, err, count)
		}
	}
}

func TestTerraform(t *testing.T) {
	t.Parallel()
	m, registry := newMetrics(t)
	names := []string{"bowline_terraform_processes", "bowline_terraform_process_memory_bytes", "bowline_terraform_process_restarts_total"}
	of := m.Terraform("aws")
	want(t, registry, `
bowline_terraform_processes{provider="aws"} 0
bowline_terraform_process_memory_bytes{provider="aws"} 0
bowline_terraform_process_restarts_total{provider="aws"} 0
`, names...)
	of.Processes(2, 4096)
	of.Restarted()
	of.Called("ReadResource", "ok", time.Second)
	of.Called("ReadResource", "error", time.Second)
	want(t, registry, `
bowline_terraform_processes{provider="aws"} 2
bowline_terraform_process_memory_bytes{provider="aws"} 4096
bowline_terraform_process_restarts_total{provider="aws"} 1
`, names...)
	const calls = "bowline_terraform_call_duration_seconds"
	if n, err := testutil.GatherAndCount(registry, calls); n != 2 || err != nil {
		t.Errorf("%d series of calls, %v", n, err)
	}
	of.Forget()
	if n, err := testutil.GatherAndCount(registry, append(names, calls)...); n != 0 || err != nil {
		t.Errorf("%d series of a provider that is gone, %v", n, err)
	}
}

func TestDrifted(t *testing.T) {
	t.Parallel()
	m, registry := newMetrics(t)
	k, again := m.Kind("bucket.example.org"), m.Kind("bucket.example.org")
	one, two := types.NamespacedName{Namespace: "a", Name: "one"}, types.NamespacedName{Name: "two"}
	for i, step := range []struct {
		do   func()
		want string
	}{
		{func() {}, "0"},
		{func() { k.Drifted(one, true); k.Drifted(one, true) }, "1"},
		{func() { again.Drifted(two, true) }, "2"},
		{func() { k.Drifted(one, false); k.Drifted(one, false); k.Drifted(two, false) }, "1"},
		{func() { again.Drifted(two, false) }, "0"},
	} {
		step.do()
		t.Log("step", i)
		want(t, registry, `bowline_drifted_objects{kind="bucket.example.org"} `+step.want+"\n", "bowline_drifted_objects")
	}
}

// Everything may be recorded at the same time; the race detector looks at this test.
func TestAtTheSameTime(t *testing.T) {
	t.Parallel()
	m, registry := newMetrics(t)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			k := m.Kind("bucket.example.org")
			for range 100 {
				k.Reconciled("done", "")
				k.Called("observe", telemetry.CallOK, 0)
				k.Drifted(types.NamespacedName{Name: "one"}, true)
				k.Drifted(types.NamespacedName{Name: "one"}, false)
			}
		})
	}
	all.Wait()
	want(t, registry, `bowline_reconciles_total{kind="bucket.example.org",outcome="done",reason=""} 800`+"\n", "bowline_reconciles_total")
}

func TestRegistration(t *testing.T) {
	t.Parallel()
	t.Run("twice is once", func(t *testing.T) {
		t.Parallel()
		m, registry := newMetrics(t)
		again, err := telemetry.NewMetrics(registry)
		if err != nil {
			t.Fatal(err)
		}
		m.Kind("a").Reconciled("done", "")
		again.Kind("a").Reconciled("done", "")
		want(t, registry, `bowline_reconciles_total{kind="a",outcome="done",reason=""} 2`+"\n", "bowline_reconciles_total")
	})
	t.Run("another metric of the name", func(t *testing.T) {
		t.Parallel()
		registry := prometheus.NewRegistry()
		registry.MustRegister(prometheus.NewGauge(prometheus.GaugeOpts{Name: "bowline_drifted_objects", Help: "Ours."}))
		if _, err := telemetry.NewMetrics(registry); err == nil || !strings.Contains(err.Error(), "bowline_drifted_objects") {
			t.Errorf("error %v, want one that names the metric", err)
		}
	})
}

// The guide lists all metrics and no others. Labels come from short lists.
func TestGuide(t *testing.T) {
	t.Parallel()
	m, registry := newMetrics(t)
	k := m.Kind("a")
	k.Reconciled("done", "")
	k.Called("observe", telemetry.CallOK, 0)
	m.CountClaims("a", listed())
	m.CountManaged("a", listed())
	m.CountConfigs("a", listed())
	m.Terraform("a").Called("ReadResource", "ok", 0)
	send(t, m.WrapTransport(answer(http.StatusOK)), t.Context(), http.MethodGet, "/api/v1/secrets")
	problems, err := testutil.GatherAndLint(registry)
	if err != nil || len(problems) > 0 {
		t.Errorf("lint: %+v, %v", problems, err)
	}
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "guides", "observability.md"))
	if err != nil {
		t.Fatal(err)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	guide, known := string(text), ""
	for _, f := range families {
		row := fmt.Sprintf("\n| `%s` | %s | ", f.GetName(), strings.ToLower(f.GetType().String()))
		_, rest, found := strings.Cut(guide, row)
		labels, rest, _ := strings.Cut(rest, " | ")
		listed := strings.Split(labels, ", ")
		slices.Sort(listed)
		var has []string
		for _, label := range f.GetMetric()[0].GetLabel() {
			has = append(has, label.GetName())
		}
		if !found || !slices.Equal(listed, has) || !strings.HasPrefix(rest, f.GetHelp()+" |\n") {
			t.Errorf("the guide lacks this line: %s%s | %s |", row, strings.Join(has, ", "), f.GetHelp())
		}
		known += " " + f.GetName()
	}
	for _, name := range regexp.MustCompile(`bowline_[a-z_]+[a-z]`).FindAllString(guide, -1) {
		for _, suffix := range []string{"_bucket", "_count", "_sum"} {
			name = strings.TrimSuffix(name, suffix)
		}
		if !strings.Contains(known, name) {
			t.Errorf("the guide names %s, which does not exist", name)
		}
	}
	if !strings.Contains(guide, "http://"+telemetry.DefaultListen+"/metrics") {
		t.Error("the guide lacks the address of metrics")
	}
}

// listed lists objects with these conditions.
func listed(all ...[]xpv1.Condition) telemetry.ObjectLister {
	return func(_ context.Context, visit func(func(xpv1.ConditionType) xpv1.Condition)) error {
		for _, conditions := range all {
			visit(xpv1.NewConditionedStatus(conditions...).GetCondition)
		}
		return nil
	}
}

// Objects are counted when metrics are read. Reasons are few, whatever conditions objects have.
func TestObjects(t *testing.T) {
	t.Parallel()
	m, registry := newMetrics(t)
	waiting := []xpv1.Condition{xpv1.Waiting("NoMatchingClass", "")}
	stalled := []xpv1.Condition{xpv1.Available(), xpv1.Stalled("Invalid", "")}
	m.CountClaims("bucket.example.org", listed(waiting, waiting, stalled, []xpv1.Condition{xpv1.Available()}, nil))
	m.CountClaims("unknown.example.org", func(context.Context, func(func(xpv1.ConditionType) xpv1.Condition)) error {
		return errors.New("not synced")
	})
	want(t, registry, `
bowline_claims{kind="bucket.example.org",reason="",state="not-ready"} 1
bowline_claims{kind="bucket.example.org",reason="Available",state="ready"} 1
bowline_claims{kind="bucket.example.org",reason="Invalid",state="stalled"} 1
bowline_claims{kind="bucket.example.org",reason="NoMatchingClass",state="not-ready"} 2
`, "bowline_claims")
	m.CountManaged("bucket.example.org", listed())
	want(t, registry, `bowline_managed_resources{kind="bucket.example.org",reason="Available",state="ready"} 0`+"\n", "bowline_managed_resources")

	m.CountConfigs("config.example.org", listed([]xpv1.Condition{xpv1.Available(), xpv1.DeletionsPaused("")},
		[]xpv1.Condition{xpv1.Available(), xpv1.DeletionsResumed()}))
	want(t, registry, `bowline_provider_configs{kind="config.example.org",reason="Available",state="ready"} 1
bowline_provider_configs{kind="config.example.org",reason="MassDeletion",state="deletions-paused"} 1
`, "bowline_provider_configs")

	var forged [][]xpv1.Condition
	for i := range 1000 {
		forged = append(forged, []xpv1.Condition{xpv1.Waiting(xpv1.ConditionReason(fmt.Sprintf("Forged%d", i)), "")})
	}
	m.CountManaged("bucket.example.org", listed(append(forged, waiting, waiting)...))
	if got, err := testutil.GatherAndCount(registry, "bowline_managed_resources"); got != 51 || err != nil {
		t.Errorf("%d series, %v, want 50 reasons and one for the others", got, err)
	}
}

// Thousands of objects are polled all the time: what that records must leave no garbage.
func TestIdlePollAllocatesNothing(t *testing.T) {
	m, _ := newMetrics(t)
	k := m.Kind("bucket.example.org")
	n := testing.AllocsPerRun(100, func() {
		k.Called("observe", telemetry.CallOK, time.Millisecond)
		k.Reconciled("done", "")
		k.Drifted(types.NamespacedName{Namespace: "a", Name: "b"}, false)
	})
	if n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// Prometheus reads what was recorded of a kind.
func Example() {
	registry := prometheus.NewRegistry()
	m, err := telemetry.NewMetrics(registry)
	if err != nil {
		fmt.Println(err)
		return
	}
	m.Kind("bucket.example.org").Called("create", telemetry.CallThrottled, 3*time.Millisecond)
	fmt.Println(testutil.GatherAndCount(registry, "bowline_throttled_calls_total"))
	// Output: 1 <nil>
}
