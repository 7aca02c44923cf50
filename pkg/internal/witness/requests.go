// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package witness lets tests see what a controller does, and disturb it.
//
// Its one idea: the world knows a controller by its requests and its events. Requests and Writes see the former and may refuse
// them, a Life ends at one of them, and Events keeps the latter. ByHand is for tests that make its passes themselves.
package witness

import (
	"io"
	"net/http"
	"sync"

	"k8s.io/client-go/rest"
)

type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

// Requests returns access whose requests do answers, by sending them to next or otherwise.
func Requests(config *rest.Config, do func(r *http.Request, next http.RoundTripper) (*http.Response, error)) *rest.Config {
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return transport(func(r *http.Request) (*http.Response, error) { return do(r, next) })
	})
	return config
}

// Writes returns access whose requests that change something, as METHOD path, are asked about first: refuse is returned in place
// of sending one, lose in place of its answer.
func Writes(config *rest.Config, ask func(request string) (refuse, lose error)) *rest.Config {
	return Requests(config, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		if r.Method == http.MethodGet {
			return next.RoundTrip(r)
		}
		refuse, lose := ask(r.Method + " " + r.URL.Path)
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

// IsWatch is true for the request of a watch.
func IsWatch(r *http.Request) bool { return r.URL.Query().Get("watch") != "" }

// OnClose has do called when somebody closes the answer, as at the end of a watch.
func OnClose(answer *http.Response, do func()) {
	answer.Body = &body{answer.Body, sync.OnceFunc(do)}
}

type body struct {
	io.ReadCloser
	closed func()
}

func (b *body) Close() error {
	b.closed()
	return b.ReadCloser.Close()
}
