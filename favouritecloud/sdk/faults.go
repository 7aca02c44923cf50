// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package sdk

import (
	"context"
	"net/http"
)

// Outcomes of calls in Stats.
const (
	// OutcomeOK: the cloud did what was asked.
	OutcomeOK = "ok"
	// OutcomeRefused: the cloud refused for a reason of its own, with a status of 400 to 499.
	OutcomeRefused = "refused"
	// OutcomeFailed: the cloud failed for a reason of its own, with a status of 500 or more.
	OutcomeFailed = "failed"
	// OutcomeThrottled: a fault rule allowed no further call.
	OutcomeThrottled = "throttled"
	// OutcomeError: a fault rule had the call fail before the work.
	OutcomeError = "error"
	// OutcomeDropped: a fault rule closed the connection after the work, without an answer.
	OutcomeDropped = "dropped"
)

// Faults are what the cloud does to calls about projects, other than making their API keys.
type Faults struct {
	// Rules apply all to each call that they match.
	Rules []FaultRule `json:"rules"`
}

// FaultRule is one disturbance or several. Fields that are zero disturb nothing.
type FaultRule struct {
	// Match restricts the rule to some calls. Default: all.
	Match *FaultMatch `json:"match,omitempty"`
	// Latency is how much longer every call takes, for example "200ms"; at most 20 seconds.
	Latency string `json:"latency,omitempty"`
	// CallsPerSecond throttles: further calls are refused with status 429 and Retry-After.
	CallsPerSecond float64 `json:"calls_per_second,omitempty"`
	// Burst is how many calls may come at once when CallsPerSecond is set. Default: the calls of one second, at least 1.
	Burst int `json:"burst,omitempty"`
	// PerProject throttles each project by itself. Default: the cloud as a whole.
	PerProject bool `json:"per_project,omitempty"`
	// ErrorRate is the part of calls, 0 to 1, that fail before the work.
	ErrorRate float64 `json:"error_rate,omitempty"`
	// ErrorStatus is the status of these failures: 429, with Retry-After, or 500 to 599. Default: 503.
	ErrorStatus int `json:"error_status,omitempty"`
	// DropRate is the part of POST, PUT, PATCH and DELETE calls, 0 to 1, whose work is done and whose connection is then
	// closed without an answer.
	DropRate float64 `json:"drop_rate,omitempty"`
	// StaleReads is how long get and list do not see a new object, for example "2s".
	StaleReads string `json:"stale_reads,omitempty"`
	// Seed chooses which calls fail and are dropped: the same calls in the same order meet the same faults.
	Seed uint64 `json:"seed,omitempty"`
}

// FaultMatch says which calls a rule is about. Fields that are empty match all.
type FaultMatch struct {
	// Method is an HTTP method, for example "POST".
	Method string `json:"method,omitempty"`
	// Service is the first word of the path after the project: "database", "cache", "networks", "subnets" or
	// "node-groups".
	Service string `json:"service,omitempty"`
}

// Stats are the calls since the cloud started or ResetStats. Calls that fault rules cannot match are not counted.
type Stats struct {
	// Calls are ordered by service, method and outcome.
	Calls []CallCount `json:"calls"`
}

// CallCount is how many calls of a sort ended in the same way.
type CallCount struct {
	// Method is the HTTP method.
	Method string `json:"method"`
	// Service is as in FaultMatch.
	Service string `json:"service"`
	// Outcome is one of the Outcome constants.
	Outcome string `json:"outcome"`
	// Count is the number of calls.
	Count int `json:"count"`
}

// Count returns how many calls there were of a method and a service with an outcome. Empty arguments mean any.
func (s Stats) Count(method, service, outcome string) (total int) {
	is := func(wanted, value string) bool { return wanted == "" || wanted == value }
	for _, c := range s.Calls {
		if is(method, c.Method) && is(service, c.Service) && is(outcome, c.Outcome) {
			total += c.Count
		}
	}
	return total
}

const (
	faultsPath = "/admin/v1/faults"
	statsPath  = "/admin/v1/stats"
)

// AdminClient disturbs a cloud and counts its calls, for tests and demonstrations. The cloud answers it only if it was
// started with --cloud-admin; else every error satisfies IsNotFound. It is safe for concurrent use.
type AdminClient struct{ cloud *Client }

// NewAdminClient returns an admin client. It makes no request. adminToken is the content of the file admin.token in the
// cloud's data folder.
func NewAdminClient(endpoint, adminToken string) (*AdminClient, error) {
	c, err := newAdmin(endpoint, adminToken, "admin")
	if err != nil {
		return nil, err
	}
	return &AdminClient{cloud: c}, nil
}

// SetFaults replaces all fault rules. Seeds, bursts and rates start anew.
func (c *AdminClient) SetFaults(ctx context.Context, rules ...FaultRule) error {
	if rules == nil {
		rules = []FaultRule{}
	}
	_, err := c.cloud.do(ctx, faultsPath, Request{Method: http.MethodPut, Body: Faults{Rules: rules}}, nil)
	return err
}

// Faults returns the present fault rules.
func (c *AdminClient) Faults(ctx context.Context) ([]FaultRule, error) {
	var f Faults
	_, err := c.cloud.do(ctx, faultsPath, Request{Method: http.MethodGet}, &f)
	return f.Rules, err
}

// ClearFaults removes all fault rules.
func (c *AdminClient) ClearFaults(ctx context.Context) error {
	_, err := c.cloud.do(ctx, faultsPath, Request{Method: http.MethodDelete}, nil)
	return err
}

// Stats returns how many calls there were.
func (c *AdminClient) Stats(ctx context.Context) (s Stats, err error) {
	_, err = c.cloud.do(ctx, statsPath, Request{Method: http.MethodGet}, &s)
	return s, err
}

// ResetStats counts from zero.
func (c *AdminClient) ResetStats(ctx context.Context) error {
	_, err := c.cloud.do(ctx, statsPath, Request{Method: http.MethodDelete}, nil)
	return err
}
