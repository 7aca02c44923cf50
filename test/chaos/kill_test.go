// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package chaos kills the whole of Bowline at random moments and checks that nothing is lost, doubled or left behind.
//
// TestKills waits until all is well after each kill; BOWLINE_KILLS sets how many (default 12; `make chaos` does 200).
// TestStorm does not wait, has many objects and a cloud that misbehaves; TestClaims_N11_R268 has many claims and two providers.
// BOWLINE_SEED repeats a run.
package chaos

import (
	"context"
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	databasev1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/database/v1alpha3"
	"github.com/bowline-dev/bowline/test/plane"
)

// settleTime bounds how long the plane may take to finish what a kill interrupted.
const settleTime = 90 * time.Second

// longestLife is the longest time between the beginning of an operation and the kill: a little more than an operation
// takes undisturbed, so that kills fall before, into and after it.
const longestLife = 2500 * time.Millisecond

func TestKills(t *testing.T) {
	t.Parallel()
	kills := plane.Setting(t, "BOWLINE_KILLS", 12)
	w := &world{run: newRun(t), databases: map[string]int{}}
	p := w.p
	p.Connect(t, "default", p.NewKey(t, plane.Project))
	for i := range int(kills) {
		what := w.start()
		uptime := time.Duration(w.random.Int64N(int64(longestLife)))
		<-time.After(uptime)
		p.Kill(t)
		t.Logf("kill %d: %s, killed after %s; ready again after %s", i+1, what, uptime.Round(time.Millisecond), p.Up(t).Round(time.Millisecond))
		w.check()
		if t.Failed() {
			t.FailNow()
		}
	}
	w.removeAll()
}

// A world is the expected state.
type world struct {
	run

	databases map[string]int // fanciness by name
	deleted   string
	created   int
}

const most = 3 // databases at a time

// start starts a random possible operation, and returns its description.
func (w *world) start() string {
	w.t.Helper()
	w.deleted = ""
	choice := w.random.IntN(3)
	switch {
	case len(w.databases) == 0 || choice == 0 && len(w.databases) < most:
		w.created++
		name, level := fmt.Sprintf("db-%d", w.created), 10+w.random.IntN(90)
		w.databases[name] = level
		w.p.Create(w.t, plane.Database(name, level))
		return "create " + name
	case choice == 1:
		name, level := w.pick(), 10+w.random.IntN(90)
		w.databases[name] = level
		patch := fmt.Appendf(nil, `{"spec":{"forProvider":{"fancinessLevel":%d}}}`, level)
		w.do(w.p.Client.Patch(w.t.Context(), plane.Database(name, 0), client.RawPatch(types.MergePatchType, patch)))
		return "update " + name
	default:
		w.deleted = w.pick()
		delete(w.databases, w.deleted)
		w.do(w.p.Client.Delete(w.t.Context(), plane.Database(w.deleted, 0)))
		return "delete " + w.deleted
	}
}

func (w *world) pick() string {
	names := make([]string, 0, len(w.databases))
	for i := range w.created {
		if name := fmt.Sprintf("db-%d", i+1); w.databases[name] != 0 {
			names = append(names, name)
		}
	}
	return names[w.random.IntN(len(names))]
}

// check waits until all is as it should be: every database works with the password of its Secret, what was deleted is
// gone, and there is exactly one server for each object.
func (w *world) check() {
	w.t.Helper()
	w.p.Eventually(w.t, settleTime, "everything is as declared", func(ctx context.Context) error {
		for name := range w.databases {
			if err := w.p.Works(ctx, name); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		if w.deleted != "" {
			if err := w.p.Gone(ctx, w.deleted); err != nil {
				return err
			}
		}
		list := &databasev1alpha3.FavouriteDBInstanceList{}
		if err := w.p.Client.List(ctx, list); err != nil {
			return err
		}
		if servers := w.p.Servers(w.t); len(list.Items) != len(w.databases) || len(servers) != len(w.databases) {
			return fmt.Errorf("%d objects and servers %v, want %d each", len(list.Items), servers, len(w.databases))
		}
		return nil
	})
}

func (w *world) removeAll() {
	for name := range w.databases {
		w.do(w.p.Client.Delete(w.t.Context(), plane.Database(name, 0)))
	}
	clear(w.databases)
	w.check()
}
