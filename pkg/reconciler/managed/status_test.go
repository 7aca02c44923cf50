// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/testkit/fault"
	"github.com/bowline-dev/bowline/internal/testkit/thing"
	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
)

// What the API server refuses of the status does not hide the rest of it.
func TestStatusThatTheSchemaRefuses(t *testing.T) {
	t.Parallel()
	const (
		well  = "Ready=Available Synced=ReconcileSuccess"
		ill   = "Ready=Available Synced=ReconcileError"
		field = "status.atProvider.neighbourRef.policy.resolution, which"
	)
	var (
		size       int
		resolution xpv1.ResolutionPolicy
		failed     error
	)
	s := newStage(t, nil)
	s.alter(func(mg *thing.Thing, o *managed.ExternalObservation) {
		if o.ResourceExists {
			o.Failed, mg.Status.AtProvider.Size = failed, size
			mg.Status.AtProvider.NeighbourRef = &xpv1.Reference{Name: "any", Policy: &xpv1.Policy{Resolution: &resolution}}
		}
	})
	writes := s.countWrites()
	for _, m := range []struct {
		name    string
		act     func()
		state   string
		message string
		size    int
		told    []event.Reason
		writes  int // of the status, also those that are refused
	}{
		{"the first pass shows conditions (R184, R186)", func() { size, resolution = 7, "Whatever" },
			ill, field, 0, []event.Reason{managed.ReasonCreated, managed.ReasonCannotUpdateMR}, 2},
		{"it is told and stored once (N13)", func() { s.clock = s.clock.Add(time.Minute) }, ill, field, 0, nil, 1},
		{"also after a restart (N13)", func() { writes = s.countWrites() }, ill, field, 0, nil, 1},
		{"what fits is stored (R184)", func() { size, resolution = 8, "Optional" }, well, "", 8, nil, 1},
		{"what does not stays as it was (R184)", func() { size, resolution = 9, "Whatever" },
			ill, field, 8, []event.Reason{managed.ReasonCannotUpdateMR}, 2},
		{"another error shows, too (R185)", func() { failed = errors.New("out of order") },
			ill, "out of order; the schema", 8, []event.Reason{managed.ReasonExternalFailed, managed.ReasonExternalFailed}, 2},
		{"and that once (N13)", func() {}, ill, field, 8, nil, 1},
	} {
		t.Run(m.name, func(t *testing.T) {
			m.act()
			s.take(writes)
			after := s.pass()
			made, told := s.take(writes)
			if got := s.state(); got != m.state {
				t.Errorf("the user sees %s, want %s", got, m.state)
			}
			s.wantMessage(m.message)
			if strings.Contains(s.message(), "Whatever") {
				t.Errorf("the message shows the value: %s (R234)", s.message())
			}
			if got := s.thing().Status.AtProvider.Size; got != m.size || after < 50*time.Second && failed == nil {
				t.Errorf("the size in the status is %d, want %d; it comes back after %s", got, m.size, after)
			}
			if n := strings.Count(strings.Join(made, "\n"), "/status"); n != m.writes {
				t.Errorf("wrote %v, want %d writes of the status", made, m.writes)
			}
			if diff := cmp.Diff(m.told, told); diff != "" {
				t.Errorf("events -want +got:\n%s", diff)
			}
		})
	}
}

// What refuses the whole status, such as an admission policy, is an error like any other: nothing of it can be stored, and so
// there is nothing to tell again at each pass.
func TestStatusThatAPolicyRefuses(t *testing.T) {
	t.Parallel()
	const answer = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","code":422,"message":"denied request: no",
		"details":{"group":"test.bowline.dev","kind":"things","causes":[{"message":"no"}]}}`
	s := newStage(t, nil)
	s.pass()
	s.alter(func(mg *thing.Thing, o *managed.ExternalObservation) { mg.Status.AtProvider.Size = 7 })
	s.restart(fault.Intercept(s.env.Config, func(req *http.Request, next http.RoundTripper) (*http.Response, error) {
		if req.Method == http.MethodGet || !strings.HasSuffix(req.URL.Path, "/status") {
			return next.RoundTrip(req)
		}
		return &http.Response{StatusCode: http.StatusUnprocessableEntity, Header: http.Header{"Content-Type": {"application/json"}},
			Body: io.NopCloser(strings.NewReader(answer)), Request: req}, nil
	}))
	s.events.Take()
	for range 2 {
		if _, err := s.tryPass(); err == nil || !strings.Contains(err.Error(), "denied request: no") {
			t.Errorf("the pass ends with %v (R27)", err)
		}
		if told := s.events.Take(); len(told) > 0 {
			t.Errorf("told %v (N13)", told)
		}
	}
	s.restart(s.env.Config)
	s.pass()
	if got := s.thing().Status.AtProvider.Size; got != 7 || s.state() != "Ready=Available Synced=ReconcileSuccess" {
		t.Errorf("without the policy the size in the status is %d, the user sees %s (R184)", got, s.state())
	}
}
