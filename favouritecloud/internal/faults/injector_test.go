// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bowline-dev/bowline/favouritecloud/internal/refusal"
	"github.com/bowline-dev/bowline/favouritecloud/sdk"
)

func set(t *testing.T, i *Injector, rules ...sdk.FaultRule) {
	t.Helper()
	if err := i.Set(rules); err != nil {
		t.Fatal(err)
	}
}

func TestMatch(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		match *sdk.FaultMatch
		call  Call
		want  bool
	}{
		"all":           {nil, Call{Method: "GET", Service: "networks"}, true},
		"empty":         {&sdk.FaultMatch{}, Call{Method: "GET", Service: "networks"}, true},
		"method":        {&sdk.FaultMatch{Method: "GET"}, Call{Method: "GET", Service: "networks"}, true},
		"other method":  {&sdk.FaultMatch{Method: "POST"}, Call{Method: "GET", Service: "networks"}, false},
		"service":       {&sdk.FaultMatch{Service: "networks"}, Call{Method: "GET", Service: "networks"}, true},
		"other service": {&sdk.FaultMatch{Service: "subnets"}, Call{Method: "GET", Service: "networks"}, false},
		"half":          {&sdk.FaultMatch{Method: "GET", Service: "subnets"}, Call{Method: "GET", Service: "networks"}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := New()
			set(t, i, sdk.FaultRule{Latency: "1s", Match: tc.match})
			if got := i.Judge(tc.call).Latency == time.Second; got != tc.want {
				t.Errorf("matches: %t", got)
			}
		})
	}
}

func TestBucketFillsWithTime(t *testing.T) {
	t.Parallel()
	now := time.Unix(0, 0)
	i := newInjector(func() time.Time { return now })
	set(t, i, sdk.FaultRule{CallsPerSecond: 2, Burst: 3, PerProject: true})
	allowed := func(project string) (n int) {
		for i.Judge(Call{Method: "GET", Project: project}).Refusal == nil {
			n++
		}
		return n
	}
	steps := []struct {
		project string
		later   time.Duration
		want    int
	}{
		{"a", 0, 3}, {"a", 0, 0}, {"b", 0, 3}, {"a", 400 * time.Millisecond, 0}, {"a", 100 * time.Millisecond, 1},
		{"a", time.Second, 2}, {"a", time.Hour, 3}, {"b", 0, 3},
	}
	for n, step := range steps {
		now = now.Add(step.later)
		if got := allowed(step.project); got != step.want {
			t.Errorf("step %d: %d calls are allowed, want %d", n, got, step.want)
		}
	}
	refused, ok := errors.AsType[*refusal.Error](i.Judge(Call{Project: "a"}).Refusal)
	if !ok || refused.Status != 429 || refused.RetryAfter != 500*time.Millisecond {
		t.Errorf("refused with %+v", refused)
	}
}

func TestSeedDecides(t *testing.T) {
	t.Parallel()
	// dropped returns which of the writes to one of two services are dropped.
	dropped := func(rules ...sdk.FaultRule) (marks string) {
		i := New()
		set(t, i, rules...)
		for range 60 {
			i.Judge(Call{Method: "GET", Service: "networks"}) // Reads are no candidates.
			i.Judge(Call{Method: "POST", Service: "subnets"})
			if i.Judge(Call{Method: "POST", Service: "networks"}).Drop {
				marks += "x"
			} else {
				marks += "."
			}
		}
		return marks
	}
	first := dropped(sdk.FaultRule{DropRate: 0.2, Seed: 4})
	throttled := sdk.FaultRule{CallsPerSecond: 1e-9, Burst: 5, Match: &sdk.FaultMatch{Service: "subnets"}}
	cases := map[string]struct {
		rules []sdk.FaultRule
		same  bool
	}{
		"the same":                        {[]sdk.FaultRule{{DropRate: 0.2, Seed: 4}}, true},
		"another seed":                    {[]sdk.FaultRule{{DropRate: 0.2, Seed: 5}}, false},
		"others are throttled":            {[]sdk.FaultRule{{DropRate: 0.2, Seed: 4}, throttled}, true},
		"never":                           {[]sdk.FaultRule{{DropRate: 0, Seed: 4}}, false},
		"only some are candidates":        {[]sdk.FaultRule{{DropRate: 0.2, Seed: 4, Match: &sdk.FaultMatch{Service: "networks"}}}, false},
		"other rules draw for themselves": {[]sdk.FaultRule{{DropRate: 0.2, Seed: 4}, {ErrorRate: 0.5, Seed: 4, Match: &sdk.FaultMatch{Service: "subnets"}}}, true},
	}
	for name, tc := range cases {
		if got := dropped(tc.rules...); (got == first) != tc.same || !strings.Contains(first, "x") {
			t.Errorf("%s: same %t\n%s\n%s", name, got == first, first, got)
		}
	}
}

func TestFaultsAddUp(t *testing.T) {
	t.Parallel()
	i := New()
	set(t, i, sdk.FaultRule{Latency: "1s", StaleReads: "3s"}, sdk.FaultRule{Latency: "500ms", StaleReads: "2s", DropRate: 1},
		sdk.FaultRule{ErrorRate: 1, ErrorStatus: 429}, sdk.FaultRule{ErrorRate: 1})
	v := i.Judge(Call{Method: "POST"})
	refused, _ := errors.AsType[*refusal.Error](v.Refusal)
	if v.Latency != 1500*time.Millisecond || v.StaleReads != 3*time.Second || refused == nil || refused.Status != 429 || v.Outcome != sdk.OutcomeError {
		t.Errorf("verdict %+v", v)
	}
}

func TestRulesAreChecked(t *testing.T) {
	t.Parallel()
	i := New()
	good := sdk.FaultRule{Latency: "1s"}
	set(t, i, good)
	cases := map[string]struct {
		rule sdk.FaultRule
		want string
	}{
		"no duration":    {sdk.FaultRule{Latency: "soon"}, `latency "soon" is not a duration such as "200ms"`},
		"past":           {sdk.FaultRule{StaleReads: "-1s"}, "stale_reads"},
		"for ever":       {sdk.FaultRule{Latency: "1m"}, "more than 20s"},
		"error rate":     {sdk.FaultRule{ErrorRate: 1.1}, "error_rate 1.1 is not between 0 and 1"},
		"drop rate":      {sdk.FaultRule{DropRate: -0.1}, "drop_rate -0.1"},
		"status":         {sdk.FaultRule{ErrorRate: 1, ErrorStatus: 404}, "error_status 404"},
		"calls":          {sdk.FaultRule{CallsPerSecond: -1}, "negative"},
		"burst":          {sdk.FaultRule{CallsPerSecond: 1, Burst: -1}, "negative"},
		"burst of zilch": {sdk.FaultRule{Burst: 5}, "calls_per_second"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := i.Set([]sdk.FaultRule{good, tc.rule})
			if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.HasPrefix(err.Error(), "rule 2: ") {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
	if diff := cmp.Diff([]sdk.FaultRule{good}, i.Rules()); diff != "" {
		t.Errorf("rules that were refused are kept, -want +got:\n%s", diff)
	}
}
