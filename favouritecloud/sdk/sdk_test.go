// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package sdk_test

import (
	"context"
	"encoding/json"
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

	"github.com/google/go-cmp/cmp"

	"github.com/bowline-dev/bowline/favouritecloud/sdk"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/cache"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/database"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/network"
)

const secret = "fck_id_verysecret"

func newClient(t *testing.T, endpoint string) *database.Client {
	t.Helper()
	c, err := sdk.NewClient(sdk.Config{Endpoint: endpoint, Project: "demo", APIKey: secret})
	if err != nil {
		t.Fatal(err)
	}
	return database.NewClient(c)
}

func TestErrorsAreTyped(t *testing.T) {
	t.Parallel()
	type classes struct{ NotFound, Exists, Connection bool }
	cases := map[string]struct {
		retryAfter, body string
		want             sdk.APIError
		is               classes
		text             string
	}{
		"not found": {"", `{"error":{"code":"not_found","message":"no db"}}`,
			sdk.APIError{Status: 404, Code: sdk.CodeNotFound, Message: "no db"}, classes{NotFound: true}, "no db (not_found)"},
		"exists": {"", `{"error":{"code":"exists","message":"taken"}}`,
			sdk.APIError{Status: 409, Code: sdk.CodeExists, Message: "taken"}, classes{Exists: true}, "taken (exists)"},
		"throttled": {"7", `{"error":{"code":"throttled","message":"slow"}}`,
			sdk.APIError{Status: 429, Code: sdk.CodeThrottled, Message: "slow", RetryDelay: 7 * time.Second}, classes{},
			"slow (throttled)"},
		"past date": {"Mon, 02 Jan 2006 15:04:05 GMT", `{"error":{"code":"internal","message":"no"}}`,
			sdk.APIError{Status: 503, Code: sdk.CodeInternal, Message: "no"}, classes{}, "no (internal)"},
		"not ours": {"", `<html>bad gateway</html>`,
			sdk.APIError{Status: 502, Message: "unexpected answer: the endpoint is not a favourite cloud"}, classes{},
			"unexpected answer: the endpoint is not a favourite cloud (HTTP 502)"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", tc.retryAfter)
				w.WriteHeader(tc.want.Status)
				_, _ = w.Write([]byte(tc.body))
			}))
			defer server.Close()
			_, err := newClient(t, server.URL).Get(t.Context(), "x")
			got, ok := errors.AsType[*sdk.APIError](err)
			if !ok || !cmp.Equal(tc.want, *got) || err.Error() != tc.text {
				t.Errorf("error %v, want %q; %+v, want %+v", err, tc.text, got, tc.want)
			}
			if is := (classes{sdk.IsNotFound(err), sdk.IsExists(err), sdk.IsConnection(err)}); is != tc.is {
				t.Errorf("classes %+v, want %+v", is, tc.is)
			}
			// A library for many clouds finds the delay without this package.
			var delay interface{ RetryAfter() time.Duration }
			if !errors.As(fmt.Errorf("creating: %w", err), &delay) || delay.RetryAfter() != tc.want.RetryDelay {
				t.Errorf("delay %v", delay)
			}
		})
	}
}

// Workers share a client: an answer without an id, as of a gateway, must not hide the id that another one needs.
func TestCloudIsTheLastIDInAnAnswer(t *testing.T) {
	t.Parallel()
	var id string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set(sdk.HeaderCloud, id)
		w.WriteHeader(http.StatusNotFound)
	}))
	defer server.Close()
	c, err := sdk.NewClient(sdk.Config{Endpoint: server.URL, Project: "demo", APIKey: secret})
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct{ id, want string }{{"", ""}, {"abc", "abc"}, {"", "abc"}, {"copy/abc", "copy/abc"}} {
		id = step.id
		if _, err := database.NewClient(c).Get(t.Context(), "x"); err == nil || c.Cloud() != step.want {
			t.Errorf("after an answer with the id %q the cloud is %q, want %q; error %v", step.id, c.Cloud(), step.want, err)
		}
	}
}

func TestConnectionErrors(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	_, err := newClient(t, server.URL).Get(t.Context(), "x")
	if !sdk.IsConnection(err) || !strings.Contains(err.Error(), server.URL+" (is the cloud running?)") {
		t.Errorf("error %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := newClient(t, server.URL).Get(ctx, "x"); !errors.Is(err, context.Canceled) {
		t.Errorf("error of a cancelled call: %v", err)
	}
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
	const endpoint = "http://127.0.0.1:7070/"
	cases := map[string]struct {
		config sdk.Config
		want   string
	}{
		"good":           {sdk.Config{Endpoint: endpoint, Project: "demo", APIKey: secret}, ""},
		"no endpoint":    {sdk.Config{Project: "demo", APIKey: secret}, "not a URL"},
		"no scheme":      {sdk.Config{Endpoint: "127.0.0.1:7070", Project: "demo", APIKey: secret}, "endpoint"},
		"other protocol": {sdk.Config{Endpoint: "ftp://x", Project: "demo", APIKey: secret}, "not a URL"},
		"line end":       {sdk.Config{Endpoint: endpoint, Project: "demo", APIKey: secret + "\n"}, "API key contains"},
		"two at a time":  {sdk.Config{Endpoint: endpoint}, "project is required\nAPI key is required"},
	}
	for name, tc := range cases {
		_, err := sdk.NewClient(tc.config)
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: error %v, want %q", name, err, tc.want)
		}
		if err != nil && strings.Contains(err.Error(), "verysecret") {
			t.Errorf("%s: the error shows the key: %v", name, err)
		}
	}
	if _, err := sdk.NewAdminClient(endpoint, ""); err == nil {
		t.Error("no token is no error")
	}
}

func TestRequestsCarryKeyAndOptions(t *testing.T) {
	t.Parallel()
	var got []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Method+" "+r.URL.RequestURI(), r.Header.Get("Authorization"), r.Header.Get("Idempotency-Key"))
		w.Header().Set("Idempotent-Replayed", "true")
		_, _ = w.Write([]byte(`{"instances":[{"name":"orders"}]}`))
	}))
	defer server.Close()
	c := newClient(t, server.URL+"/")
	created, createErr := c.Create(t.Context(), database.CreateInstanceInput{}, sdk.WithIdempotencyKey("k"))
	list, listErr := c.List(t.Context(), map[string]string{"a/b": "c d"})
	if err := errors.Join(createErr, listErr); err != nil || !created.Replayed || len(list) != 1 || list[0].Name != "orders" {
		t.Errorf("created %+v, listed %+v, error %v", created, list, err)
	}
	const path = "/v1/projects/demo/database/instances"
	want := []string{"POST " + path, "Bearer " + secret, "k", "GET " + path + "?label=a%2Fb%3Dc+d", "Bearer " + secret, ""}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// An unset field of an update keeps its value, an empty one removes it.
func TestUpdateDistinguishesUnsetFromEmpty(t *testing.T) {
	t.Parallel()
	none := map[string]string{}
	for want, in := range map[string]any{
		`{"fanciness_level":20}`:                 database.UpdateInstanceInput{FancinessLevel: new(20)},
		`{"password":"","labels":{}}`:            database.UpdateInstanceInput{Password: new(""), Labels: none},
		`{"eviction_policy":"none","labels":{}}`: cache.UpdateInstanceInput{EvictionPolicy: new("none"), Labels: none},
		`{"description":"","dns_servers":[],"labels":{}}`: network.UpdateNetworkInput{
			Description: new(""), DNSServers: &[]string{}, Labels: none,
		},
		`[{"labels":{"a":"b"}},{},{}]`: []any{
			database.UpdateInstanceInput{Labels: map[string]string{"a": "b"}}, cache.UpdateInstanceInput{}, network.UpdateNetworkInput{},
		},
	} {
		if got, err := json.Marshal(in); err != nil || string(got) != want {
			t.Errorf("got %s, error %v; want %s", got, err, want)
		}
	}
}
