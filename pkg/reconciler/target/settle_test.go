// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package target_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/testkit/fault"
	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/reconciler/target"
)

// A pass that fails is told as far as that is for the team, and tried again.
func TestFailure(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.connected(nil)
	s.restart(fault.Intercept(s.env.Config, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		if strings.HasSuffix(r.URL.Path, "/hidden-source") {
			return nil, errors.New("the line is cut")
		}
		return next.RoundTrip(r)
	}))
	t.Run("it keeps what it has, and tells once, without names of what is the platform's (R301, N13)", func(t *testing.T) {
		for range 2 {
			if _, err := s.tryPass(); err == nil {
				t.Error("the queue is told of no error")
			}
		}
		have := s.target()
		ready, synced := have.GetCondition(xpv1.TypeReady), have.GetCondition(xpv1.TypeSynced)
		if ready.Reason != xpv1.ReasonAvailable || synced.Reason != xpv1.ReasonReconcileError || s.secret("kube") == nil {
			t.Errorf("Ready is %s, Synced %s, and a copy: %t", ready.Reason, synced.Reason, s.secret("kube") != nil)
		}
		if failed := xpv1.FailureOf(have); failed != (xpv1.CurrentFailure{Reason: failure.InternalError, Message: synced.Message}) {
			t.Errorf("the failure is %+v", failed)
		}
		if says := "reading the connection details of the managed resource failed"; !strings.Contains(synced.Message, says) ||
			strings.Contains(synced.Message, "hidden") {
			t.Errorf("the team is told %q", synced.Message)
		}
		if diff := cmp.Diff([]event.Reason{target.ReasonCannotConnect}, s.events.Take()); diff != "" {
			t.Errorf("events: -want +got:\n%s", diff)
		}
	})
	t.Run("it goes on when it can (R301)", func(t *testing.T) {
		s.restart(s.env.Config)
		s.pass()
		s.wantState(xpv1.ReasonAvailable)
	})
}
