// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/testkit/fault"
	"github.com/bowline-dev/bowline/internal/testkit/thing"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
)

// watchDefinitions counts the watches of definitions that the controllers of a street have open.
func (s *street) watchDefinitions() (open *atomic.Int32) {
	open = &atomic.Int32{}
	s.env.Config = fault.Intercept(s.env.Config, func(req *http.Request, next http.RoundTripper) (*http.Response, error) {
		resp, err := next.RoundTrip(req)
		if err == nil && strings.HasSuffix(req.URL.Path, "/customresourcedefinitions") && fault.IsWatch(req) {
			open.Add(1)
			fault.OnClose(resp, func() { open.Add(-1) })
		}
		return resp, err
	})
	return open
}

func (s *street) wantDefinitionsWatched(t *testing.T, by *atomic.Int32, want int32) {
	t.Helper()
	s.env.Eventually(t, fmt.Sprintf("%d watches of definitions", want), func(context.Context) error {
		if open := by.Load(); open != want {
			return fmt.Errorf("%d are open", open)
		}
		return nil
	})
}

// A kind that is not installed is no error that another attempt could heal: its arrival wakes who waits for it.
func TestNoAttemptsUntilKindIsInstalled(t *testing.T) {
	t.Parallel()
	t.Run("it is not tried again before (R167, N13)", func(t *testing.T) {
		t.Parallel()
		s := newStreet(t)
		var failures atomic.Int32
		s.controlLodgers(t, managed.WithBackoff(time.Millisecond, time.Millisecond), managed.WithRandom(func() float64 {
			failures.Add(1) // only what is tried again has a delay by chance
			return 0
		}))
		l := s.addLodger(t)
		s.sees(t, l, "install the provider of this kind")
		s.installHouses(t)
		s.sees(t, l, "does not exist yet")
		if n := failures.Load(); n > 0 {
			t.Errorf("it was tried again %d times", n)
		}
	})
}

// Nobody watches definitions for objects that do not wait any more.
func TestKindThatNobodyWaitsFor(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(*testing.T, *street, *lodger){
		"the object is gone (R167)": func(t *testing.T, s *street, l *lodger) { s.goes(t, l) },
		"the object refers to nothing (R167)": func(t *testing.T, s *street, l *lodger) {
			l.Spec.ForProvider.NeighbourRef = nil
			if err := s.env.Client.Update(t.Context(), l); err != nil {
				t.Fatal(err)
			}
			s.sees(t, l, string(xpv1.ReasonAvailable))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStreet(t)
			watches := s.watchDefinitions()
			s.controlLodgers(t)
			first, second := s.addLodger(t), &lodger{}
			s.add(t, second, &second.Thing, func(mg *thing.Thing) {
				refersTo(first.Name)(mg)
				mg.Name = s.env.Prefix + "second"
			})
			for _, l := range []*lodger{first, second} {
				s.sees(t, l, "install the provider of this kind")
			}
			s.wantDefinitionsWatched(t, watches, 1)
			leave(t, s, first)
			if open := watches.Load(); open != 1 {
				t.Errorf("another object waits, and %d watches are open", open)
			}
			leave(t, s, second)
			s.wantDefinitionsWatched(t, watches, 0)
		})
	}
}
