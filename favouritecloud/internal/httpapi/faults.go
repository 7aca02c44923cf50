// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package httpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/bowline-dev/bowline/favouritecloud/internal/faults"
	"github.com/bowline-dev/bowline/favouritecloud/internal/refusal"
	"github.com/bowline-dev/bowline/favouritecloud/sdk"
)

// addFaultRoutes adds the routes of the administrator.
func (a *API) addFaultRoutes() {
	add := func(pattern string, do func(r *http.Request) error, show func() any) {
		a.handle(pattern, a.forAdmin(func(w http.ResponseWriter, r *http.Request) error {
			if err := do(r); err != nil {
				return err
			}
			return respondJSON(w, http.StatusOK, show())
		}))
	}
	nothing := func(*http.Request) error { return nil }
	rules, stats := func() any { return sdk.Faults{Rules: a.Faults.Rules()} }, func() any { return a.Faults.Stats() }
	add("GET /admin/v1/faults", nothing, rules)
	add("PUT /admin/v1/faults", a.setFaults, rules)
	add("DELETE /admin/v1/faults", func(*http.Request) error {
		a.Log.Info("faults cleared")
		return a.Faults.Set(nil)
	}, rules)
	add("GET /admin/v1/stats", nothing, stats)
	add("DELETE /admin/v1/stats", func(*http.Request) error {
		a.Faults.ResetStats()
		return nil
	}, stats)
}

// setFaults accepts {"rules": […]}, or a single rule.
func (a *API) setFaults(r *http.Request) error {
	var in struct {
		sdk.FaultRule
		Rules []sdk.FaultRule `json:"rules"`
	}
	if err := decode(r, &in); err != nil {
		return err
	}
	if single := in.FaultRule; single != (sdk.FaultRule{}) {
		if in.Rules != nil {
			return refusal.Invalid("send one rule or a list of rules, not both")
		}
		in.Rules = []sdk.FaultRule{single}
	}
	rules, err := json.Marshal(in.Rules)
	if err != nil {
		return err
	}
	if err := a.Faults.Set(in.Rules); err != nil {
		return err
	}
	a.Log.Info("faults set", "rules", string(rules))
	return nil
}

// faultyCall returns the call of a request. Fault rules do not apply to requests of the administrator, such as creating API keys.
func faultyCall(r *http.Request) (faults.Call, bool) {
	rest, ok := strings.CutPrefix(r.URL.Path, "/v1/projects/")
	words := strings.Split(rest, "/")
	if !ok || len(words) < 2 || words[1] == "keys" {
		return faults.Call{}, false
	}
	return faults.Call{Method: r.Method, Project: words[0], Service: words[1]}, true
}

// asOfKey is the context key of asOf.
type asOfKey struct{}

// asOf returns the time for stale reads: objects that were created later are not found. It is zero if reads are not stale.
func asOf(r *http.Request) time.Time {
	t, _ := r.Context().Value(asOfKey{}).(time.Time)
	return t
}

// serveWithFaults answers a call and injects the faults that the rules require.
func (a *API) serveWithFaults(w http.ResponseWriter, r *http.Request, call faults.Call) {
	verdict := a.Faults.Judge(call)
	select {
	case <-time.After(verdict.Latency):
	case <-r.Context().Done():
		return // The client has disconnected.
	}
	if verdict.StaleReads > 0 {
		r = r.WithContext(context.WithValue(r.Context(), asOfKey{}, time.Now().Add(-verdict.StaleReads)))
	}
	switch {
	case verdict.Refusal != nil:
		a.Faults.Count(call, verdict.Outcome)
		a.respondError(w, r, verdict.Refusal)
	case verdict.Drop:
		a.routes.ServeHTTP(discard{header: http.Header{}}, r)
		a.Faults.Count(call, verdict.Outcome)
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			a.respondError(w, r, err)
			return
		}
		_ = conn.Close() // The client gets an error in any case.
	default:
		a.routes.ServeHTTP(&statusRecorder{ResponseWriter: w, before: func(status int) { a.Faults.Count(call, outcome(status)) }}, r)
	}
}

// outcome returns how a call without a fault is counted.
func outcome(status int) string {
	switch {
	case status >= http.StatusInternalServerError:
		return sdk.OutcomeFailed
	case status >= http.StatusBadRequest:
		return sdk.OutcomeRefused
	}
	return sdk.OutcomeOK
}
