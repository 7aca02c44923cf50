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
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/testkit/thing"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/telemetry"
)

// measured has the reconciler record in a registry of its own, also after further restarts.
func measured(s *stage) {
	s.metrics = prometheus.NewRegistry()
	m, err := telemetry.NewMetrics(s.metrics)
	s.must(err)
	s.play(with(managed.WithMetrics(m)))
	s.config.Wrap(m.WrapTransport)
}

// counted returns the values of a metric of Things, of histograms the counts and sums, by the values of its other labels.
func counted(t *testing.T, from prometheus.Gatherer, name string) (values, sums map[string]float64) {
	t.Helper()
	families, err := from.Gather()
	if err != nil {
		t.Fatal(err)
	}
	values, sums = map[string]float64{}, map[string]float64{}
	isKind := func(l *dto.LabelPair) bool { return l.GetName() == "kind" }
	for _, f := range families {
		for _, m := range f.GetMetric() {
			kind := slices.IndexFunc(m.GetLabel(), isKind)
			if f.GetName() != name || kind < 0 || m.GetLabel()[kind].GetValue() != "thing.test.bowline.dev" {
				continue // perhaps of another test: all share the registry that managers serve
			}
			var labels []string
			for _, l := range slices.DeleteFunc(slices.Clone(m.GetLabel()), isKind) {
				labels = append(labels, l.GetValue())
			}
			of := strings.Join(labels, " ")
			values[of] = m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
			sums[of] = m.GetHistogram().GetSampleSum()
		}
	}
	return values, sums
}

// counts checks one value of a metric.
func counts(metric, labels string, want float64) act {
	return func(s *stage) {
		s.t.Helper()
		values, _ := counted(s.t, s.metrics, metric)
		s.equal(metric, want, values[labels])
	}
}

func TestReconcileMetrics(t *testing.T) {
	type values = map[string]float64
	measures := func(reconciles, calls values, acts ...act) []act {
		return append(append([]act{measured}, acts...), func(s *stage) {
			ended, _ := counted(s.t, s.metrics, "bowline_reconciles_total")
			s.equal("reconciles by outcome and reason", reconciles, ended)
			made, _ := counted(s.t, s.metrics, "bowline_external_call_duration_seconds")
			s.equal("calls by outcome and verb", calls, made)
		}, counts("bowline_throttled_calls_total", "", calls["throttled create"]))
	}
	broken := errors.New("broken")
	unknown := failure.OutcomeUnknown(broken)
	play(t, scripts{
		"all is well": measures(values{"done ": 2}, values{"ok connect": 2, "ok observe": 3, "ok create": 1}, passes(2)),
		"an error": measures(values{"failed CannotObserveExternalResource": 1}, values{"ok connect": 1, "error observe": 1},
			refuse("Observe", broken), pass),
		"no client": measures(values{"failed CannotConnectToProvider": 1}, values{"error connect": 1}, refuse("Connect", broken), pass),
		"an error that stays": measures(values{"rejected CannotCreateExternalResource": 1},
			values{"ok connect": 1, "ok observe": 1, "rejected create": 1}, refuse("Create", failure.Terminal(broken)), pass),
		"a lost answer": measures(values{"failed CannotCreateExternalResource": 1},
			values{"ok connect": 1, "ok observe": 1, "unknown create": 1}, lose("Create", unknown), pass),
		"put off until later": measures(values{"throttled CannotCreateExternalResource": 1},
			values{"ok connect": 1, "ok observe": 1, "throttled create": 1}, refuse("Create", busy{}), pass),
		"paused": measures(values{"paused ": 1}, values{}, annotate(meta.AnnotationKeyReconciliationPaused, "true"), pass),
		"changed and deleted": measures(values{"done ": 2, "gone ": 1},
			values{"ok connect": 3, "ok observe": 6, "ok create": 1, "ok update": 1, "ok delete": 1},
			pass, resize(2), pass, deleted, passes(2)),
		"a search for what an interrupted creation left behind": measures(
			values{"failed CannotCreateExternalResource": 1, "done ": 1},
			values{"ok connect": 2, "unknown create": 1, "ok find": 1, "ok observe": 1},
			unwanted, findable, lose("Create", unknown), passes(2)),
		// The clock of calls is that of the reconciler.
		"the duration of calls": {measured, during("Observe", later(3*time.Second)), pass, func(s *stage) {
			_, took := counted(s.t, s.metrics, "bowline_external_call_duration_seconds")
			s.equal("seconds", values{"ok connect": 0, "ok observe": 6, "ok create": 0}, took)
		}},
		"a panic of the provider's code": {measured, counts("bowline_panics_total", "", 0),
			during("Observe", func(*stage) { panic("at a loss") }), pass, counts("bowline_panics_total", "", 1)},
		"controller-runtime's registry by default": {pass, restarted, pass, func(s *stage) {
			if ended, _ := counted(s.t, ctrlmetrics.Registry, "bowline_reconciles_total"); ended["done "] < 2 {
				s.t.Errorf("counted %v passes in the registry that managers serve, want both", ended)
			}
		}},
	})
}

// The time until an object is Ready is measured once in its life, however often the process restarts.
func TestTimeToReady(t *testing.T) {
	takes := func(times float64, acts ...act) []act {
		return []act{measured, func(s *stage) { s.clock = s.thing().CreationTimestamp.Add(42 * time.Second) }, then(acts...),
			func(s *stage) {
				count, seconds := counted(s.t, s.metrics, "bowline_time_to_ready_seconds")
				if count[""] != times || seconds[""] != 42*times {
					s.t.Errorf("measured %v times, %v seconds", count[""], seconds[""])
				}
			}}
	}
	broken := observed(func(mg *thing.Thing, _ *observation) { mg.SetConditions(xpv1.Unavailable()) })
	whole := system(func(sys *thing.System) { sys.Observed = nil })
	again := then(pass, wiped, later(10*time.Minute), during("Create", func(s *stage) { s.system.Hidden = true }), pass,
		sees("Ready=Creating Synced=ReconcileSuccess")) // it is created again, and not seen yet
	play(t, scripts{
		"in one pass":                      takes(1, passes(2)),
		"in several passes":                takes(1, hidden, passes(2), shown, pass),
		"not yet":                          takes(0, hidden, passes(2)),
		"a restart on the way":             takes(1, hidden, pass, restarted, shown, pass),
		"a restart before anything":        takes(1, refuse("Connect", errors.New("no")), pass, restarted, pass),
		"a restart afterwards":             takes(1, pass, restarted, pass),
		"it broke on the way":              takes(1, broken, pass, whole, pass),
		"it broke afterwards":              takes(1, pass, broken, pass, whole, pass),
		"it broke afterwards, a restart":   takes(1, pass, broken, pass, restarted, whole, pass),
		"it is created again":              takes(1, again, shown, pass),
		"it is created again in a restart": takes(1, again, restarted, shown, pass),
		"its status is lost": takes(1, pass, func(s *stage) {
			s.editStatus(s.key, func(mg *thing.Thing) { mg.Status = thing.Status{} })
		}, restarted, pass),
		"its status cannot be written yet": takes(1, statusAway, try, func(s *stage) { s.fault = nil }, pass),
	})
}

// Objects are in drift until they are as declared, or gone.
func TestDriftMetrics(t *testing.T) {
	drifted := func(n float64) act { return counts("bowline_drifted_objects", "", n) }
	until := func(acts ...act) []act {
		return []act{measured, pass, drifted(0), stubborn, resize(5), passes(4), drifted(1), then(acts...), drifted(0)}
	}
	play(t, scripts{
		"mended":                    until(cooperates, resize(1), passes(2)),
		"deleted":                   until(deleted, pass),
		"deleted by another client": until(func(s *stage) { strike(s.env, s.thing()) }, pass),
	})
}

// traced has passes, calls and writes recorded as spans.
func traced(s *stage) {
	s.spans = tracetest.NewSpanRecorder()
	s.play(measured, with(managed.WithTracerProvider(trace.NewTracerProvider(trace.WithSpanProcessor(s.spans)))))
}

// attributesOf returns the attributes of a span as text, without the id of its pass.
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
	s := newStage(t)
	s.play(traced, refuse("Observe", errors.New("not now")), pass)
	failed := s.spans.Ended()
	s.spans.Reset()
	s.pass()
	created := s.spans.Ended()

	last := created[len(created)-1]
	var names []string
	for _, span := range created[:len(created)-1] {
		names = append(names, span.Name())
		if span.Parent().SpanID() != last.SpanContext().SpanID() {
			t.Errorf("span %s is not below the pass", span.Name())
		}
	}
	object := "patch things.test.bowline.dev"
	s.equal("names", []string{"connect", "observe", object, "create", "create secrets", object, "observe", object + "/status"},
		names)
	s.equal("name", "reconcile Thing", last.Name())

	pass := failed[len(failed)-1]
	observed := failed[slices.IndexFunc(failed, func(s trace.ReadOnlySpan) bool { return s.Name() == "observe" })]
	s.equal("pass", map[string]string{"bowline.kind": "thing.test.bowline.dev", "bowline.namespace": "", "bowline.name": s.key.Name,
		"bowline.external_name": s.key.Name, "bowline.outcome": "failed",
		"bowline.reason": "CannotObserveExternalResource"}, attributesOf(pass))
	s.equal("status of the pass", "observing the external resource: not now", pass.Status().Description)
	s.equal("call", map[string]string{"bowline.kind": "thing.test.bowline.dev", "bowline.outcome": "error"}, attributesOf(observed))
	s.equal("status of the call", "error", observed.Status().Description)
}

// A call in the background belongs to the pass that began it.
func TestTraceBackground(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.play(traced, inBackground, untilOperation("Finished Success"))
	spans := s.spans.Ended()
	first := slices.IndexFunc(spans, func(s trace.ReadOnlySpan) bool { return s.Name() == "reconcile Thing" })
	for _, span := range spans {
		if span.Name() == "create" && span.Parent().SpanID() != spans[first].SpanContext().SpanID() {
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
	// logs checks what the lines contain, sorted. An error is news once.
	logs := func(verbosity int, want ...string) []act {
		log, fails := &logLines{}, then(refuse("Observe", errors.New("not now")), pass)
		return []act{with(managed.WithLogger(log.logger(verbosity))), fails, fails, passes(2), func(s *stage) {
			var got []string
			for _, line := range log.take() {
				text := strings.ReplaceAll(field(line, "msg"), s.key.Name, "NAME")
				got = append(got, text+" "+field(line, "reason"))
				of := []string{field(line, "kind"), field(line, "object"), field(line, "externalName")}
				s.equal(line, []string{"thing.test.bowline.dev", s.key.Name, s.key.Name}, of)
			}
			slices.Sort(got)
			s.equal("lines", want, got)
		}}
	}
	const failed = "Cannot reconcile CannotObserveExternalResource"
	const created = "Created the external resource NAME CreatedExternalResource"
	done := []string{created, "Ready ", "Reconciled again after errors "}
	play(t, scripts{
		"what a person should see": logs(0, append([]string{failed}, done...)...),
		"every error":              logs(1, append([]string{failed, failed}, done...)...),
		"each pass":                logs(2, failed, failed, created, "Ready ", "Reconciled ", "Reconciled again after errors "),
	})
}

// field returns a field of a line as funcr writes it.
func field(line, key string) string {
	_, rest, _ := strings.Cut(line, fmt.Sprintf("%q=", key))
	rest, _, _ = strings.Cut(strings.TrimPrefix(rest, `"`), `"`)
	return rest
}
