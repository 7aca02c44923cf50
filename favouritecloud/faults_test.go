// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package favouritecloud_test

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bowline-dev/bowline/favouritecloud/sdk"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/network"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/nodegroup"
)

// unreliable is a cloud with fault rules, and its administrator.
type unreliable struct {
	*cloud
	*sdk.AdminClient
	networks *network.Client
}

func startUnreliable(t *testing.T) unreliable {
	t.Helper()
	c := startPaperCloud(t)
	admin, err := sdk.NewAdminClient(c.url, c.adminToken(t))
	if err != nil {
		t.Fatal(err)
	}
	return unreliable{c, admin, network.NewClient(c.client)}
}

// inject replaces all fault rules and resets the counts.
func (u unreliable) inject(t *testing.T, rules ...sdk.FaultRule) {
	t.Helper()
	if err := errors.Join(u.SetFaults(t.Context(), rules...), u.ResetStats(t.Context())); err != nil {
		t.Fatal(err)
	}
}

// create makes calls that create networks, and returns how many were answered, by the error.
func (u unreliable) create(t *testing.T, calls int) (ok, failed, dropped int) {
	t.Helper()
	for range calls {
		_, err := u.networks.Create(t.Context(), network.CreateNetworkInput{CIDRBlock: "10.0.0.0/16"})
		switch {
		case err == nil:
			ok++
		case sdk.IsConnection(err):
			dropped++
		default:
			failed++
		}
	}
	return ok, failed, dropped
}

// expect compares the counts of calls and, without faults, the number of networks.
func (u unreliable) expect(t *testing.T, networks int, want ...sdk.CallCount) {
	t.Helper()
	stats, err := u.Stats(t.Context())
	if diff := cmp.Diff(want, stats.Calls); diff != "" || err != nil || stats.Count("GET", "subnets", "") != 0 ||
		stats.Count("", "networks", want[0].Outcome) < want[0].Count {
		t.Errorf("counts: error %v, -want +got:\n%s", err, diff)
	}
	u.inject(t)
	if got := len(u.list(t, "networks", "id")); got != networks {
		t.Errorf("%d networks exist, want %d", got, networks)
	}
}

func TestInjectedFaults(t *testing.T) {
	t.Parallel()
	u := startUnreliable(t)
	count := func(method, outcome string, n int) sdk.CallCount {
		return sdk.CallCount{Method: method, Service: "networks", Outcome: outcome, Count: n}
	}

	const late = 100 * time.Millisecond
	u.inject(t, sdk.FaultRule{Latency: late.String()})
	began := time.Now()
	if ok, _, _ := u.create(t, 1); ok != 1 || time.Since(began) < late {
		t.Errorf("a late call took %s", time.Since(began))
	}
	u.expect(t, 1, count("POST", sdk.OutcomeOK, 1))

	u.inject(t, sdk.FaultRule{ErrorRate: 0.25, ErrorStatus: 500, Seed: 1})
	ok, failed, dropped := u.create(t, 20)
	if ok == 0 || failed == 0 || dropped > 0 {
		t.Errorf("of 20 calls %d failed and %d were dropped", failed, dropped)
	}
	networks := 1 + ok // A call that failed was not executed.
	u.expect(t, networks, count("POST", sdk.OutcomeError, failed), count("POST", sdk.OutcomeOK, ok))

	u.inject(t, sdk.FaultRule{DropRate: 0.2, Seed: 7})
	if ok, failed, dropped = u.create(t, 20); ok == 0 || failed > 0 || dropped == 0 {
		t.Errorf("of 20 calls %d failed and %d were dropped", failed, dropped)
	}
	networks += 20 // A call without an answer was executed. Reads are answered.
	u.expect(t, networks, count("POST", sdk.OutcomeDropped, dropped), count("POST", sdk.OutcomeOK, ok))

	u.inject(t, sdk.FaultRule{CallsPerSecond: 0.3, Burst: 3})
	if ok, _, _ = u.create(t, 3); ok != 3 {
		t.Errorf("%d calls within the burst succeed", ok)
	}
	_, err := u.networks.Get(t.Context(), "net-0")
	refused, isRefused := errors.AsType[*sdk.APIError](err)
	if !isRefused || refused.Code != sdk.CodeThrottled || refused.RetryDelay < time.Second || refused.RetryDelay > 4*time.Second {
		t.Errorf("one call too many: %+v", err)
	}
	u.expect(t, networks+3, count("GET", sdk.OutcomeThrottled, 1), count("POST", sdk.OutcomeOK, 3))

	if _, err := u.networks.Get(t.Context(), "net-0"); !sdk.IsNotFound(err) {
		t.Error(err)
	}
	u.expect(t, networks+3, count("GET", sdk.OutcomeOK, 1), count("GET", sdk.OutcomeRefused, 1))
}

// An idempotency key finds the answer that was dropped. Go's own HTTP client may repeat such a request.
func TestDroppedAnswerIsReplayed(t *testing.T) {
	t.Parallel()
	u := startUnreliable(t)
	_, part := u.createSubnet(t)
	in := nodegroup.CreateNodeGroupInput{
		Name: "web", SubnetIDs: []string{part}, ScalingConfig: []nodegroup.ScalingConfigInput{{MinSize: new(1), MaxSize: new(3)}},
	}
	u.inject(t, sdk.FaultRule{DropRate: 1, Match: &sdk.FaultMatch{Method: http.MethodPost, Service: "node-groups"}})
	u.createSubnet(t) // No other service is affected.
	groups := nodegroup.NewClient(u.client)
	if _, err := groups.Create(t.Context(), in, sdk.WithIdempotencyKey("k")); !sdk.IsConnection(err) {
		t.Fatalf("a dropped answer is %v", err)
	}
	u.inject(t)
	if got, err := groups.Create(t.Context(), in, sdk.WithIdempotencyKey("k")); err != nil || got.Name != "web" {
		t.Errorf("the repeat is answered with %v, error %v", got, err)
	}
}

func TestStaleReads(t *testing.T) {
	t.Parallel()
	u := startUnreliable(t)
	u.create(t, 1)
	const stale = 700 * time.Millisecond
	<-time.After(stale)
	u.inject(t, sdk.FaultRule{StaleReads: stale.String()})
	began := time.Now()
	created, err := u.networks.Create(t.Context(), network.CreateNetworkInput{CIDRBlock: "10.0.0.0/16"})
	if err != nil {
		t.Fatal(err)
	}
	u.call(t, "POST", "database/instances", `{"name":"orders","fanciness_level":20}`)
	_, getErr := u.networks.Get(t.Context(), created.ID)
	seen := fmt.Sprint(len(u.list(t, "networks", "id")), len(u.list(t, "database/instances", "id")))
	// Unless the machine was too busy to look in time.
	if time.Since(began) < stale && (!sdk.IsNotFound(getErr) || seen != "1 0") {
		t.Errorf("get of a new network: %v; networks and databases in lists: %s", getErr, seen)
	}
	u.call(t, "PATCH", "networks/"+created.ID, `{"mtu":1400}`) // Writes see everything.
	eventually(t, "the new objects to be seen", func() string {
		if seen = fmt.Sprint(len(u.list(t, "networks", "id")), len(u.list(t, "database/instances", "id"))); seen == "2 1" {
			return ""
		}
		return seen
	})
	if time.Since(began) < stale {
		t.Errorf("new objects were seen after %s", time.Since(began))
	}
}

func TestFaultsAreSetShownAndCleared(t *testing.T) {
	t.Parallel()
	u := startUnreliable(t)
	rules := []sdk.FaultRule{
		{Latency: "1ms", Match: &sdk.FaultMatch{Method: "POST", Service: "networks"}},
		{CallsPerSecond: 1000, Burst: 10, PerProject: true, ErrorStatus: 503, StaleReads: "0s", Seed: 3},
	}
	u.inject(t, rules...)
	shown, err := u.Faults(t.Context())
	cleared := u.ClearFaults(t.Context())
	left, leftErr := u.Faults(t.Context())
	if err := errors.Join(err, cleared, leftErr); err != nil || !cmp.Equal(rules, shown) || len(left) > 0 {
		t.Errorf("error %v, left after clearing: %v, -set +shown:\n%s", err, left, cmp.Diff(rules, shown))
	}
	const path, invalid = "/admin/v1/faults", sdk.CodeInvalid
	admin := u.adminToken(t)
	for _, body := range []string{`{"latency":"1ms"}`, `{"rules":[{"latency":"1ms"},{"drop_rate":0.05}]}`} {
		if a := u.request(t, "PUT", path, admin, body); a.status != http.StatusOK {
			t.Errorf("%s: %d %s", body, a.status, a.text)
		}
	}
	u.refuse(t, admin, refusal{"PUT", path, `{"latency":"1ms","rules":[]}`, 422, invalid, "not both"})
	u.refuse(t, admin, refusal{"PUT", path, `{"error_rate":"much"}`, 422, invalid, "error_rate"})
	u.refuse(t, admin, refusal{"PUT", path, `{"drop_rate":2}`, 422, invalid, "drop_rate 2"})
	u.refuse(t, admin, refusal{"PUT", path, `{"outage":true}`, 422, invalid, `"outage" is unknown`})
	u.refuse(t, u.apiKey, refusal{"PUT", path, `{}`, 403, sdk.CodeForbidden, "admin token"})
}
