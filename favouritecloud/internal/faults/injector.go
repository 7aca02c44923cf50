// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package faults selects the faults of calls by the rules of an administrator and a seeded generator, and counts calls. Package
// httpapi injects the faults. The same calls in the same order get the same ones.
package faults

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/bowline-dev/bowline/favouritecloud/internal/refusal"
	"github.com/bowline-dev/bowline/favouritecloud/sdk"
)

// Call is the input of rules.
type Call struct {
	Method, Service string // Method is the HTTP method, Service the word after the project in the path
	Project         string // the project that the call is about
}

func (c Call) writes() bool {
	return slices.Contains([]string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}, c.Method)
}

// Verdict has the faults of a call. The zero value has none.
type Verdict struct {
	Latency    time.Duration // delays the call before anything else
	Refusal    error         // the answer if the call is not executed; nil for none
	Outcome    string        // how the refusal or the drop is counted
	Drop       bool          // closes the connection without an answer after the call was executed
	StaleReads time.Duration // the age up to which objects are not found
}

// Injector holds the rules and the counts. It is safe for concurrent use.
type Injector struct {
	mu    sync.Mutex
	rules []*rule
	calls map[sdk.CallCount]int // by all fields except Count
}

// New returns an injector without rules.
func New() *Injector { return &Injector{calls: map[sdk.CallCount]int{}} }

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
			r.judge(c, time.Now(), &v)
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

const (
	maxLatency = 20 * time.Second // below the write timeout of the HTTP server
	maxWait    = time.Hour        // the largest Retry-After of a throttled call
)

// rule is a rule with its state.
type rule struct {
	sdk.FaultRule
	latency, staleReads time.Duration
	random              *rand.Rand
	limiters            map[string]*rate.Limiter // by project, or one by the empty name
}

func parseRule(given sdk.FaultRule) (*rule, error) {
	r := &rule{FaultRule: given, limiters: map[string]*rate.Limiter{}}
	var err error
	if r.latency, err = parseDuration("latency", given.Latency); err != nil {
		return nil, err
	}
	if r.staleReads, err = parseDuration("stale_reads", given.StaleReads); err != nil {
		return nil, err
	}
	status := given.ErrorStatus
	switch {
	case r.latency > maxLatency:
		return nil, fmt.Errorf("latency %s is more than %s", r.latency, maxLatency)
	case given.ErrorRate < 0 || given.ErrorRate > 1:
		return nil, fmt.Errorf("error_rate %v is not between 0 and 1", given.ErrorRate)
	case given.DropRate < 0 || given.DropRate > 1:
		return nil, fmt.Errorf("drop_rate %v is not between 0 and 1", given.DropRate)
	case status != 0 && status != http.StatusTooManyRequests && (status < 500 || status > 599):
		return nil, fmt.Errorf("error_status %d is not 429 or 500 to 599", status)
	case given.CallsPerSecond < 0 || given.Burst < 0:
		return nil, fmt.Errorf("calls_per_second %v and burst %d must not be negative", given.CallsPerSecond, given.Burst)
	case given.CallsPerSecond == 0 && (given.Burst > 0 || given.PerProject):
		return nil, errors.New("burst and per_project need calls_per_second")
	}
	return r, nil
}

func parseDuration(field, text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("%s %q is not a duration such as \"200ms\"", field, text)
	}
	return d, nil
}

func (r *rule) matches(c Call) bool {
	m := r.Match
	return m == nil || (m.Method == "" || m.Method == c.Method) && (m.Service == "" || m.Service == c.Service)
}

// judge adds the faults of the rule to the verdict. It always draws, so that faults by time do not change those by the seed.
func (r *rule) judge(c Call, now time.Time, v *Verdict) {
	fails := r.ErrorRate > 0 && r.random.Float64() < r.ErrorRate
	drops := r.DropRate > 0 && c.writes() && r.random.Float64() < r.DropRate
	v.Latency += r.latency
	v.StaleReads = max(v.StaleReads, r.staleReads)
	if r.CallsPerSecond > 0 {
		if wait := r.wait(c.Project, now); wait > 0 && v.Refusal == nil {
			v.Refusal = refusal.Throttled(wait, "more than %v calls per second", r.CallsPerSecond)
			v.Outcome = sdk.OutcomeThrottled
		}
	}
	if fails && v.Refusal == nil {
		v.Refusal, v.Outcome = r.failure(), sdk.OutcomeError
	}
	if drops && v.Refusal == nil {
		v.Drop, v.Outcome = true, sdk.OutcomeDropped
	}
}

func (r *rule) failure() error {
	if r.ErrorStatus == http.StatusTooManyRequests {
		return refusal.Throttled(time.Second, "injected fault")
	}
	return refusal.New(cmp.Or(r.ErrorStatus, http.StatusServiceUnavailable), sdk.CodeInternal, "injected fault")
}

// wait takes a token of the rule's rate limit, or returns the time until the next one.
func (r *rule) wait(project string, now time.Time) time.Duration {
	if !r.PerProject {
		project = ""
	}
	limiter, ok := r.limiters[project]
	if !ok {
		limiter = rate.NewLimiter(rate.Limit(r.CallsPerSecond), cmp.Or(r.Burst, int(max(1, math.Ceil(r.CallsPerSecond)))))
		r.limiters[project] = limiter
	}
	reservation := limiter.ReserveN(now, 1)
	wait := reservation.DelayFrom(now)
	if wait > 0 {
		reservation.CancelAt(now)
	}
	return min(wait, maxWait)
}
