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

// Call is the input of rules.
type Call struct {
	// Method is the HTTP method, Service the word after the project in the path.
	Method, Service string
	// Project is the project that the call is about.
	Project string
}

func (c Call) writes() bool {
	return slices.Contains([]string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}, c.Method)
}

// Verdict has the faults of a call. The zero value has none.
type Verdict struct {
	// Latency delays the call before anything else.
	Latency time.Duration
	// Refusal is the answer if the call is not executed; nil for none.
	Refusal error
	// Outcome is how the refusal or the drop is counted.
	Outcome string
	// Drop closes the connection without an answer after the call was executed.
	Drop bool
	// StaleReads is the age up to which objects are not found.
	StaleReads time.Duration
}

// Injector holds the rules and the counts. It is safe for concurrent use.
type Injector struct {
	now func() time.Time

	mu    sync.Mutex
	rules []*rule
	calls map[sdk.CallCount]int // by all fields except Count
}

// New returns an injector without rules.
func New() *Injector { return newInjector(time.Now) }

func newInjector(now func() time.Time) *Injector {
	return &Injector{now: now, calls: map[sdk.CallCount]int{}}
}

// Set replaces all rules. If one is invalid, it changes nothing.
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

// Rules returns the current rules.
func (i *Injector) Rules() []sdk.FaultRule {
	i.mu.Lock()
	defer i.mu.Unlock()
	given := []sdk.FaultRule{} // An empty list, not null.
	for _, r := range i.rules {
		given = append(given, r.FaultRule)
	}
	return given
}

// Judge returns the faults of the next call. Seeds refer to the order of calls of Judge.
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

// Count counts a completed call.
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

// ResetStats sets all counts to zero.
func (i *Injector) ResetStats() {
	i.mu.Lock()
	defer i.mu.Unlock()
	clear(i.calls)
}
