// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"cmp"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/bowline-dev/bowline/favouritecloud/internal/refusal"
	"github.com/bowline-dev/bowline/favouritecloud/sdk"
)

// Call is what rules look at.
type Call struct {
	// Method is the HTTP method, Service the word after the project in the path.
	Method, Service string
	// Project is the project that the call is about.
	Project string
}

func (c Call) writes() bool {
	return slices.Contains([]string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}, c.Method)
}

// Verdict is what happens to a call. The zero value is nothing.
type Verdict struct {
	// Latency passes before anything else.
	Latency time.Duration
	// Refusal is the answer instead of the work, and Outcome its name in the statistics; nil for none.
	Refusal error
	// Outcome is what the refusal or the drop counts as.
	Outcome string
	// Drop closes the connection after the work.
	Drop bool
	// StaleReads is the age up to which objects are not seen.
	StaleReads time.Duration
}

// Injector holds the rules and the counts. It is safe for concurrent use.
type Injector struct {
	now func() time.Time

	mu    sync.Mutex
	rules []*rule
	calls map[sdk.CallCount]int // by all but the count
}

// New returns an injector without rules.
func New() *Injector { return newInjector(time.Now) }

func newInjector(now func() time.Time) *Injector {
	return &Injector{now: now, calls: map[sdk.CallCount]int{}}
}

// Set replaces the rules, or refuses them all.
func (i *Injector) Set(given []sdk.FaultRule) error {
	var rules []*rule
	for n, r := range given {
		parsed, err := parseRule(r)
		if err != nil {
			return refusal.Invalid("rule %d: %v", n+1, err)
		}
		parsed.random = rand.New(rand.NewPCG(r.Seed, uint64(n)))
		rules = append(rules, parsed)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.rules = rules
	return nil
}

// Rules returns the rules as they were given.
func (i *Injector) Rules() []sdk.FaultRule {
	i.mu.Lock()
	defer i.mu.Unlock()
	given := []sdk.FaultRule{} // An empty list, not null.
	for _, r := range i.rules {
		given = append(given, r.FaultRule)
	}
	return given
}

// Judge decides what happens to a call. The order of calls of Judge is the order of calls that the seeds are about.
func (i *Injector) Judge(c Call) Verdict {
	i.mu.Lock()
	defer i.mu.Unlock()
	var v Verdict
	for _, r := range i.rules {
		if r.matches(c) {
			r.judge(c, i.now(), &v)
		}
	}
	return v
}

// Count counts a call that ended.
func (i *Injector) Count(c Call, outcome string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.calls[sdk.CallCount{Method: c.Method, Service: c.Service, Outcome: outcome}]++
}

// Stats returns the counts.
func (i *Injector) Stats() sdk.Stats {
	i.mu.Lock()
	defer i.mu.Unlock()
	s := sdk.Stats{Calls: []sdk.CallCount{}} // An empty list, not null.
	for c, n := range i.calls {
		c.Count = n
		s.Calls = append(s.Calls, c)
	}
	slices.SortFunc(s.Calls, func(a, b sdk.CallCount) int {
		return cmp.Or(cmp.Compare(a.Service, b.Service), cmp.Compare(a.Method, b.Method), cmp.Compare(a.Outcome, b.Outcome))
	})
	return s
}

// ResetStats counts from zero.
func (i *Injector) ResetStats() {
	i.mu.Lock()
	defer i.mu.Unlock()
	clear(i.calls)
}
