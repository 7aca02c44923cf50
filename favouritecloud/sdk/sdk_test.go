// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package sdk_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bowline-dev/bowline/favouritecloud/sdk"
)

const secret = "fck_id_verysecret"

func newClient(t *testing.T, endpoint string) *sdk.Client {
	t.Helper()
	c, err := sdk.NewClient(sdk.Config{Endpoint: endpoint, Project: "demo", APIKey: secret})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestErrorsAreTyped(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		status  int
		header  string // Retry-After
		body    string
		is      func(error) bool
		wait    time.Duration
		message string
	}{
		"not found":    {status: 404, body: `{"error":{"code":"not_found","message":"no db"}}`, is: sdk.IsNotFound, message: "no db (not_found)"},
		"exists":       {status: 409, body: `{"error":{"code":"exists","message":"taken"}}`, is: sdk.IsExists, message: "taken (exists)"},
		"conflict":     {status: 409, body: `{"error":{"code":"conflict","message":"going"}}`, is: sdk.IsConflict, message: "going (conflict)"},
		"throttled":    {status: 429, header: "7", body: `{"error":{"code":"throttled","message":"slow down"}}`, is: sdk.IsThrottled, wait: 7 * time.Second, message: "slow down (throttled)"},
		"unauthorized": {status: 401, body: `{"error":{"code":"unauthorized","message":"who?"}}`, is: sdk.IsUnauthorized, message: "who? (unauthorized)"},
		"forbidden":    {status: 403, body: `{"error":{"code":"forbidden","message":"no"}}`, is: sdk.IsForbidden, message: "no (forbidden)"},
		"invalid":      {status: 422, body: `{"error":{"code":"invalid","message":"bad"}}`, is: sdk.IsInvalid, message: "bad (invalid)"},
		"not ours":     {status: 502, body: `<html>bad gateway</html>`, is: func(error) bool { return true }, message: "unexpected answer: the endpoint is not a favourite cloud (HTTP 502)"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if tc.header != "" {
					w.Header().Set("Retry-After", tc.header)
				}
				w.WriteHeader(tc.status)
				_, _ = w.Write([]byte(tc.body))
			}))
			defer server.Close()
			_, err := newClient(t, server.URL).Do(t.Context(), sdk.Request{Method: http.MethodGet, Path: "x"}, nil)
			if err == nil || err.Error() != tc.message || !tc.is(err) {
				t.Errorf("error %v, want %q", err, tc.message)
			}
			if wait, ok := sdk.RetryAfter(err); wait != tc.wait || ok != (tc.wait > 0) {
				t.Errorf("retry after %s, %t; want %s", wait, ok, tc.wait)
			}
			if got, want := sdk.IsRefused(err), tc.status < 500 && tc.status != 429; got != want {
				t.Errorf("refused: %t", got)
			}
			if got := sdk.IsUnavailable(err); got != (tc.status >= 500) {
				t.Errorf("unavailable: %t", got)
			}
			others := 0
			for _, is := range []func(error) bool{sdk.IsNotFound, sdk.IsExists, sdk.IsConflict, sdk.IsThrottled, sdk.IsUnauthorized, sdk.IsForbidden, sdk.IsInvalid, sdk.IsConnection} {
				if is(err) {
					others++
				}
			}
			if others > 1 {
				t.Errorf("error %v is of %d types", err, others)
			}
		})
	}
}

func TestConnectionErrors(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	_, err := newClient(t, server.URL).Do(t.Context(), sdk.Request{Method: http.MethodGet, Path: "x"}, nil)
	if !sdk.IsConnection(err) || !sdk.IsUnavailable(err) || sdk.IsRefused(err) || !strings.Contains(err.Error(), server.URL) || !strings.Contains(err.Error(), "is the cloud running?") {
		t.Errorf("error %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := newClient(t, server.URL).Do(ctx, sdk.Request{Method: http.MethodGet, Path: "x"}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("error of a cancelled call: %v", err)
	}
}

func TestConnectionErrorIsNetError(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		cause              error
		timeout, temporary bool
	}{
		"deadline":      {context.DeadlineExceeded, true, true},
		"read deadline": {fmt.Errorf("reading answer: %w", os.ErrDeadlineExceeded), true, true},
		"refused":       {os.NewSyscallError("connect", syscall.ECONNREFUSED), false, false},
		"no files left": {os.NewSyscallError("socket", syscall.EMFILE), false, true},
		"cancelled":     {context.Canceled, false, false},
		"nothing":       {nil, false, false},
	}
	for name, tc := range cases {
		err := &sdk.ConnectionError{Err: tc.cause}
		if _, is := error(err).(net.Error); !is || err.Timeout() != tc.timeout || err.Temporary() != tc.temporary {
			t.Errorf("%s: net.Error %t, timeout %t, temporary %t", name, is, err.Timeout(), err.Temporary())
		}
	}
}

func TestNewClientRefusesBadConfiguration(t *testing.T) {
	t.Parallel()
	good := sdk.Config{Endpoint: "http://127.0.0.1:7070/", Project: "demo", APIKey: secret}
	cases := map[string]struct {
		edit func(*sdk.Config)
		want string
	}{
		"good":           {func(*sdk.Config) {}, ""},
		"no endpoint":    {func(c *sdk.Config) { c.Endpoint = "" }, "not a URL"},
		"no scheme":      {func(c *sdk.Config) { c.Endpoint = "127.0.0.1:7070" }, "endpoint"},
		"no project":     {func(c *sdk.Config) { c.Project = "" }, "project is required"},
		"no key":         {func(c *sdk.Config) { c.APIKey = "" }, "API key is required"},
		"key with a nl":  {func(c *sdk.Config) { c.APIKey += "\n" }, "API key contains"},
		"two at a time":  {func(c *sdk.Config) { c.Project, c.APIKey = "", "" }, "project is required\nAPI key is required"},
		"other protocol": {func(c *sdk.Config) { c.Endpoint = "ftp://x" }, "not a URL"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := good
			tc.edit(&c)
			_, err := sdk.NewClient(c)
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
			if err != nil && strings.Contains(err.Error(), "verysecret") {
				t.Errorf("error shows the key: %v", err)
			}
		})
	}
}

func TestRequestsCarryKeyAndOptions(t *testing.T) {
	t.Parallel()
	var got *http.Request
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.Clone(context.Background())
		w.Header().Set("Idempotent-Replayed", "true")
		_, _ = w.Write([]byte(`{}`))
	}))
	defer server.Close()
	answer, err := newClient(t, server.URL+"/").Do(t.Context(), sdk.Request{Method: http.MethodPost, Path: "a/b", Body: 1}, &struct{}{}, sdk.WithIdempotencyKey("k"))
	if err != nil {
		t.Fatal(err)
	}
	if !answer.Replayed || got.URL.Path != "/v1/projects/demo/a/b" || got.Header.Get("Authorization") != "Bearer "+secret || got.Header.Get("Idempotency-Key") != "k" {
		t.Errorf("answer %+v to %s with %v", answer, got.URL.Path, got.Header)
	}
}
