// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
)

// A Proxy puts faults into the requests to a vendor whose client takes an address only.
type Proxy struct {
	process atomic.Pointer[Process]
	server  *httptest.Server
}

// NewProxy starts a proxy in front of the vendor's URL. The requests that name gives a name are points of the process.
func NewProxy(endpoint string, name func(*http.Request) (request string, ok bool)) (*Proxy, error) {
	target, err := url.Parse(endpoint)
	if err != nil {
		return nil, err
	}
	p := &Proxy{}
	reverse := &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport: Transport(p.process.Load, name, http.DefaultTransport),
		ErrorLog:  log.New(io.Discard, "", 0),
		// The client sees its connection end without an answer.
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	p.server = httptest.NewUnstartedServer(reverse)
	// On a reused connection Go's client would repeat a request that got no answer.
	p.server.Config.SetKeepAlivesEnabled(false)
	p.server.Config.ErrorLog = reverse.ErrorLog
	p.server.Start()
	return p, nil
}

// URL of the proxy.
func (p *Proxy) URL() string { return p.server.URL }

// Follow makes all further requests those of the process.
func (p *Proxy) Follow(process *Process) { p.process.Store(process) }

// Close stops the proxy.
func (p *Proxy) Close() { p.server.Close() }
