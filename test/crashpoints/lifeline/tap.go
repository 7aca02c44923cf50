// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package lifeline

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
)

// A Tap puts requests on the lifeline of a process.
type Tap struct {
	// Life is asked for at every request.
	Life func() *Life
	// Name names a request. One that is not ok is no point: it is sent while the process lives.
	Name func(*http.Request) (request string, ok bool)
	// Next sends requests.
	Next http.RoundTripper
}

// RoundTrip sends the request if the process is alive.
func (t Tap) RoundTrip(r *http.Request) (*http.Response, error) {
	life := t.Life()
	send := func() (*http.Response, error) { return t.Next.RoundTrip(r) }
	if request, ok := t.Name(r); ok {
		return life.do(request, send)
	}
	if life.IsDead() {
		return nil, errDead
	}
	return send()
}

// A Proxy stands between processes, one after the other, and the favourite cloud.
type Proxy struct {
	life   atomic.Pointer[Life]
	server *httptest.Server
}

// NewProxy starts a proxy in front of the cloud's URL.
func NewProxy(endpoint string) (*Proxy, error) {
	target, err := url.Parse(endpoint)
	if err != nil {
		return nil, err
	}
	p := &Proxy{}
	reverse := &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport: Tap{Life: p.life.Load, Name: CloudRequest, Next: http.DefaultTransport},
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

// URL is where the processes find the cloud.
func (p *Proxy) URL() string { return p.server.URL }

// Follow puts all requests from now on, those of the next process, on its lifeline.
func (p *Proxy) Follow(l *Life) { p.life.Store(l) }

// Close ends the proxy.
func (p *Proxy) Close() { p.server.Close() }
