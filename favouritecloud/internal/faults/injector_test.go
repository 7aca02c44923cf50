// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
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
	call := Call{Method: "GET", Service: "networks"}
	for match, want := range map[sdk.FaultMatch]bool{
		{}: true, {Method: "GET"}: true, {Method: "POST"}: false, {Service: "networks"}: true, {Service: "subnets"}: false,
		{Method: "GET", Service: "subnets"}: false, {Method: "GET", Service: "networks"}: true,
	} {
		i := New()
		set(t, i, sdk.FaultRule{Latency: "1s", Match: &match}, sdk.FaultRule{Latency: "2s"})
		if got := i.Judge(call).Latency == 3*time.Second; got != want {
			t.Errorf("%+v matches: %t", match, got)
		}
	}
}

func TestBucketFillsWithTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		i := New()
		set(t, i, sdk.FaultRule{CallsPerSecond: 2, Burst: 3, PerProject: true})
		steps := []struct {
			project string
			later   time.Duration
			want    int
		}{
			{"a", 0, 3}, {"a", 0, 0}, {"b", 0, 3}, {"a", 400 * time.Millisecond, 0}, {"a", 100 * time.Millisecond, 1},
			{"a", time.Second, 2}, {"a", time.Hour, 3}, {"b", 0, 3},
		}
		for n, step := range steps {
			time.Sleep(step.later)
			allowed := 0
			for i.Judge(Call{Method: "GET", Project: step.project}).Refusal == nil {
				allowed++
			}
			if allowed != step.want {
				t.Errorf("step %d: %d calls are allowed, want %d", n, allowed, step.want)
			}
		}
		refused, ok := errors.AsType[*refusal.Error](i.Judge(Call{Project: "a"}).Refusal)
		if !ok || refused.Status != 429 || refused.RetryAfter != 500*time.Millisecond {
			t.Errorf("refused with %+v", refused)
		}
	})
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
	networks, subnets := &sdk.FaultMatch{Service: "networks"}, &sdk.FaultMatch{Service: "subnets"}
	cases := map[string]struct {
		rules []sdk.FaultRule
		same  bool
	}{
		"the same":                        {[]sdk.FaultRule{{DropRate: 0.2, Seed: 4}}, true},
		"another seed":                    {[]sdk.FaultRule{{DropRate: 0.2, Seed: 5}}, false},
		"others are throttled":            {[]sdk.FaultRule{{DropRate: 0.2, Seed: 4}, throttled}, true},
		"never":                           {[]sdk.FaultRule{{DropRate: 0, Seed: 4}}, false},
		"only some are candidates":        {[]sdk.FaultRule{{DropRate: 0.2, Seed: 4, Match: networks}}, false},
		"other rules draw for themselves": {[]sdk.FaultRule{{DropRate: 0.2, Seed: 4}, {ErrorRate: 0.5, Seed: 4, Match: subnets}}, true},
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
	if v.Latency != 1500*time.Millisecond || v.StaleReads != 3*time.Second || v.Outcome != sdk.OutcomeError ||
		refused == nil || refused.Status != 429 {
		t.Errorf("verdict %+v", v)
	}
}

func TestRulesAreChecked(t *testing.T) {
	t.Parallel()
	i := New()
	good := sdk.FaultRule{Latency: "1s"}
	set(t, i, good)
	for want, rule := range map[string]sdk.FaultRule{
		`latency "soon" is not a duration such as "200ms"`: {Latency: "soon"},
		"stale_reads":                           {StaleReads: "-1s"},
		"more than 20s":                         {Latency: "1m"},
		"error_rate 1.1 is not between 0 and 1": {ErrorRate: 1.1},
		"drop_rate -0.1":                        {DropRate: -0.1},
		"error_status 404":                      {ErrorRate: 1, ErrorStatus: 404},
		"calls_per_second -1":                   {CallsPerSecond: -1},
		"burst -1":                              {CallsPerSecond: 1, Burst: -1},
		"burst and per_project need calls_per_second": {Burst: 5},
	} {
		err := i.Set([]sdk.FaultRule{good, rule})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "rule 2: ") {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	if diff := cmp.Diff([]sdk.FaultRule{good}, i.Rules()); diff != "" {
		t.Errorf("rules that were refused are kept, -want +got:\n%s", diff)
	}
}
