// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/bowline-dev/bowline/internal/testkit/thing"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
)

// A call in the background that ended is the call of its pass: while the vendor works on it, another one follows at the
// next poll, not at once.
func TestBackgroundDoesNotSpin(t *testing.T) {
	t.Parallel()
	for verb, act := range map[string]func(*stage){
		"Update": func(s *stage) {
			s.system.Do(func(sys *thing.System) { sys.Stubborn = true })
			s.edit(func(mg *thing.Thing) { mg.Spec.ForProvider.Size = 2 })
		},
		"Delete": func(s *stage) { s.system.Do(func(sys *thing.System) { sys.SlowDelete = true }); s.delete() },
	} {
		t.Run(verb+" (R55, R197, N8)", func(t *testing.T) {
			t.Parallel()
			s := newStage(t, nil, managed.WithBackgroundOperations(time.Minute))
			s.passUntil("Finished Success")
			act(s)
			s.system.TakeCalls()
			s.passUntil("Ongoing Success")
			s.passUntil("Finished Success")
			s.env.Eventually(t, "no call runs", func(context.Context) error {
				if n := s.system.Called(verb); n != 1 {
					return fmt.Errorf("called %d times", n)
				}
				return nil
			})
		})
	}
}

func TestOrphanWithoutProvider(t *testing.T) {
	t.Parallel()
	for _, finds := range []bool{false, true} {
		t.Run(fmt.Sprintf("a suspected leak whose provider is out of reach, findable %t (N31, N32)", finds), func(t *testing.T) {
			t.Parallel()
			s := vendorNamed(t, finds)
			s.annotate(meta.AnnotationKeyOrphanOnDelete, "true")
			s.delete()
			s.system.Fault = func(string) (error, error) { return errors.New("no credentials"), nil }
			s.pass()
			if got := s.state(); got != "gone" {
				t.Errorf("the user sees %s: %s", got, s.message())
			}
		})
	}
}
