// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"net/http"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

const scope = "github.com/bowline-dev/bowline/pkg/telemetry"

// WrapTransport returns a transport to an API server whose requests are counted, for rest.Config.Wrap. A request that writes
// becomes a span of its own if the span in its context is recorded.
func (m *Metrics) WrapTransport(next http.RoundTripper) http.RoundTripper {
	return &transport{metrics: m, next: next}
}

type transport struct {
	metrics *Metrics
	next    http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	verb, resource := describe(req)
	req, span := traced(req, verb, resource)
	resp, err := t.next.RoundTrip(req)
	code := "error"
	if err == nil {
		code = strconv.Itoa(resp.StatusCode/100) + "xx"
		span.SetAttributes(attribute.Int("http.response.status_code", resp.StatusCode))
	}
	if code != "2xx" {
		span.SetStatus(codes.Error, code)
	}
	span.End()
	t.metrics.requests.WithLabelValues(verb, resource, code).Inc()
	return resp, err
}

// WrappedRoundTripper returns the transport below, for client-go.
func (t *transport) WrappedRoundTripper() http.RoundTripper { return t.next }

func writes(method string) bool { return method != http.MethodGet && method != http.MethodHead }

// traced begins a span of a request that writes below the span of its context, and one that records nothing of any other.
func traced(req *http.Request, verb, resource string) (*http.Request, trace.Span) {
	parent := trace.SpanFromContext(req.Context())
	if !writes(req.Method) || !parent.IsRecording() {
		return req, noop.Span{}
	}
	ctx, span := parent.TracerProvider().Tracer(scope).Start(req.Context(), verb+" "+resource, trace.WithSpanKind(trace.SpanKindClient))
	return req.WithContext(ctx), span
}

// other stands for all paths of which the API server's resources are not: discovery, health, the schema.
const other = "other"

// describe returns a verb as RBAC has it, and a resource such as networks.network.fcp.crossplane.io/status.
func describe(req *http.Request) (verb, resource string) {
	parts := strings.Split(strings.Trim(req.URL.Path, "/"), "/")
	group := ""
	switch {
	case len(parts) > 2 && parts[0] == "api":
		parts = parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		group, parts = parts[1], parts[3:]
	default:
		return strings.ToLower(req.Method), other
	}
	if len(parts) > 2 && parts[0] == "namespaces" && parts[2] != "status" && parts[2] != "finalize" {
		parts = parts[2:]
	}
	resource = parts[0]
	if group != "" {
		resource += "." + group
	}
	if len(parts) > 2 {
		resource += "/" + parts[2]
	}
	return verbOf(req, len(parts) > 1), resource
}

func verbOf(req *http.Request, one bool) string {
	switch req.Method {
	case http.MethodPost:
		return "create"
	case http.MethodPut:
		return "update"
	case http.MethodPatch:
		return "patch"
	case http.MethodDelete:
		if one {
			return "delete"
		}
		return "deletecollection"
	}
	watch := req.URL.Query().Get("watch")
	switch {
	case watch == "true" || watch == "1":
		return "watch"
	case one:
		return "get"
	default:
		return "list"
	}
}
