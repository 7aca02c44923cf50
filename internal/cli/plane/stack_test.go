// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// recorder makes services that record the order in which they end.
type recorder struct{ ended []string }

func (r *recorder) service(name string) Service {
	return Service{Name: name, Run: func(ctx context.Context) error {
		<-ctx.Done()
		r.ended = append(r.ended, name) // stop waits for one after the other
		return nil
	}}
}

func failing(name string, err error) Service {
	return Service{Name: name, ListenFlag: "--listen", Ready: make(chan struct{}), Run: func(context.Context) error { return err }}
}

func TestStackStopsInReverse(t *testing.T) {
	var r recorder
	s := newStack()
	for _, name := range []string{"server", "cloud", "controllers"} {
		if err := s.Start(t.Context(), r.service(name)); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.wait(ctx); err != nil {
		t.Errorf("being asked to stop is no failure: %v", err)
	}
	if err := s.stop(); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"controllers", "cloud", "server"}, r.ended); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestStackFailures(t *testing.T) {
	broken := errors.New("broken")
	cases := map[string]struct {
		reason string
		svc    Service
		want   string // a part of the error
	}{
		"Failed":       {"The cause must be seen.", failing("cloud", broken), "running cloud: broken"},
		"Ended":        {"A service that ends without an error is a failure too.", failing("cloud", nil), "cloud ended unexpectedly"},
		"AddressTaken": {"The flag to change must be named.", failing("cloud", syscall.EADDRINUSE), "(the flag is --listen)"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var r recorder
			s := newStack()
			if err := s.Start(t.Context(), r.service("server")); err != nil {
				t.Fatal(err)
			}
			if err := s.Start(t.Context(), tc.svc); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s Got: %v", tc.reason, err)
			}
			if err := s.stop(); err != nil {
				t.Errorf("stopping: %v", err)
			}
			if diff := cmp.Diff([]string{"server"}, r.ended); diff != "" {
				t.Errorf("the others must be stopped: -want +got:\n%s", diff)
			}
		})
	}
}

func TestRunInterruptedStart(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	err := Run(ctx, func(ctx context.Context, s *Stack) error {
		cancel()
		return s.Start(ctx, Service{Name: "server", Ready: make(chan struct{}), Run: func(ctx context.Context) error {
			<-ctx.Done()
			return nil
		}})
	}, func() error { return errors.New("cleaned up what never started") })
	if err != nil {
		t.Errorf("Ctrl-C during the start is no failure: %v", err)
	}
}
