// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/testkit/fault"
	"github.com/bowline-dev/bowline/internal/testkit/thing"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/telemetry"
)

// measure replaces the reconciler by one that records in a registry of its own, also after further restarts.
func (s *stage) measure() *prometheus.Registry {
	s.t.Helper()
	registry := prometheus.NewRegistry()
	m, err := telemetry.NewMetrics(registry)
	if err != nil {
		s.t.Fatal(err)
	}
	s.options = append(s.options, managed.WithMetrics(m))
	s.restart(s.env.Config)
	return registry
}

// counted returns the values of a metric of Things, histograms' counts, by the values of its other labels, joined by spaces.
func counted(t *testing.T, from prometheus.Gatherer, name string) map[string]float64 {
	t.Helper()
	families, err := from.Gather()
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]float64{}
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			var labels []string
			kind := ""
			for _, l := range m.GetLabel() {
				if l.GetName() == "kind" {
					kind = l.GetValue()
					continue
				}
				labels = append(labels, l.GetValue())
			}
			if kind != "thing.test.bowline.dev" {
				continue // of another test: all share the registry that managers serve
			}
			values[strings.Join(labels, " ")] = m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	return values
}

func TestReconcileMetrics(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for name, tc := range map[string]struct {
		do         func(*stage)
		reconciles map[string]float64 // by outcome and reason
		calls      map[string]float64 // by outcome and verb
		throttled  float64
	}{
		"all is well": {
			do:         func(s *stage) { s.pass(); s.pass() },
			reconciles: map[string]float64{"done ": 2},
			calls:      map[string]float64{"ok connect": 2, "ok observe": 3, "ok create": 1},
		},
		"an error": {
			do:         func(s *stage) { s.failOnce("Observe", broken, nil); s.pass() },
			reconciles: map[string]float64{"failed CannotObserveExternalResource": 1},
			calls:      map[string]float64{"ok connect": 1, "error observe": 1},
		},
		"no client": {
			do:         func(s *stage) { s.failOnce("Connect", broken, nil); s.pass() },
			reconciles: map[string]float64{"failed CannotConnectToProvider": 1},
			calls:      map[string]float64{"error connect": 1},
		},
		"an error that stays": {
			do:         func(s *stage) { s.failOnce("Create", failure.Terminal(broken), nil); s.pass() },
			reconciles: map[string]float64{"rejected CannotCreateExternalResource": 1},
			calls:      map[string]float64{"ok connect": 1, "ok observe": 1, "rejected create": 1},
		},
		"a lost answer": {
			do:         func(s *stage) { s.failOnce("Create", nil, failure.OutcomeUnknown(broken)); s.pass() },
			reconciles: map[string]float64{"failed CannotCreateExternalResource": 1},
			calls:      map[string]float64{"ok connect": 1, "ok observe": 1, "unknown create": 1},
		},
		"put off until later": {
			do:         func(s *stage) { s.failOnce("Create", busy{}, nil); s.pass() },
			reconciles: map[string]float64{"throttled CannotCreateExternalResource": 1},
			calls:      map[string]float64{"ok connect": 1, "ok observe": 1, "throttled create": 1},
			throttled:  1,
		},
		"paused": {
			do:         func(s *stage) { s.annotate(meta.AnnotationKeyReconciliationPaused, "true"); s.pass() },
			reconciles: map[string]float64{"paused ": 1},
			calls:      map[string]float64{},
		},
		"changed and deleted": {
			do: func(s *stage) {
				s.pass()
				s.resize(2)
				s.pass()
				s.delete()
				s.pass()
				s.pass()
			},
			reconciles: map[string]float64{"done ": 2, "gone ": 1},
			calls:      map[string]float64{"ok connect": 3, "ok observe": 6, "ok create": 1, "ok update": 1, "ok delete": 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, nil)
			registry := s.measure()
			tc.do(s)
			if diff := cmp.Diff(tc.reconciles, counted(t, registry, "bowline_reconciles_total")); diff != "" {
				t.Errorf("reconciles -want +got:\n%s", diff)
			}
			if diff := cmp.Diff(tc.calls, counted(t, registry, "bowline_external_call_duration_seconds")); diff != "" {
				t.Errorf("calls -want +got:\n%s", diff)
			}
			if got := counted(t, registry, "bowline_throttled_calls_total")[""]; got != tc.throttled {
				t.Errorf("%v throttled calls, want %v", got, tc.throttled)
			}
		})
	}
}

// What an interrupted creation left behind is looked for by a call of its own.
func TestFindMetrics(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil, managed.WithVendorNames())
	s.system.VendorNames, s.system.Finds = true, true
	registry := s.measure()
	s.failOnce("Create", nil, failure.OutcomeUnknown(errors.New("no answer")))
	s.pass()
	s.pass()
	if got := counted(t, registry, "bowline_external_call_duration_seconds")["ok find"]; got != 1 {
		t.Errorf("%v calls, want 1", got)
	}
}

// The time until an object is Ready is measured once in its life, however often the process restarts.
func TestTimeToReady(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		do   func(*childhood)
		want float64
	}{
		"in one pass":               {func(l *childhood) { l.pass(); l.pass() }, 1},
		"in several passes":         {func(l *childhood) { l.hide(true); l.pass(); l.pass(); l.hide(false); l.pass() }, 1},
		"not yet":                   {func(l *childhood) { l.hide(true); l.pass(); l.pass() }, 0},
		"a restart on the way":      {func(l *childhood) { l.hide(true); l.pass(); l.again(); l.hide(false); l.pass() }, 1},
		"a restart before anything": {func(l *childhood) { l.failOnce("Connect", errors.New("no"), nil); l.pass(); l.again(); l.pass() }, 1},
		"a restart afterwards":      {func(l *childhood) { l.pass(); l.again(); l.pass() }, 1},
		"it broke on the way":       {func(l *childhood) { l.broken = true; l.pass(); l.broken = false; l.pass() }, 1},
		"it broke afterwards":       {func(l *childhood) { l.pass(); l.broken = true; l.pass(); l.broken = false; l.pass() }, 1},
		"it broke afterwards, a restart": {func(l *childhood) {
			l.pass()
			l.broken = true
			l.pass()
			l.again()
			l.broken = false
			l.pass()
		}, 1},
		"it is made again":                 {func(l *childhood) { l.pass(); l.makeAgainSlowly(); l.hide(false); l.pass() }, 1},
		"it is made again over a restart":  {func(l *childhood) { l.pass(); l.makeAgainSlowly(); l.again(); l.hide(false); l.pass() }, 1},
		"its status is lost":               {func(l *childhood) { l.pass(); l.loseStatus(); l.again(); l.pass() }, 1},
		"its status cannot be written yet": {func(l *childhood) { l.refuseStatusOnce(); l.pass() }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := &childhood{stage: newStage(t, nil)}
			registry := l.measure()
			l.alter(func(mg *thing.Thing, _ *managed.ExternalObservation) {
				if l.broken {
					mg.SetConditions(xpv1.Unavailable())
				}
			})
			l.clock = l.thing().CreationTimestamp.Add(42 * time.Second)
			tc.do(l)
			if got := counted(t, registry, "bowline_time_to_ready_seconds")[""]; got != tc.want {
				t.Errorf("measured %v times, want %v", got, tc.want)
			}
			if got := readySeconds(t, registry); tc.want == 1 && got != 42 {
				t.Errorf("took %v seconds, want 42", got)
			}
		})
	}
}

// A childhood is that of an object whose resource may break.
type childhood struct {
	*stage
	broken bool
}

// again restarts the process.
func (l *childhood) again() { l.restart(l.env.Config) }

// hide makes the system show no resources, or show them again.
func (l *childhood) hide(yes bool) { l.system.Do(func(sys *thing.System) { sys.Hidden = yes }) }

// makeAgainSlowly lets the resource vanish and be made again, but not be seen yet.
func (l *childhood) makeAgainSlowly() {
	l.t.Helper()
	l.system.Do(func(sys *thing.System) { clear(sys.Resources) })
	l.clock = l.clock.Add(10 * time.Minute)
	l.during("Create", func() { l.system.Hidden = true })
	l.pass()
	if got := l.state(); !strings.HasPrefix(got, "Ready=Creating") {
		l.t.Fatalf("the user sees %s", got)
	}
}

func (l *childhood) loseStatus() {
	l.t.Helper()
	mg := l.thing()
	mg.Status = thing.Status{}
	if err := l.env.Client.Status().Update(l.t.Context(), mg); err != nil {
		l.t.Fatal(err)
	}
}

// refuseStatusOnce is a pass that cannot write the status.
func (l *childhood) refuseStatusOnce() {
	l.t.Helper()
	refused := false
	l.restart(fault.InterceptWrites(l.env.Config, func(request string) (refuse, lose error) {
		if !refused && strings.HasSuffix(request, "/status") {
			refused = true
			return errors.New("no"), nil
		}
		return nil, nil
	}))
	if _, err := l.tryPass(); err == nil {
		l.t.Fatal("the status was written")
	}
}

func readySeconds(t *testing.T, from prometheus.Gatherer) float64 {
	t.Helper()
	families, err := from.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "bowline_time_to_ready_seconds" {
			return f.GetMetric()[0].GetHistogram().GetSampleSum()
		}
	}
	return 0
}

// Objects are in drift until they are as declared, or gone.
func TestDriftMetrics(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*stage){
		"mended":                      func(s *stage) { s.system.Stubborn = false; s.resize(1); s.pass(); s.pass() },
		"deleted":                     func(s *stage) { s.delete(); s.pass() },
		"gone without a look from us": func(s *stage) { strike(s.env, s.key.Name); s.pass() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, nil)
			registry := s.measure()
			s.pass()
			drifted := func(want float64) {
				t.Helper()
				if got := counted(t, registry, "bowline_drifted_objects")[""]; got != want {
					t.Errorf("%v objects in drift, want %v", got, want)
				}
			}
			drifted(0)
			s.system.Stubborn = true
			s.resize(5)
			for range 4 {
				s.pass()
			}
			if got := s.thing().GetCondition(xpv1.TypeInSync); got.Status != corev1.ConditionFalse {
				t.Fatalf("not in drift: %+v", got)
			}
			drifted(1)
			end(s)
			drifted(0)
		})
	}
}

// Reconcilers without options of their own count in controller-runtime's registry, all in the same metrics.
func TestDefaultMetrics(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil)
	s.pass()
	s.restart(s.env.Config)
	s.pass()
	if got := counted(t, ctrlmetrics.Registry, "bowline_reconciles_total")["done "]; got < 2 {
		t.Errorf("counted %v passes in the registry that managers serve, want both", got)
	}
}
