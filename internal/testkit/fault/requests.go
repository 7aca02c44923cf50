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
	"regexp"
	"strings"
	"sync"
	"sync/atomic"

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
	sent := arrivals(current, name, next)
	return transport(func(r *http.Request) (*http.Response, error) {
		if _, ok := name(r); ok {
			current().awaitWake()
		}
		return sent.RoundTrip(r)
	})
}

// arrivals is Transport for requests that have left the process: if it is frozen meanwhile, they arrive all the same.
func arrivals(current func() *Process, name func(*http.Request) (request string, ok bool), next http.RoundTripper) http.RoundTripper {
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

// question ends the name of a request that asks the favourite cloud whether a password is right, and changes nothing. It may be asked at
// every poll, where the server does not answer.
const question = ":checkPassword"

func isRead(request string) bool {
	return strings.HasPrefix(request, http.MethodGet+" ") || strings.HasSuffix(request, question)
}

// Listed ends the name of an uncached list without a label selector.
const Listed = " (list)"

const selected = " (list by label)"

// uid matches the names of connection Secrets that were created for claims.
var uid = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// APIRequest names a request to the API server without the names of objects, "PATCH nodegroups.compute.fcp.m.crossplane.io",
// but with those of Secrets, unless these are UIDs. Requests of caches and of discovery have no name.
func APIRequest(r *http.Request) (request string, ok bool) {
	path := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	group := ""
	switch {
	case len(path) >= 3 && path[0] == "api":
		path = path[2:]
	case len(path) >= 4 && path[0] == "apis":
		group, path = "."+path[1], path[3:]
	default:
		return "", false
	}
	if path[0] == "namespaces" && len(path) > 2 {
		path = path[2:]
	}
	query := r.URL.Query()
	forCaches := query.Get("watch") != "" || query.Get("resourceVersion") != "" || path[0] == "customresourcedefinitions"
	if r.Method == http.MethodGet && forCaches {
		return "", false
	}
	request = r.Method + " " + path[0] + group
	switch {
	case len(path) > 2:
		request += "/" + strings.Join(path[2:], "/")
	case len(path) == 2 && path[0] == "secrets":
		request += " " + uid.ReplaceAllString(path[1], "UID")
	case len(path) == 1 && r.Method == http.MethodGet && query.Get("labelSelector") != "":
		request += selected
	case len(path) == 1 && r.Method == http.MethodGet:
		request += Listed
	}
	return request, true
}

// CloudRequest names a request to the favourite cloud without the names of resources: "GET cloud/networks/*".
func CloudRequest(r *http.Request) (request string, ok bool) {
	_, path, ok := strings.Cut(strings.TrimPrefix(r.URL.Path, "/v1/projects/"), "/")
	if !ok {
		return "", false
	}
	parts := strings.Split(path, "/")
	collection := 1
	if parts[0] == "database" {
		collection = 2
	}
	if len(parts) > collection {
		what := "*"
		if strings.HasSuffix(path, question) {
			what += question
		}
		parts = append(parts[:collection], what)
	}
	return r.Method + " cloud/" + strings.Join(parts, "/"), true
}

// A Proxy puts faults into the requests to a vendor whose client takes an address only.
type Proxy struct {
	process atomic.Pointer[Process]
	server  *httptest.Server
	vendor  *http.Transport
}

// NewProxy starts a proxy in front of the vendor's URL. The requests that name gives a name are points of the process.
func NewProxy(endpoint string, name func(*http.Request) (request string, ok bool)) (*Proxy, error) {
	target, err := url.Parse(endpoint)
	if err != nil {
		return nil, err
	}
	// The default transport is closed by each server of package httptest that ends, and may lose an answer then.
	p := &Proxy{vendor: &http.Transport{}}
	reverse := &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport: arrivals(p.process.Load, name, p.vendor),
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
func (p *Proxy) Close() {
	p.server.Close()
	p.vendor.CloseIdleConnections()
}
