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
)

// Transport returns a transport that makes its requests by next, http.DefaultTransport if that is nil, when they may be
// made. Answers are passed on unchanged. Its errors are those of next, *Throttled, *Unauthenticated, or that of a context
// that ended before.
func (l *Limiter) Transport(next http.RoundTripper) http.RoundTripper {
	if next == nil {
		next = http.DefaultTransport
	}
	return &transport{limiter: l, next: next}
}

type transport struct {
	limiter *Limiter
	next    http.RoundTripper
}

// RoundTrip makes a request when it may be made.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	under, err := t.limiter.begin(req.Context())
	if err != nil {
		if req.Body != nil {
			req.Body.Close() // as every RoundTripper does
		}
		return nil, err
	}
	heard := outcome{} // a transport that panics says nothing about the system
	defer func() { t.limiter.end(under, heard) }()
	resp, err := t.next.RoundTrip(req)
	if err != nil {
		heard = judgeSilence(err)
		return nil, err
	}
	heard = t.limiter.judgeAnswer(resp)
	return resp, nil
}

func (l *Limiter) judgeAnswer(resp *http.Response) outcome {
	l.mu.Lock()
	forbidden := l.config.ForbiddenIsRefusal
	l.mu.Unlock()
	after, said := retryAfter(resp.Header.Get("Retry-After"), l.now())
	switch code := resp.StatusCode; {
	case code == http.StatusTooManyRequests, code == http.StatusServiceUnavailable && said:
		return outcome{verdict: slowDown, after: after}
	case code == http.StatusUnauthorized, code == http.StatusForbidden && forbidden:
		return outcome{verdict: refused}
	case code >= http.StatusInternalServerError:
		return outcome{verdict: troubled}
	default:
		return outcome{verdict: served}
	}
}

// retryAfter reads the header of that name: seconds, or a date. It says whether there is one; a time that is not in the
// future is zero.
func retryAfter(header string, now time.Time) (after time.Duration, said bool) {
	header = strings.TrimSpace(header)
	if seconds, err := strconv.ParseUint(header, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second, true
	}
	if at, err := http.ParseTime(header); err == nil {
		return max(at.Sub(now), 0), true
	}
	return 0, false
}

// judge says what the error of a call that Do made tells about the external system.
func judge(err error) outcome {
	var later interface{ RetryAfter() time.Duration }
	var network net.Error
	switch {
	case err == nil:
		return outcome{verdict: served}
	case errors.As(err, &later):
		return outcome{verdict: slowDown, after: max(later.RetryAfter(), 0)}
	case errors.Is(err, ErrSlowDown):
		return outcome{verdict: slowDown}
	case errors.Is(err, ErrRefused):
		return outcome{verdict: refused}
	case errors.Is(err, context.Canceled), errors.As(err, &network), errors.Is(err, context.DeadlineExceeded):
		return judgeSilence(err)
	default:
		return outcome{verdict: troubled}
	}
}

// judgeSilence says what the error of a call tells that got no answer. Its words name no address or port: those change
// from call to call, and a condition must not.
func judgeSilence(err error) outcome {
	var timeout interface{ Timeout() bool }
	var name *net.DNSError
	switch {
	case errors.Is(err, context.Canceled):
		return outcome{verdict: unclear}
	case errors.As(err, &name):
		return outcome{verdict: silent, why: "the name of the external system's host cannot be looked up"}
	case errors.Is(err, syscall.ECONNREFUSED):
		return outcome{verdict: silent, why: "the external system refuses connections"}
	case errors.As(err, &timeout) && timeout.Timeout():
		return outcome{verdict: silent, why: "the external system does not answer in time"}
	default:
		return outcome{verdict: silent, why: "the external system cannot be reached"}
	}
}
