// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/bowline-dev/bowline/pkg/clients/fence"
	"github.com/bowline-dev/bowline/pkg/failure"
)

// Transport returns a transport that sends requests by next, within the limits. Nil: http.DefaultTransport. Responses are
// unchanged. It returns the errors of next, *NotSentError, *fence.Error, or that of a context that ended before.
func (l *Limiter) Transport(next http.RoundTripper) http.RoundTripper {
	return &transport{limiter: l, next: fence.Transport(next)}
}

type transport struct {
	limiter *Limiter
	next    http.RoundTripper
}

// RoundTrip sends a request within the limits.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	c, err := t.limiter.begin(req.Context())
	if err != nil {
		if req.Body != nil {
			req.Body.Close() // as the contract of RoundTripper demands
		}
		return nil, err
	}
	r := response{} // a panic reveals nothing about the external system
	defer func() { c.end(r) }()
	resp, err := t.next.RoundTrip(req)
	if err != nil {
		r = classifyNoResponse(err)
		return nil, err
	}
	r = t.limiter.classifyResponse(resp)
	return resp, nil
}

func (l *Limiter) classifyResponse(resp *http.Response) response {
	after, limited := parseRetryAfter(resp.Header.Get("Retry-After"), time.Now())
	switch code := resp.StatusCode; {
	case code == http.StatusTooManyRequests, code == http.StatusServiceUnavailable && limited:
		return response{result: throttled, after: after}
	case code == http.StatusUnauthorized, code == http.StatusForbidden && l.config.ForbiddenIsRefusal:
		return response{result: refused}
	case code >= http.StatusInternalServerError:
		return response{result: serverError}
	default:
		return response{result: served}
	}
}

// parseRetryAfter reads the header Retry-After, in seconds or as a date. A time in the past is zero.
func parseRetryAfter(header string, now time.Time) (after time.Duration, ok bool) {
	header = strings.TrimSpace(header)
	if seconds, err := strconv.ParseUint(header, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second, true
	}
	if at, err := http.ParseTime(header); err == nil {
		return max(at.Sub(now), 0), true
	}
	return 0, false
}

// classify returns what the error of a call made by Do reveals.
func classify(err error) response {
	if _, late := errors.AsType[*fence.Error](err); late {
		return response{result: unknown}
	}
	var retry interface{ RetryAfter() time.Duration }
	var network net.Error
	switch reason := failure.Of(err).Reason; {
	case err == nil:
		return response{result: served}
	case errors.As(err, new(unreachableError)):
		r := classifyNoResponse(err)
		r.certain = true
		return r
	case errors.As(err, &retry):
		return response{result: throttled, after: max(retry.RetryAfter(), 0)}
	case errors.Is(err, ErrSlowDown), reason == failure.ExternalSystemThrottled:
		return response{result: throttled}
	case errors.Is(err, ErrRefused), reason == failure.ExternalSystemRefused:
		return response{result: refused}
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded), errors.As(err, &network),
		reason == failure.ExternalSystemUnreachable, reason == failure.ExternalSystemUntrusted:
		return classifyNoResponse(err)
	default:
		return response{result: serverError}
	}
}

// classifyNoResponse describes a call without a response in words without address or port, which change from call to call: a
// condition must not.
func classifyNoResponse(err error) response {
	var timeout interface{ Timeout() bool }
	var lookup *net.DNSError
	_, late := errors.AsType[*fence.Error](err)
	switch {
	case late, errors.Is(err, context.Canceled):
		return response{result: unknown}
	case errors.As(err, &lookup):
		return response{result: noResponse, why: "the name of the external system's host cannot be looked up"}
	case errors.Is(err, syscall.ECONNREFUSED):
		return response{result: noResponse, why: "the external system refuses connections"}
	case errors.As(err, &timeout) && timeout.Timeout():
		return response{result: noResponse, why: "the external system does not answer in time"}
	case failure.Of(err).Reason == failure.ExternalSystemUntrusted:
		return response{result: untrusted, why: "no secure connection to the external system can be established"}
	default:
		return response{result: noResponse, why: "the external system cannot be reached"}
	}
}
