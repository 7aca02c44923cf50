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

	"github.com/bowline-dev/bowline/favouritecloud"
	"github.com/bowline-dev/bowline/favouritecloud/sdk"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/database"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/network"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/nodegroup"
)

// startFaultyCloud runs a cloud that takes fault rules, and returns who sets them.
func startFaultyCloud(t *testing.T) (*cloud, *sdk.AdminClient) {
	t.Helper()
	c := startCloud(t, favouritecloud.Config{
		DataDir: newDataDir(t), PostgresSearchPath: []string{t.TempDir()}, CloudAdmin: true,
	})
	admin, err := sdk.NewAdminClient(c.url, adminToken(t, c.dir))
	if err != nil {
		t.Fatal(err)
	}
	return c, admin
}

func setFaults(t *testing.T, admin *sdk.AdminClient, rules ...sdk.FaultRule) {
	t.Helper()
	if err := admin.SetFaults(t.Context(), rules...); err != nil {
		t.Fatal(err)
	}
}

func stats(t *testing.T, admin *sdk.AdminClient) sdk.Stats {
	t.Helper()
	s, err := admin.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func tryNetwork(t *testing.T, c *cloud) error {
	t.Helper()
	_, err := c.networks.Create(t.Context(), network.CreateNetworkInput{CIDRBlock: "10.0.0.0/16"})
	return err
}

// countNetworks looks past all faults.
func countNetworks(t *testing.T, c *cloud, admin *sdk.AdminClient) int {
	t.Helper()
	setFaults(t, admin)
	list, err := c.networks.List(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

func TestFaultLatency(t *testing.T) {
	t.Parallel()
	c, admin := startFaultyCloud(t)
	const late = 150 * time.Millisecond
	setFaults(t, admin, sdk.FaultRule{Latency: late.String(), Match: &sdk.FaultMatch{Service: "networks"}})
	began := time.Now()
	if err := tryNetwork(t, c); err != nil || time.Since(began) < late {
		t.Errorf("a late call took %s, error %v", time.Since(began), err)
	}
	began = time.Now()
	if _, err := c.groups.List(t.Context(), nil); err != nil || time.Since(began) >= late {
		t.Errorf("a call of another service took %s, error %v", time.Since(began), err)
	}
}

func TestFaultErrors(t *testing.T) {
	t.Parallel()
	c, admin := startFaultyCloud(t)
	const calls = 100
	run := func(rule sdk.FaultRule) (failed string) {
		setFaults(t, admin, rule)
		for range calls {
			err := tryNetwork(t, c)
			switch refused, ok := errors.AsType[*sdk.APIError](err); {
			case err == nil:
				failed += "."
			case ok && refused.Status == 500 && refused.Code == sdk.CodeInternal && !sdk.IsConnection(err):
				failed += "x"
			default:
				t.Fatalf("an injected error is %v", err)
			}
		}
		return failed
	}
	first := run(sdk.FaultRule{ErrorRate: 0.25, ErrorStatus: 500, Seed: 1})
	done := countNetworks(t, c, admin)
	if again := run(sdk.FaultRule{ErrorRate: 0.25, ErrorStatus: 500, Seed: 1}); again != first {
		t.Errorf("with the same seed other calls fail:\n%s\n%s", first, again)
	}
	if other := run(sdk.FaultRule{ErrorRate: 0.25, ErrorStatus: 500, Seed: 2}); other == first {
		t.Error("the seed has no effect")
	}
	if failed := calls - done; failed < 10 || failed > 45 {
		t.Errorf("%d of %d calls failed at a rate of a quarter: %s", failed, calls, first)
	}
	if n := stats(t, admin).Count("POST", "networks", sdk.OutcomeOK); n != countNetworks(t, c, admin) {
		t.Errorf("%d networks after %d calls that were answered well: a call that failed did its work", countNetworks(t, c, admin), n)
	}
}

func TestFaultThrottling(t *testing.T) {
	t.Parallel()
	c, admin := startFaultyCloud(t)
	setFaults(t, admin, sdk.FaultRule{CallsPerSecond: 0.3, Burst: 3})
	for range 3 {
		if err := tryNetwork(t, c); err != nil {
			t.Errorf("within the burst: %v", err)
		}
	}
	_, err := c.groups.Get(t.Context(), "other-service")
	if !sdk.IsThrottled(err) {
		t.Fatalf("one call too many: %v", err)
	}
	var vendorNeutral interface{ RetryAfter() time.Duration }
	if !errors.As(err, &vendorNeutral) || vendorNeutral.RetryAfter() < time.Second || vendorNeutral.RetryAfter() > 4*time.Second {
		t.Errorf("advice to wait: %v", vendorNeutral)
	}
	if got := countNetworks(t, c, admin); got != 3 {
		t.Errorf("%d networks were created", got)
	}
	if got := stats(t, admin).Count("GET", "node-groups", sdk.OutcomeThrottled); got != 1 {
		t.Errorf("%d calls are counted as throttled", got)
	}
}

func TestFaultDroppedAnswers(t *testing.T) {
	t.Parallel()
	c, admin := startFaultyCloud(t)
	const calls = 40
	setFaults(t, admin, sdk.FaultRule{DropRate: 0.2, Seed: 7})
	lost := 0
	for range calls {
		switch err := tryNetwork(t, c); {
		case sdk.IsConnection(err):
			lost++
		case err != nil:
			t.Fatal(err)
		}
		if _, err := c.networks.List(t.Context(), nil); err != nil {
			t.Fatalf("a read was dropped: %v", err)
		}
	}
	if networks := countNetworks(t, c, admin); networks != calls {
		t.Errorf("%d calls created %d networks: an answer was lost but the call was not executed", calls, networks)
	}
	s := stats(t, admin)
	if lost == 0 || lost == calls || s.Count("POST", "", sdk.OutcomeDropped) != lost || s.Count("POST", "networks", "") != calls {
		t.Errorf("%d of %d answers were lost; counted: %v", lost, calls, s)
	}
}

// TestFaultDroppedAnswerIsReplayed is what idempotency keys are for. Go's own HTTP client may repeat such a request.
func TestFaultDroppedAnswerIsReplayed(t *testing.T) {
	t.Parallel()
	c, admin := startFaultyCloud(t)
	in := nodegroup.CreateNodeGroupInput{Name: "web", SubnetIDs: []string{c.somewhere(t)}, ScalingConfig: size(1, 3)}
	setFaults(t, admin, sdk.FaultRule{DropRate: 1, Match: &sdk.FaultMatch{Method: http.MethodPost, Service: "node-groups"}})
	if _, err := c.groups.Create(t.Context(), in, sdk.WithIdempotencyKey("k")); !sdk.IsConnection(err) {
		t.Fatalf("a dropped answer is %v", err)
	}
	setFaults(t, admin)
	if got := create(t, c.groups.Collection, in, sdk.WithIdempotencyKey("k")); got.Name != "web" {
		t.Errorf("the repeat is answered with %v", got)
	}
}

func TestFaultStaleReads(t *testing.T) {
	t.Parallel()
	c, admin := startFaultyCloud(t)
	before := create(t, c.networks, network.CreateNetworkInput{CIDRBlock: "10.0.0.0/16"})
	const stale = 700 * time.Millisecond
	<-time.After(stale)
	setFaults(t, admin, sdk.FaultRule{StaleReads: stale.String()})
	began := time.Now()
	created := create(t, c.networks, network.CreateNetworkInput{CIDRBlock: "10.0.0.0/16"})
	create(t, c.databases, database.CreateInstanceInput{Name: "orders", FancinessLevel: 20})
	_, networkErr := c.networks.Get(t.Context(), created.ID)
	list, listErr := c.networks.List(t.Context(), nil)
	_, databaseErr := c.databases.Get(t.Context(), "orders")
	names := listNames(t, c, nil)
	if time.Since(began) < stale { // Else the machine was too busy to look in time.
		if !sdk.IsNotFound(networkErr) || listErr != nil || len(list) != 1 || list[0].ID != before.ID {
			t.Errorf("a new network: get %v, list %v, error %v", networkErr, list, listErr)
		}
		if !sdk.IsNotFound(databaseErr) || names != nil {
			t.Errorf("a new database: get %v, list %v", databaseErr, names)
		}
	}
	if _, err := c.networks.Update(t.Context(), created.ID, network.UpdateNetworkInput{MTU: new(1400)}); err != nil {
		t.Errorf("writes see everything, but: %v", err)
	}
	eventually(t, "the new objects to be seen", func() string {
		list, err := c.networks.List(t.Context(), nil)
		_, databaseErr := c.databases.Get(t.Context(), "orders")
		if len(list) == 2 && err == nil && databaseErr == nil {
			return ""
		}
		return fmt.Sprint(list, err, databaseErr)
	})
	if time.Since(began) < stale {
		t.Errorf("new objects were seen after %s", time.Since(began))
	}
}

func TestFaultsAreSetShownAndCleared(t *testing.T) {
	t.Parallel()
	c, admin := startFaultyCloud(t)
	rules := []sdk.FaultRule{
		{Latency: "1ms", Match: &sdk.FaultMatch{Method: "POST", Service: "networks"}},
		{CallsPerSecond: 1000, Burst: 10, PerProject: true, ErrorRate: 0, ErrorStatus: 503, DropRate: 0, StaleReads: "0s", Seed: 3},
	}
	setFaults(t, admin, rules...)
	if got, err := admin.Faults(t.Context()); err != nil || !cmp.Equal(rules, got) {
		t.Errorf("error %v, -set +shown:\n%s", err, cmp.Diff(rules, got))
	}
	if err := admin.ClearFaults(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, err := admin.Faults(t.Context()); err != nil || len(got) > 0 {
		t.Errorf("after clearing: %v, error %v", got, err)
	}
	token := adminToken(t, c.dir)
	cases := map[string]struct {
		token, body string
		status      int
		message     string
	}{
		"one rule":     {token, `{"latency":"1ms"}`, 200, ""},
		"several":      {token, `{"rules":[{"latency":"1ms"},{"drop_rate":0.05}]}`, 200, ""},
		"both":         {token, `{"latency":"1ms","rules":[]}`, 422, "not both"},
		"user":         {c.apiKey, `{}`, 403, "admin token"},
		"no number":    {token, `{"error_rate":"much"}`, 422, "error_rate"},
		"no rate":      {token, `{"drop_rate":2}`, 422, "drop_rate 2"},
		"no such rule": {token, `{"outage":true}`, 422, `"outage" is unknown`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if tc.status != http.StatusOK {
				code := map[int]string{403: sdk.CodeForbidden, 422: sdk.CodeInvalid}[tc.status]
				expectRefusal(t, "PUT", c.url+"/admin/v1/faults", tc.token, tc.body, nil, tc.status, code, tc.message)
			} else if resp, body := request(t, "PUT", c.url+"/admin/v1/faults", tc.token, tc.body, nil); resp.StatusCode != tc.status {
				t.Errorf("got %d %s", resp.StatusCode, body)
			}
		})
	}
}

func TestStatsCountByOutcome(t *testing.T) {
	t.Parallel()
	c, admin := startFaultyCloud(t)
	if err := tryNetwork(t, c); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := c.networks.Get(t.Context(), "net-0"); !sdk.IsNotFound(err) {
			t.Fatal(err)
		}
	}
	want := sdk.Stats{Calls: []sdk.CallCount{
		{Method: "GET", Service: "networks", Outcome: sdk.OutcomeRefused, Count: 2},
		{Method: "POST", Service: "networks", Outcome: sdk.OutcomeOK, Count: 1},
	}}
	if diff := cmp.Diff(want, stats(t, admin)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if err := admin.ResetStats(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := stats(t, admin).Count("", "", ""); got != 0 {
		t.Errorf("%d calls after the reset", got)
	}
}
