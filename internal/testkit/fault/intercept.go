// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"io"
	"net/http"
	"strings"
	"sync"

	"k8s.io/client-go/rest"
)

type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

// Intercept returns a configuration whose requests answer serves, by sending them to next or otherwise.
func Intercept(config *rest.Config, answer func(r *http.Request, next http.RoundTripper) (*http.Response, error)) *rest.Config {
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return transport(func(r *http.Request) (*http.Response, error) { return answer(r, next) })
	})
	return config
}

// InterceptWrites returns a configuration whose requests that change something are first passed to fault, as METHOD path. Its
// result refuse replaces the request, lose the answer to it.
func InterceptWrites(config *rest.Config, fault func(request string) (refuse, lose error)) *rest.Config {
	return Intercept(config, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		if r.Method == http.MethodGet {
			return next.RoundTrip(r)
		}
		refuse, lose := fault(r.Method + " " + r.URL.Path)
		if refuse != nil {
			return nil, refuse
		}
		resp, err := next.RoundTrip(r)
		if err == nil && lose != nil {
			resp.Body.Close()
			return nil, lose
		}
		return resp, err
	})
}

// Transport sends the requests of the process that current returns. Those that name gives a name are points of it; the others are
// sent while the process is alive.
func Transport(current func() *Process, name func(*http.Request) (request string, ok bool), next http.RoundTripper) http.RoundTripper {
	return transport(func(r *http.Request) (*http.Response, error) {
		process := current()
		send := func() (*http.Response, error) { return next.RoundTrip(r) }
		if request, ok := name(r); ok {
			return process.send(request, send)
		}
		if process.Crashed() {
			return nil, ErrCrashed
		}
		return send()
	})
}

// refusal is an answer that clients of the API server and of the favourite cloud understand.
func refusal() *http.Response {
	const body = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"InternalError","code":500,"message":"no",
		"error":{"code":"internal","message":"no"}}`
	header := http.Header{"Content-Type": {"application/json"}}
	return &http.Response{StatusCode: http.StatusInternalServerError, ProtoMajor: 1, ProtoMinor: 1, Header: header,
		Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body))}
}

// IsWatch is true for the request of a watch.
func IsWatch(r *http.Request) bool { return r.URL.Query().Get("watch") != "" }

// OnClose calls closed when the client closes the answer, as at the end of a watch.
func OnClose(answer *http.Response, closed func()) {
	answer.Body = &body{answer.Body, sync.OnceFunc(closed)}
}

type body struct {
	io.ReadCloser
	closed func()
}

func (b *body) Close() error {
	b.closed()
	return b.ReadCloser.Close()
}
