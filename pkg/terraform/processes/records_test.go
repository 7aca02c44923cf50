// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package processes

import (
	"errors"
	"testing"
	"time"

	"github.com/bowline-dev/bowline/pkg/clients/limits"
	"github.com/bowline-dev/bowline/pkg/failure"
)

// A process that keeps ending, or that cannot be started, is started again after longer and longer pauses, unless something changes.
func TestPauses(t *testing.T) {
	t.Parallel()
	key, refused := limits.Key{Kind: "ProviderConfig", Name: "default"}, failure.New(failure.InvalidSettings, "no such region")
	ends := func(lived time.Duration) func(*processes, time.Time) time.Time {
		return func(p *processes, now time.Time) time.Time {
			of := &Process{life: &life{}}
			p.started(key, of, nil, now)
			p.ended(key, of, now.Add(lived))
			return now.Add(lived)
		}
	}
	fails := func(p *processes, now time.Time) time.Time {
		p.started(key, nil, refused, now)
		return now
	}
	type step = func(*processes, time.Time) time.Time
	soon, late := ends(time.Minute), ends(steady)
	for name, tc := range map[string]struct {
		steps    []step
		pause    time.Duration
		err      error
		state    State
		restarts int
		unsteady bool
	}{
		"one end":                        {steps: []step{soon}, state: Ended},
		"two":                            {steps: []step{soon, soon}, state: Ended, restarts: 1},
		"three":                          {steps: []step{soon, soon, soon}, pause: time.Second, err: errKeepsEnding, state: KeepsEnding, restarts: 2, unsteady: true},
		"five":                           {steps: []step{soon, soon, soon, soon, soon}, pause: 4 * time.Second, err: errKeepsEnding, state: KeepsEnding, restarts: 4, unsteady: true},
		"far apart":                      {steps: []step{late, late, late, late}, state: Ended, restarts: 3},
		"the longest pause":              {steps: []step{soon, soon, soon, soon, soon, soon, soon, soon, soon, soon, soon, soon}, pause: time.Minute, err: errKeepsEnding, state: KeepsEnding, restarts: 11, unsteady: true},
		"one that cannot start":          {steps: []step{fails, fails}, state: CannotStart},
		"it cannot for a while":          {steps: []step{fails, fails, fails}, pause: time.Second, err: refused, state: CannotStart},
		"it can at last, and ends":       {steps: []step{fails, fails, fails, soon}, state: Ended},
		"it ends, and cannot start then": {steps: []step{soon, fails, fails}, pause: time.Second, err: refused, state: CannotStart},
	} {
		t.Run(name, func(t *testing.T) {
			p, now := &processes{}, time.Now()
			for _, s := range tc.steps {
				_ = p.admit(key, origin{}, now)
				now = s(p, now)
			}
			if err := p.admit(key, origin{}, now.Add(tc.pause-1)); tc.pause > 0 && !errors.Is(err, tc.err) {
				t.Errorf("before the pause of %s ends: %v, want %v", tc.pause, err, tc.err)
			}
			if err := p.admit(key, origin{}, now.Add(tc.pause)); err != nil {
				t.Errorf("after it: %v", err)
			}
			all, restarts := p.all(now)
			if len(all) != 1 || all[0].State != tc.state || all[0].Restarts != tc.restarts || restarts != tc.restarts || all[0].Unsteady != tc.unsteady {
				t.Errorf("it has %+v", all)
			}
			if err := p.admit(key, origin{version: limits.Version{1}}, now); err != nil {
				t.Errorf("another configuration waits, too: %v", err)
			}
		})
	}
}

// Only the last process of a configuration counts, and none that nothing uses any more.
func TestForgottenProcesses(t *testing.T) {
	t.Parallel()
	key, now := limits.Key{Name: "default"}, time.Now()
	grown := &Process{life: &life{grown: true}}
	first, second, cannot := &Process{life: &life{}}, &Process{life: &life{}}, errors.New("no")
	for name, tc := range map[string]struct {
		act   func(*processes)
		after time.Duration
		want  int
	}{
		"a replaced one is closed": {func(p *processes) {
			p.started(key, second, nil, now)
			p.closed(key, first, now)
			p.ended(key, second, now)
		}, 0, 1},
		"the last one is closed":              {func(p *processes) { p.closed(key, first, now) }, 0, 0},
		"one that ended is closed":            {func(p *processes) { p.ended(key, first, now); p.closed(key, first, now) }, closing + 1, 0},
		"it is being replaced":                {func(p *processes) { p.ended(key, first, now); p.closed(key, first, now) }, closing, 1},
		"one that has grown is closed":        {func(p *processes) { p.started(key, grown, nil, now); p.closed(key, grown, now) }, closing, 1},
		"and nothing replaces it":             {func(p *processes) { p.started(key, grown, nil, now); p.closed(key, grown, now) }, closing + 1, 0},
		"one is closed while the next starts": {func(p *processes) { p.closed(key, first, now); p.started(key, nil, cannot, now) }, closing + 1, 1},
		"a closed one ends":                   {func(p *processes) { p.closed(key, first, now); p.ended(key, first, now) }, 0, 0},
		"the next one cannot start":           {func(p *processes) { p.started(key, nil, cannot, now); p.closed(key, first, now) }, forgotten, 1},
		"and nothing tries any more":          {func(p *processes) { p.started(key, nil, cannot, now) }, forgotten + 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			p := &processes{}
			_ = p.admit(key, origin{}, now)
			p.started(key, first, nil, now)
			tc.act(p)
			if all, _ := p.all(now.Add(tc.after)); len(all) != tc.want {
				t.Errorf("there are %+v", all)
			}
		})
	}
}

// A process that replaces one that has grown is no news.
func TestGrownProcess(t *testing.T) {
	t.Parallel()
	key, began := limits.Key{Name: "default"}, time.Now()
	for name, tc := range map[string]struct {
		grown, closed bool
		want          time.Duration // when it was started
		news          bool
	}{
		"one that has grown, still in use": {grown: true},
		"one that has grown":               {grown: true, closed: true},
		"another in use":                   {want: time.Second, news: true},
		"another":                          {closed: true, want: time.Second, news: true},
	} {
		t.Run(name, func(t *testing.T) {
			p, first := &processes{}, &Process{life: &life{grown: tc.grown}}
			p.started(key, first, nil, began)
			if tc.closed && p.closed(key, first, began) == tc.grown {
				t.Errorf("the end of the first is news: %t", !tc.grown)
			}
			_ = p.admit(key, origin{}, began.Add(time.Second))
			news, restarted := p.started(key, &Process{life: &life{}}, nil, began.Add(time.Second))
			if !tc.closed && p.closed(key, first, began.Add(2*time.Second)) {
				t.Error("the end of the first is news after the start of the next")
			}
			got := p.of(key).Status
			if want := (Status{Config: key, State: Running, Started: began.Add(tc.want)}); news != tc.news || restarted || got != want {
				t.Errorf("news %t, restarted %t, and it has %+v, want %+v", news, restarted, got, want)
			}
		})
	}
}
