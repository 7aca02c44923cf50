// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

func TestContains(t *testing.T) {
	t.Parallel()
	type fields = map[string]any
	whole := fields{"metadata": fields{"name": "a", "uid": "1"}, "rules": []any{fields{"verbs": []any{"get", "list"}}}}
	for name, tc := range map[string]struct {
		part fields
		want bool
	}{
		"itself":            {whole, true},
		"fewer fields":      {fields{"metadata": fields{"name": "a"}}, true},
		"another value":     {fields{"metadata": fields{"name": "b"}}, false},
		"one field more":    {fields{"metadata": fields{"name": "a", "labels": fields{"x": "y"}}}, false},
		"a list with less":  {fields{"rules": []any{fields{"verbs": []any{"get"}}}}, false},
		"an absent list":    {fields{"subjects": []any{}}, false},
		"a map for a value": {fields{"metadata": fields{"name": fields{}}}, false},
	} {
		if got := contains(whole, tc.part); got != tc.want {
			t.Errorf("%s: got %v, want %v", name, got, tc.want)
		}
	}
}

func TestSpansWanted(t *testing.T) {
	t.Parallel()
	const endpoint, traces = "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
	const protocol = "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"
	for name, tc := range map[string]struct {
		env  map[string]string
		want bool
		err  string // a part of it
	}{
		"nothing":                 {nil, false, ""},
		"an endpoint":             {map[string]string{endpoint: "http://c:4317"}, true, ""},
		"an endpoint of traces":   {map[string]string{traces: "http://c:4317", "OTEL_TRACES_EXPORTER": "otlp"}, true, ""},
		"grpc":                    {map[string]string{endpoint: "http://c:4317", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, true, ""},
		"disabled":                {map[string]string{endpoint: "http://c:4317", "OTEL_SDK_DISABLED": "TRUE"}, false, ""},
		"no exporter":             {map[string]string{endpoint: "http://c:4317", "OTEL_TRACES_EXPORTER": "none"}, false, ""},
		"another exporter":        {map[string]string{endpoint: "http://c:4317", "OTEL_TRACES_EXPORTER": "zipkin"}, false, "zipkin"},
		"another protocol":        {map[string]string{endpoint: "http://c:4318", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"}, false, "4317"},
		"the protocol of traces":  {map[string]string{traces: "http://c:4318", protocol: "http/json"}, false, "TRACES_"},
		"a protocol for nothing":  {map[string]string{"OTEL_EXPORTER_OTLP_PROTOCOL": "http/json"}, false, ""},
		"another one for nothing": {map[string]string{"OTEL_TRACES_EXPORTER": "zipkin"}, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := spansWanted(func(name string) string { return tc.env[name] })
			if got != tc.want || (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Errorf("%t, %v, want %t, %q", got, err, tc.want, tc.err)
			}
		})
	}
}

// The controllers send tokens of their own account, which are renewed after half of their life, and nothing of the
// administrator's identity.
func TestControllersAccess(t *testing.T) {
	t.Parallel()
	var requested authenticationv1.TokenRequest
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := json.NewDecoder(r.Body).Decode(&requested); err != nil {
			t.Error(err)
		}
		requested.Status = authenticationv1.TokenRequestStatus{Token: "theirs", ExpirationTimestamp: metav1.NewTime(time.Now().Add(tokenLife))}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(&requested)
	}))
	defer api.Close()
	client, err := kubernetes.NewForConfig(&rest.Config{Host: api.URL, ContentConfig: rest.ContentConfig{ContentType: "application/json"}})
	if err != nil {
		t.Fatal(err)
	}
	sent := http.Header{}
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { sent = r.Header }))
	defer server.Close()
	admin := &rest.Config{Host: server.URL, BearerToken: "secret", Username: "admin", Password: "secret",
		TLSClientConfig: rest.TLSClientConfig{CAData: []byte("ca"), CertData: []byte("cert"), KeyData: []byte("key")}}
	source := tokenSource{client: client}

	cfg := controllersAccess(admin, source)
	if cfg.BearerToken != "" || cfg.Username != "" || cfg.Password != "" || cfg.CertData != nil || cfg.KeyData != nil {
		t.Errorf("the administrator's identity is passed on: %s", cfg)
	}
	if string(cfg.CAData) != "ca" || cfg.Insecure {
		t.Errorf("the server's authority is lost: %s", cfg)
	}
	cfg.CAData = nil // the test's server has no TLS
	c, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	c.RESTClient().Get().AbsPath("/readyz").Do(context.WithoutCancel(t.Context()))
	if got := sent.Get("Authorization"); got != "Bearer theirs" {
		t.Errorf("the controllers send %q", got)
	}
	if got := *requested.Spec.ExpirationSeconds; got != int64(tokenLife.Seconds()) {
		t.Errorf("the token lives %d seconds", got)
	}
	token, err := source.Token()
	if err != nil || time.Until(token.Expiry) > tokenLife/2 || time.Until(token.Expiry) < tokenLife/2-time.Minute {
		t.Errorf("the token is renewed at %v, %v", token, err)
	}
}

// recorder makes services that record the order in which they end.
type recorder struct{ ended []string }

func (r *recorder) service(name string) Service {
	return Service{Name: name, Run: func(ctx context.Context) error {
		<-ctx.Done()
		r.ended = append(r.ended, name) // stop waits for one after the other
		return nil
	}}
}

func failing(name string, err error) Service {
	return Service{Name: name, ListenFlag: "--listen", Ready: make(chan struct{}), Run: func(context.Context) error { return err }}
}

func TestStackStopsInReverse(t *testing.T) {
	var r recorder
	s := newStack()
	for _, name := range []string{"server", "cloud", "controllers"} {
		if err := s.Start(t.Context(), r.service(name)); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.wait(ctx); err != nil {
		t.Errorf("being asked to stop is no failure: %v", err)
	}
	if err := s.stop(); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"controllers", "cloud", "server"}, r.ended); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestStackFailures(t *testing.T) {
	broken := errors.New("broken")
	cases := map[string]struct {
		reason string
		svc    Service
		want   string // a part of the error
	}{
		"Failed":       {"The cause must be seen.", failing("cloud", broken), "running cloud: broken"},
		"Ended":        {"A service that ends without an error is a failure too.", failing("cloud", nil), "cloud ended unexpectedly"},
		"AddressTaken": {"The flag to change must be named.", failing("cloud", syscall.EADDRINUSE), "(the flag is --listen)"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var r recorder
			s := newStack()
			if err := s.Start(t.Context(), r.service("server")); err != nil {
				t.Fatal(err)
			}
			if err := s.Start(t.Context(), tc.svc); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s Got: %v", tc.reason, err)
			}
			if err := s.stop(); err != nil {
				t.Errorf("stopping: %v", err)
			}
			if diff := cmp.Diff([]string{"server"}, r.ended); diff != "" {
				t.Errorf("the others must be stopped: -want +got:\n%s", diff)
			}
		})
	}
}

// A service that keeps what it took over needs to know whether a person stops it.
func TestFailureAbandons_N68(t *testing.T) {
	broken := errors.New("broken")
	for name, tc := range map[string]struct {
		start, run error // failures
		want       string
	}{
		"a failed start": {start: broken, want: "abandoned, cleaned up: false"},
		"a failure":      {run: broken, want: "abandoned, cleaned up: true"},
		"a stop":         {want: "stopped, cleaned up: true"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			got, abandoned, cleaned := "", false, false
			err := Run(ctx, func(ctx context.Context, s *Stack) error {
				s.Launch(ctx, Service{Name: "cloud", Abandon: func() { abandoned = true }, Run: func(ctx context.Context) error {
					<-ctx.Done()
					if got = "stopped"; abandoned {
						got = "abandoned"
					}
					return nil
				}})
				if tc.run != nil {
					s.Launch(ctx, failing("server", tc.run))
				} else if tc.start == nil {
					cancel()
				}
				return tc.start
			}, func() error {
				cleaned = true
				return nil
			})
			if got = fmt.Sprintf("%s, cleaned up: %t", got, cleaned); got != tc.want || (err == nil) != (tc.start == nil && tc.run == nil) {
				t.Errorf("%s, %v, want %s", got, err, tc.want)
			}
		})
	}
}

func TestRunInterruptedStart(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	err := Run(ctx, func(ctx context.Context, s *Stack) error {
		cancel()
		return s.Start(ctx, Service{Name: "server", Ready: make(chan struct{}), Run: func(ctx context.Context) error {
			<-ctx.Done()
			return nil
		}})
	}, func() error { return errors.New("cleaned up what never started") })
	if err != nil {
		t.Errorf("Ctrl-C during the start is no failure: %v", err)
	}
}
