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
	a.handle("GET /admin/v1/faults", a.forAdmin(a.getFaults))
	a.handle("PUT /admin/v1/faults", a.forAdmin(a.setFaults))
	a.handle("DELETE /admin/v1/faults", a.forAdmin(a.clearFaults))
	a.handle("GET /admin/v1/stats", a.forAdmin(func(w http.ResponseWriter, _ *http.Request) error {
		return respondJSON(w, http.StatusOK, a.Faults.Stats())
	}))
	a.handle("DELETE /admin/v1/stats", a.forAdmin(func(w http.ResponseWriter, _ *http.Request) error {
		a.Faults.ResetStats()
		return respondJSON(w, http.StatusOK, a.Faults.Stats())
	}))
}

func (a *API) getFaults(w http.ResponseWriter, _ *http.Request) error {
	return respondJSON(w, http.StatusOK, sdk.Faults{Rules: a.Faults.Rules()})
}

// setFaults accepts {"rules": […]}, or a single rule.
func (a *API) setFaults(w http.ResponseWriter, r *http.Request) error {
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
	if err := a.Faults.Set(in.Rules); err != nil {
		return err
	}
	rules, err := json.Marshal(in.Rules)
	if err != nil {
		return err
	}
	a.Log.Info("faults set", "rules", string(rules))
	return a.getFaults(w, r)
}

func (a *API) clearFaults(w http.ResponseWriter, r *http.Request) error {
	if err := a.Faults.Set(nil); err != nil {
		return err
	}
	a.Log.Info("faults cleared")
	return a.getFaults(w, r)
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
		a.disconnect(w, r)
	default:
		a.routes.ServeHTTP(&statusRecorder{ResponseWriter: w, before: func(status int) { a.Faults.Count(call, outcome(status)) }}, r)
	}
}

// disconnect closes the connection without an answer.
func (a *API) disconnect(w http.ResponseWriter, r *http.Request) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		a.respondError(w, r, err)
		return
	}
	_ = conn.Close() // The client gets an error in any case.
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
