// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package telemetry_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

func TestRequests(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ method, path, verb, resource string }{
		"an object":             {"GET", "/apis/example.org/v1/buckets/a", "get", "buckets.example.org"},
		"an object of the core": {"GET", "/api/v1/namespaces/n/secrets/a", "get", "secrets"},
		"all objects":           {"GET", "/apis/example.org/v1/buckets?limit=500", "list", "buckets.example.org"},
		"a namespace's objects": {"GET", "/apis/example.org/v1/namespaces/n/buckets", "list", "buckets.example.org"},
		"a watch":               {"GET", "/api/v1/secrets?resourceVersion=5&watch=true", "watch", "secrets"},
		"a status":              {"PATCH", "/apis/example.org/v1/namespaces/n/buckets/a/status", "patch", "buckets.example.org/status"},
		"a creation":            {"POST", "/api/v1/namespaces/n/events", "create", "events"},
		"an update":             {"PUT", "/apis/coordination.k8s.io/v1/namespaces/n/leases/a", "update", "leases.coordination.k8s.io"},
		"a deletion":            {"DELETE", "/api/v1/namespaces/n/secrets/a", "delete", "secrets"},
		"a deletion of many":    {"DELETE", "/api/v1/namespaces/n/secrets", "deletecollection", "secrets"},
		"a namespace":           {"GET", "/api/v1/namespaces/n", "get", "namespaces"},
		"a namespace's status":  {"PUT", "/api/v1/namespaces/n/status", "update", "namespaces/status"},
		"a proxy":               {"GET", "/api/v1/namespaces/n/pods/a/proxy/of/anything", "get", "pods/proxy"},
		"discovery":             {"GET", "/apis/example.org/v1", "get", "other"},
		"discovery of the core": {"GET", "/api/v1", "get", "other"},
		"discovery of all":      {"GET", "/apis", "get", "other"},
		"health":                {"GET", "/healthz/anything", "get", "other"},
		"the root":              {"GET", "/", "get", "other"},
		"an unknown path":       {"POST", "/a/b/c/d/e", "post", "other"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, registry := newMetrics(t)
			send(t, m.WrapTransport(answer(http.StatusOK)), t.Context(), tc.method, tc.path)
			line := fmt.Sprintf("bowline_api_requests_total{code=%q,resource=%q,verb=%q} 1\n", "2xx", tc.resource, tc.verb)
			want(t, registry, line, "bowline_api_requests_total")
		})
	}
}

func TestRequestCodes(t *testing.T) {
	t.Parallel()
	m, registry := newMetrics(t)
	for _, code := range []int{200, 201, 409, 429, 500} {
		send(t, m.WrapTransport(answer(code)), t.Context(), http.MethodGet, "/api/v1/secrets")
	}
	send(t, m.WrapTransport(silence{}), t.Context(), http.MethodGet, "/api/v1/secrets")
	want(t, registry, `
bowline_api_requests_total{code="2xx",resource="secrets",verb="list"} 2
bowline_api_requests_total{code="4xx",resource="secrets",verb="list"} 2
bowline_api_requests_total{code="5xx",resource="secrets",verb="list"} 1
bowline_api_requests_total{code="error",resource="secrets",verb="list"} 1
`, "bowline_api_requests_total")
}

// Writes within a recorded span are spans themselves; nothing else is.
func TestRequestSpans(t *testing.T) {
	t.Parallel()
	recorded := tracetest.NewSpanRecorder()
	provider := trace.NewTracerProvider(trace.WithSpanProcessor(recorded))
	m, _ := newMetrics(t)
	const path = "/apis/example.org/v1/buckets/a"
	ctx, pass := provider.Tracer("test").Start(t.Context(), "pass")
	send(t, m.WrapTransport(answer(http.StatusOK)), ctx, http.MethodPatch, path+"/status")
	send(t, m.WrapTransport(answer(http.StatusConflict)), ctx, http.MethodPatch, path)
	send(t, m.WrapTransport(silence{}), ctx, http.MethodDelete, path)
	send(t, m.WrapTransport(answer(http.StatusOK)), ctx, http.MethodGet, path)
	send(t, m.WrapTransport(answer(http.StatusOK)), t.Context(), http.MethodPatch, path)
	type span struct {
		name   string
		status codes.Code
		below  bool // the pass
	}
	var got []span
	for _, s := range recorded.Ended() {
		got = append(got, span{s.Name(), s.Status().Code, s.Parent().SpanID() == pass.SpanContext().SpanID()})
	}
	wanted := []span{
		{"patch buckets.example.org/status", codes.Unset, true},
		{"patch buckets.example.org", codes.Error, true},
		{"delete buckets.example.org", codes.Error, true},
	}
	if diff := cmp.Diff(wanted, got, cmp.AllowUnexported(span{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func send(t *testing.T, through http.RoundTripper, ctx context.Context, method, path string) {
	t.Helper()
	resp, err := through.RoundTrip(httptest.NewRequestWithContext(ctx, method, path, nil))
	if err == nil {
		resp.Body.Close()
	}
}

// answer is an API server that gives one answer.
type answer int

func (a answer) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: int(a), Body: http.NoBody}, nil
}

// silence is an API server that cannot be reached.
type silence struct{}

func (silence) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("nothing listens")
}
