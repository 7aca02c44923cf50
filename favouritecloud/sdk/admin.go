// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package sdk

import (
	"context"
	"errors"
	"net/http"
	"time"
)

// APIKey is a new key of a project. The cloud stores only a hash, so it cannot return the key again.
type APIKey struct {
	Project   string    `json:"project"`    // the project that the key belongs to
	ID        string    `json:"id"`         // identifies the key; it is not secret
	Key       string    `json:"key"`        // the secret for Config.APIKey
	CreatedAt time.Time `json:"created_at"` // the time of creation
}

// CreateKey creates an API key of a project, which need not exist. adminToken is in the file admin.token of the data folder.
func CreateKey(ctx context.Context, endpoint, adminToken, project string) (APIKey, error) {
	c, err := newAdmin(endpoint, adminToken, project)
	if err != nil {
		return APIKey{}, err
	}
	var key APIKey
	_, err = c.do(ctx, request{method: http.MethodPost, path: inProject(project, "keys")}, &key)
	return key, err
}

func newAdmin(endpoint, adminToken, project string) (*Client, error) {
	if adminToken == "" {
		return nil, errors.New("admin token is required")
	}
	return NewClient(Config{Endpoint: endpoint, Project: project, APIKey: adminToken})
}

// Outcomes of calls in Stats.
const (
	OutcomeOK        = "ok"        // the call succeeded
	OutcomeRefused   = "refused"   // the cloud refused the call, with a status of 400 to 499, and not because of a fault rule
	OutcomeFailed    = "failed"    // the call failed with a status of 500 or more, and not because of a fault rule
	OutcomeThrottled = "throttled" // a fault rule throttled the call
	OutcomeError     = "error"     // a fault rule failed the call before it was executed
	OutcomeDropped   = "dropped"   // a fault rule closed the connection after the call was executed, without an answer
)

// Faults are the fault rules for calls of projects; they do not apply to creating API keys.
type Faults struct {
	Rules []FaultRule `json:"rules"` // Rules all apply to each call that they match
}

// FaultRule injects one or several faults. Fields that are zero inject none.
type FaultRule struct {
	Match   *FaultMatch `json:"match,omitempty"`   // restricts the rule to some calls. Default: all.
	Latency string      `json:"latency,omitempty"` // delays every call, for example by "200ms"; at most 20 seconds
	// CallsPerSecond is a rate limit. Other calls get status 429 and Retry-After.
	CallsPerSecond float64 `json:"calls_per_second,omitempty"`
	// Burst is that of the rate limit. Default: the calls of one second.
	Burst       int     `json:"burst,omitempty"`
	PerProject  bool    `json:"per_project,omitempty"`  // applies the rate limit to each project. Default: to the whole cloud.
	ErrorRate   float64 `json:"error_rate,omitempty"`   // the fraction of calls, 0 to 1, that fail before they are executed
	ErrorStatus int     `json:"error_status,omitempty"` // that of these failures: 429, or 500 to 599. Default: 503.
	// DropRate is the fraction of writes, 0 to 1, that are executed without an answer.
	DropRate   float64 `json:"drop_rate,omitempty"`
	StaleReads string  `json:"stale_reads,omitempty"` // how long get and list do not find a new object, for example "2s"
	// Seed selects the calls: the same ones in the same order get the same faults.
	Seed uint64 `json:"seed,omitempty"`
}

// FaultMatch selects calls. Fields that are empty match all.
type FaultMatch struct {
	Method  string `json:"method,omitempty"`  // an HTTP method, for example "POST"
	Service string `json:"service,omitempty"` // the first word of the path after the project, for example "database"
}

// Stats are the calls since the cloud started or ResetStats. Calls that fault rules cannot match are not counted.
type Stats struct {
	Calls []CallCount `json:"calls"` // ordered by service, method and outcome
}

// CallCount is the number of calls of a method and service with an outcome.
type CallCount struct {
	Method  string `json:"method"`  // the HTTP method
	Service string `json:"service"` // as in FaultMatch
	Outcome string `json:"outcome"` // one of the Outcome constants
	Count   int    `json:"count"`   // the number of calls
}

// Count returns the number of calls of a method and a service with an outcome. Empty arguments match any.
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

// AdminClient injects faults and counts calls, for tests and demonstrations. It requires a cloud that was started with
// --cloud-admin; otherwise every error satisfies IsNotFound. It is safe for concurrent use.
type AdminClient struct{ cloud *Client }

// NewAdminClient returns an admin client. It makes no request. adminToken is in the file admin.token of the data folder.
func NewAdminClient(endpoint, adminToken string) (*AdminClient, error) {
	c, err := newAdmin(endpoint, adminToken, "admin")
	if err != nil {
		return nil, err
	}
	return &AdminClient{cloud: c}, nil
}

// SetFaults replaces all fault rules and resets their state.
func (c *AdminClient) SetFaults(ctx context.Context, rules ...FaultRule) error {
	if rules == nil {
		rules = []FaultRule{}
	}
	_, err := c.cloud.do(ctx, request{method: http.MethodPut, path: faultsPath, body: Faults{Rules: rules}}, nil)
	return err
}

// Faults returns the current fault rules.
func (c *AdminClient) Faults(ctx context.Context) ([]FaultRule, error) {
	var f Faults
	_, err := c.cloud.do(ctx, request{method: http.MethodGet, path: faultsPath}, &f)
	return f.Rules, err
}

// ClearFaults removes all fault rules.
func (c *AdminClient) ClearFaults(ctx context.Context) error {
	_, err := c.cloud.do(ctx, request{method: http.MethodDelete, path: faultsPath}, nil)
	return err
}

// Stats returns the counts of calls.
func (c *AdminClient) Stats(ctx context.Context) (s Stats, err error) {
	_, err = c.cloud.do(ctx, request{method: http.MethodGet, path: statsPath}, &s)
	return s, err
}

// ResetStats sets all counts to zero.
func (c *AdminClient) ResetStats(ctx context.Context) error {
	_, err := c.cloud.do(ctx, request{method: http.MethodDelete, path: statsPath}, nil)
	return err
}
