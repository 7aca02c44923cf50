// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The cloud serves exactly the requests that the process sends, through the proxy as the provider's client reaches it.
func TestProxy(t *testing.T) {
	t.Parallel()
	create, update := "POST cloud/networks", "PATCH cloud/networks/*"
	cases := map[string]struct {
		kind     Kind
		done     []string // by the cloud
		answered []bool
		crashed  bool
	}{
		"no fault":     {"", []string{create, update, update, create}, []bool{true, true, true, true}, false},
		"crash before": {CrashBefore, []string{create, update}, []bool{true, true, false, false}, true},
		"crash after":  {CrashAfter, []string{create, update, update}, []bool{true, true, false, false}, true},
		"answer lost":  {AnswerLost, []string{create, update, update, create}, []bool{true, true, false, true}, false},
		"refused":      {Refused, []string{create, update, create}, []bool{true, true, false, true}, false},
		"overtaken":    {Overtaken, []string{create, update, "another client", update, create}, []bool{true, true, true, true}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var done []string
			cloud := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				request, _ := CloudRequest(r)
				done = append(done, request)
			}))
			t.Cleanup(cloud.Close)
			p, err := NewProxy(cloud.URL, CloudRequest)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(p.Close)
			process := &Process{At: Point{update, 2}, Kind: tc.kind}
			process.Overtake = func() error { done = append(done, "another client"); return nil }
			p.Follow(process)
			var answered []bool
			for _, request := range []string{"POST /networks", "PATCH /networks/a", "PATCH /networks/b", "POST /networks"} {
				method, path, _ := strings.Cut(request, " ")
				r, err := http.NewRequestWithContext(t.Context(), method, p.URL()+"/v1/projects/p"+path, strings.NewReader("{}"))
				if err != nil {
					t.Fatal(err)
				}
				r.Header.Set("Idempotency-Key", "one") // for Go's client a reason to send it again
				answer, err := http.DefaultClient.Do(r)
				if err == nil {
					answer.Body.Close()
				}
				answered = append(answered, err == nil && answer.StatusCode == http.StatusOK)
			}
			if diff := cmp.Diff(tc.done, done); diff != "" {
				t.Errorf("the cloud did -want +got:\n%s", diff)
			}
			if diff := cmp.Diff(tc.answered, answered); diff != "" {
				t.Errorf("answered -want +got:\n%s", diff)
			}
			if process.Crashed() != tc.crashed || process.Reached() != (tc.kind != "") {
				t.Errorf("crashed: %t, reached: %t", process.Crashed(), process.Reached())
			}
		})
	}
}

// A test that waits for a crash after a request must not cancel that request.
func TestFinished(t *testing.T) {
	t.Parallel()
	for kind, want := range map[Kind]bool{CrashBefore: true, CrashAfter: true, AnswerLost: false} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			process := &Process{At: Point{"PATCH a", 1}, Kind: kind}
			sent := false
			_, err := process.send("PATCH a", func() (*http.Response, error) {
				sent = true
				if process.Crashed() != (kind == CrashAfter) || process.Finished() {
					t.Errorf("while it is served: crashed: %t, finished: %t", process.Crashed(), process.Finished())
				}
				return &http.Response{Body: http.NoBody}, nil
			})
			if err == nil || sent != (kind != CrashBefore) || process.Finished() != want {
				t.Errorf("%v, sent: %t, finished: %t", err, sent, process.Finished())
			}
		})
	}
}

func TestOrder(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ met, want string }{
		"a repeated read is no new point":         {"GET a,GET a,PUT a,GET a,GET a,GET b,PUT b", "GET a,PUT a,GET a,GET b,PUT b"},
		"the end is the last change":              {"PUT a,GET a,GET b", "PUT a"},
		"what repeats while it waits is left out": {"PUT a,DEL a,GET a,DEL a,GET a,DEL a,GET a,PUT b", "PUT a,DEL a,GET a,DEL a,PUT b"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			process := &Process{}
			for request := range strings.SplitSeq(tc.met, ",") {
				process.count(request)
			}
			var got []string
			for _, p := range process.Order() {
				got = append(got, p.Request)
			}
			if diff := cmp.Diff(tc.want, strings.Join(got, ",")); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// A server that does not answer is asked at every poll whether its password is right.
func TestPolled(t *testing.T) {
	t.Parallel()
	check := "POST /v1/projects/p/cache/instances/a:checkPassword"
	cases := map[string]struct {
		between string
		want    bool
	}{
		"a question": {check, true},
		"a change":   {strings.TrimSuffix(check, ":checkPassword"), false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			process := &Process{}
			for range 3 {
				for _, request := range []string{"GET /v1/projects/p/cache/instances/a", tc.between} {
					method, path, _ := strings.Cut(request, " ")
					point, _ := CloudRequest(httptest.NewRequest(method, path, nil))
					process.count(point)
				}
			}
			if got := process.Polled(); got != tc.want {
				t.Errorf("%t after %s", got, process)
			}
		})
	}
}

func TestAPIRequest(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ request, want string }{
		"core":                {"POST /api/v1/namespaces/n/secrets", "POST secrets"},
		"namespaced":          {"PATCH /apis/g/v1/namespaces/n/kinds/o", "PATCH kinds.g"},
		"cluster-scoped":      {"PATCH /apis/g/v1/kinds/o", "PATCH kinds.g"},
		"subresource":         {"PATCH /apis/g/v1/namespaces/n/kinds/o/status", "PATCH kinds.g/status"},
		"read past the cache": {"GET /api/v1/namespaces/n/secrets/s", "GET secrets s"},
		"list past the cache": {"GET /apis/g/v1/kinds", "GET kinds.g (list)"},
		"Secret by UID":       {"GET /api/v1/namespaces/n/secrets/0e5f4b6c-58a5-4b4a-9d3b-6f0c2f6f5d11", "GET secrets UID"},
		"list by label":       {"GET /apis/g/v1/kinds?labelSelector=a%3Db", "GET kinds.g (list by label)"},
		"namespace":           {"GET /api/v1/namespaces/n", "GET namespaces"},
		"list of a cache":     {"GET /apis/g/v1/kinds?resourceVersion=0", ""},
		"watch":               {"GET /apis/g/v1/kinds?watch=true", ""},
		"discovery":           {"GET /apis/g/v1", ""},
		"definitions":         {"GET /apis/apiextensions.k8s.io/v1/customresourcedefinitions", ""},
		"discovery of core":   {"GET /api/v1", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			method, path, _ := strings.Cut(tc.request, " ")
			got, ok := APIRequest(httptest.NewRequest(method, path, nil))
			if got != tc.want || ok != (tc.want != "") {
				t.Errorf("%q, %t, want %q", got, ok, tc.want)
			}
		})
	}
}
