// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package inspection counts what the controllers of the bench do, and reports it to the harness.
package inspection

import (
	"expvar"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"runtime/pprof"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
)

// Counted counts the requests by their names.
func Counted(next http.RoundTripper, requests *expvar.Map) http.RoundTripper {
	return counted(func(r *http.Request) (*http.Response, error) {
		requests.Add(requestName(r), 1)
		return next.RoundTrip(r)
	})
}

type counted func(*http.Request) (*http.Response, error)

func (c counted) RoundTrip(r *http.Request) (*http.Response, error) { return c(r) }

var requestInfo = apirequest.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api")}

// requestName names a request as RBAC does, for example "patch items/status"; one without a resource by method and path.
func requestName(r *http.Request) string {
	info, err := requestInfo.NewRequestInfo(r)
	switch {
	case err != nil || !info.IsResourceRequest:
		return strings.ToLower(r.Method) + " " + r.URL.Path
	case info.Subresource != "":
		return info.Verb + " " + info.Resource + "/" + info.Subresource
	}
	return info.Verb + " " + info.Resource
}

// Handler answers the harness: what was counted, the memory that is in use after a collection of garbage, and profiles of the time
// between POST and DELETE.
func Handler(requests, calls *expvar.Map) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /counts", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"Requests": %s, "Calls": %s}`, requests, calls)
	})
	mux.HandleFunc("GET /heap", func(w http.ResponseWriter, _ *http.Request) {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		fmt.Fprint(w, m.HeapAlloc)
	})
	var profile *os.File // the harness sends one request at a time
	mux.HandleFunc("POST /profile", func(w http.ResponseWriter, r *http.Request) {
		var err error
		if profile, err = os.Create(r.URL.Query().Get("file")); err == nil {
			err = pprof.StartCPUProfile(profile)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	})
	mux.HandleFunc("DELETE /profile", func(w http.ResponseWriter, _ *http.Request) {
		pprof.StopCPUProfile()
		if err := profile.Close(); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	})
	return mux
}
