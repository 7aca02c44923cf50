// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
)

// A proxy stands between the processes of a site, one after the other, and the cloud.
type proxy struct {
	life   atomic.Pointer[lifeline]
	server *httptest.Server
}

func newProxy(endpoint string) (*proxy, error) {
	target, err := url.Parse(endpoint)
	if err != nil {
		return nil, err
	}
	p := &proxy{}
	reverse := &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport: tap{life: p.life.Load, name: cloudRequest, next: http.DefaultTransport},
		ErrorLog:  log.New(io.Discard, "", 0),
		// The caller sees its connection end without an answer.
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	p.server = httptest.NewUnstartedServer(reverse)
	// On a connection that was used before, Go's client would send a request again that got no answer.
	p.server.Config.SetKeepAlivesEnabled(false)
	p.server.Config.ErrorLog = reverse.ErrorLog
	p.server.Start()
	return p, nil
}
