// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/telemetry"
)

// trace replaces the reconciler by one whose passes, calls and writes are spans.
func (s *stage) trace() *tracetest.SpanRecorder {
	s.t.Helper()
	recorded := tracetest.NewSpanRecorder()
	s.options = append(s.options, managed.WithTracerProvider(trace.NewTracerProvider(trace.WithSpanProcessor(recorded))))
	m, err := telemetry.NewMetrics(s.measure())
	if err != nil {
		s.t.Fatal(err)
	}
	s.env.Config.Wrap(m.WrapTransport)
	s.restart(s.env.Config)
	return recorded
}

// attributesOf are the attributes of a span as text, but for the pass id.
func attributesOf(span trace.ReadOnlySpan) map[string]string {
	all := map[string]string{}
	for _, a := range span.Attributes() {
		all[string(a.Key)] = a.Value.Emit()
	}
	delete(all, "bowline.pass")
	return all
}

func TestTrace(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil)
	recorded := s.trace()
	s.failOnce("Observe", errors.New("not now"), nil)
	s.pass()
	failed := recorded.Ended()
	recorded.Reset()
	s.pass()
	created := recorded.Ended()

	t.Run("a span of each call and write, below that of the pass", func(t *testing.T) {
		last := created[len(created)-1]
		var names []string
		for _, span := range created[:len(created)-1] {
			names = append(names, span.Name())
			if span.Parent().SpanID() != last.SpanContext().SpanID() {
				t.Errorf("span %s is not below the pass", span.Name())
			}
		}
		object := "patch things.test.bowline.dev"
		want := []string{"connect", "observe", object, "create", "create secrets", object, "observe", object + "/status"}
		if diff := cmp.Diff(want, names); diff != "" || last.Name() != "reconcile Thing" {
			t.Errorf("below %s -want +got:\n%s", last.Name(), diff)
		}
	})
	t.Run("what the spans say", func(t *testing.T) {
		pass := failed[len(failed)-1]
		observed := failed[slices.IndexFunc(failed, func(s trace.ReadOnlySpan) bool { return s.Name() == "observe" })]
		want := map[string]string{"bowline.kind": "thing.test.bowline.dev", "bowline.namespace": "", "bowline.name": s.key.Name,
			"bowline.external_name": s.key.Name, "bowline.outcome": "failed", "bowline.reason": "CannotObserveExternalResource"}
		if diff := cmp.Diff(want, attributesOf(pass)); diff != "" {
			t.Errorf("pass -want +got:\n%s", diff)
		}
		if got := pass.Status().Description; got != "observing the external resource: not now" {
			t.Errorf("the pass says %q", got)
		}
		want = map[string]string{"bowline.kind": "thing.test.bowline.dev", "bowline.outcome": "error"}
		if diff := cmp.Diff(want, attributesOf(observed)); diff != "" || observed.Status().Description != "error" {
			t.Errorf("call, which says %q, -want +got:\n%s", observed.Status().Description, diff)
		}
	})
}

// A call in the background belongs to the pass that began it.
func TestTraceBackground(t *testing.T) {
	t.Parallel()
	s := inBackground(t)
	recorded := s.trace()
	s.passUntil("Finished Success")
	var first trace.ReadOnlySpan
	for _, span := range recorded.Ended() {
		if first == nil && span.Name() == "reconcile Thing" {
			first = span
		}
	}
	for _, span := range recorded.Ended() {
		if span.Name() == "create" && span.Parent().SpanID() != first.SpanContext().SpanID() {
			t.Error("create is below another pass than that which began it")
		}
	}
}

// logLines are the lines of a log.
type logLines struct {
	mu    sync.Mutex
	lines []string
}

// logger logs up to a verbosity.
func (l *logLines) logger(verbosity int) logr.Logger {
	return funcr.New(func(_, line string) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.lines = append(l.lines, line)
	}, funcr.Options{Verbosity: verbosity})
}

func (l *logLines) take() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	lines := l.lines
	l.lines = nil
	return lines
}

func TestLog(t *testing.T) {
	t.Parallel()
	const failed = "Cannot reconcile CannotObserveExternalResource"
	done := []string{failed, failed, "Event CannotObserveExternalResource", "Event CreatedExternalResource"}
	for name, tc := range map[string]struct {
		verbosity int
		want      []string // what the lines say, sorted
	}{
		"what a person should see": {0, []string{failed}},
		"what was done":            {1, done},
		"each pass":                {2, append(done, "Reconciled ", "Reconciled ")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, log := newStage(t, nil), &logLines{}
			s.options = append(s.options, managed.WithLogger(log.logger(tc.verbosity)))
			s.restart(s.env.Config)
			for range 2 { // is news once
				s.failOnce("Observe", errors.New("not now"), nil)
				s.pass()
			}
			s.pass()
			s.pass()
			var got []string
			for _, line := range log.take() {
				got = append(got, field(line, "msg")+" "+field(line, "reason"))
				for key, value := range map[string]string{"kind": "thing.test.bowline.dev", "object": s.key.Name, "externalName": s.key.Name} {
					if field(line, key) != value {
						t.Errorf("%s is %q, want %q, in %s", key, field(line, key), value, line)
					}
				}
			}
			slices.Sort(got)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// field returns a field of a line as funcr writes it.
func field(line, key string) string {
	_, rest, _ := strings.Cut(line, fmt.Sprintf("%q=", key))
	rest, _, _ = strings.Cut(strings.TrimPrefix(rest, `"`), `"`)
	return rest
}

// The clock of calls is that of the reconciler.
func TestCallDuration(t *testing.T) {
	t.Parallel()
	s := newStage(t, nil)
	registry := s.measure()
	s.during("Observe", func() { s.clock = s.clock.Add(3 * time.Second) })
	s.pass()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != "bowline_external_call_duration_seconds" {
			continue
		}
		for _, m := range f.GetMetric() {
			want := 0.0
			if m.GetLabel()[2].GetValue() == "observe" {
				want = 6
			}
			if got := m.GetHistogram().GetSampleSum(); got != want {
				t.Errorf("%v took %v seconds, want %v", m.GetLabel(), got, want)
			}
		}
	}
}
