// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"time"

	"golang.org/x/time/rate"

	"github.com/bowline-dev/bowline/favouritecloud/internal/refusal"
	"github.com/bowline-dev/bowline/favouritecloud/sdk"
)

const (
	// maxLatency is below the write timeout of the HTTP server.
	maxLatency = 20 * time.Second
	// maxWait is the largest Retry-After of a throttled call.
	maxWait = time.Hour
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

// judge adds the faults of the rule to the verdict. It draws the same random numbers for every verdict, so that faults that depend
// on the time do not change those that depend on the seed.
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
	switch r.ErrorStatus {
	case http.StatusTooManyRequests:
		return refusal.Throttled(time.Second, "injected fault")
	case 0:
		return refusal.Unavailable(http.StatusServiceUnavailable, "injected fault")
	default:
		return refusal.Unavailable(r.ErrorStatus, "injected fault")
	}
}

// wait takes a token of the rule's rate limit, or returns the time until the next one.
func (r *rule) wait(project string, now time.Time) time.Duration {
	if !r.PerProject {
		project = ""
	}
	limiter, ok := r.limiters[project]
	if !ok {
		burst := r.Burst
		if burst == 0 {
			burst = int(max(1, math.Ceil(r.CallsPerSecond)))
		}
		limiter = rate.NewLimiter(rate.Limit(r.CallsPerSecond), burst)
		r.limiters[project] = limiter
	}
	reservation := limiter.ReserveN(now, 1)
	wait := reservation.DelayFrom(now)
	if wait > 0 {
		reservation.CancelAt(now)
	}
	return min(wait, maxWait)
}
