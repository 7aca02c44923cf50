// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"expvar"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"

	"github.com/bowline-dev/bowline/internal/cli"
	"github.com/bowline-dev/bowline/internal/testkit"
	"github.com/bowline-dev/bowline/internal/testkit/process"
	"github.com/bowline-dev/bowline/pkg/provider"
	"github.com/bowline-dev/bowline/test/bench/memvendor"
)

// settingsVariable makes this program the command bowline with the bench's provider. Its value is settings as JSON.
const settingsVariable = "BOWLINE_BENCH_CONTROLLERS"

type settings struct {
	Socket  string // where to report what was counted
	Latency time.Duration
	Workers int
	Kinds   int // without objects
}

// counts is what the controllers' process has counted since its start.
type counts struct{ Requests, Calls map[string]int }

// runControllers is this program as the command bowline.
func runControllers(encoded string) int {
	var s settings
	err := json.Unmarshal([]byte(encoded), &s)
	var listener net.Listener
	if err == nil {
		listener, err = net.Listen("unix", s.Socket)
	}
	var further provider.Provider
	if err == nil {
		further, err = memvendor.KindsWithoutObjects(s.Kinds, filepath.Join(filepath.Dir(s.Socket), "definitions"))
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "bench: %v\n", err)
		return 1
	}
	requests, v := new(expvar.Map), memvendor.New(s.Latency)
	server := &http.Server{Handler: inspection(requests, &v.Calls), ReadHeaderTimeout: time.Second}
	go func() { _ = server.Serve(listener) }() // until Close
	defer server.Close()
	program := cli.Program{
		Providers: []provider.Provider{v.Provider(s.Workers), further},
		WrapTransport: func(next http.RoundTripper) http.RoundTripper {
			return counted(func(r *http.Request) (*http.Response, error) {
				requests.Add(requestName(r), 1)
				return next.RoundTrip(r)
			})
		},
	}
	return program.Run(context.Background(), os.Args, cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr})
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

// inspection answers the harness: what was counted, the memory that is in use after a collection of garbage, and profiles of the time
// between POST and DELETE.
func inspection(requests, calls *expvar.Map) http.Handler {
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

// controllers is the process of the controllers, with or without an API server.
type controllers struct {
	*process.Process
	http http.Client
}

// withControllers starts the controllers, calls do, and stops them.
func (b *bench) withControllers(ctx context.Context, p *plane, do func(*controllers) error, flags ...string) error {
	c, err := b.startControllers(ctx, p, flags...)
	if err != nil {
		return err
	}
	return errors.Join(do(c), c.stop())
}

// startControllers starts this program as `bowline controllers`.
func (b *bench) startControllers(ctx context.Context, p *plane, flags ...string) (*controllers, error) {
	dir, err := os.MkdirTemp(p.dir, "controllers-")
	if err != nil {
		return nil, err
	}
	return b.startSelf(ctx, dir, "The controllers work against", 0, append([]string{"controllers", "--kubeconfig", p.server.Kubeconfig}, flags...)...)
}

// startSelf starts this program as bowline, with a number of kinds without objects.
func (b *bench) startSelf(ctx context.Context, dir, ready string, kinds int, arguments ...string) (*controllers, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	s := settings{Socket: filepath.Join(dir, "socket"), Latency: b.latency, Workers: b.workers, Kinds: kinds}
	encoded, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	c := &controllers{}
	c.http.Transport = &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", s.Socket)
	}}
	c.Process, err = process.Start(ctx, process.Config{
		Args: append([]string{self}, arguments...), Env: []string{settingsVariable + "=" + string(encoded)},
		Dir: dir, Ready: ready, Limit: time.Minute + time.Duration(kinds)*100*time.Millisecond, Failed: b.failed, Detached: true,
	})
	return c, err
}

func (c *controllers) stop() error {
	c.http.CloseIdleConnections()
	return c.Stop()
}

// counts asks the controllers what they have counted.
func (c *controllers) counts(ctx context.Context) (counts, error) {
	var answer counts
	return answer, c.ask(ctx, http.MethodGet, "/counts", &answer)
}

// heap asks the controllers how many bytes they have in use.
func (c *controllers) heap(ctx context.Context) (bytes float64, err error) {
	return bytes, c.ask(ctx, http.MethodGet, "/heap", &bytes)
}

func (c *controllers) ask(ctx context.Context, method, path string, answer any) error {
	request, err := http.NewRequestWithContext(ctx, method, "http://controllers"+path, nil)
	if err != nil {
		return err
	}
	response, err := c.http.Do(request)
	if err != nil {
		return fmt.Errorf("asking the controllers: %w", err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	switch {
	case err == nil && response.StatusCode != http.StatusOK:
		err = errors.New(strings.TrimSpace(string(body)))
	case err == nil && answer != nil:
		err = json.Unmarshal(body, answer)
	}
	if err != nil {
		return fmt.Errorf("asking the controllers: %w", err)
	}
	return nil
}

// await reads the counts until one of them is as high as wanted.
func (c *controllers) await(ctx context.Context, count func(counts) int, want int) error {
	err := testkit.Poll(ctx, func() error {
		have, err := c.counts(ctx)
		if err == nil && count(have) < want {
			err = fmt.Errorf("the controllers watched or observed %d times, want %d", count(have), want)
		}
		return err
	})
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("%w: %w", err, context.Cause(ctx))
	}
	return err
}

func watches(have counts) int { return have.Requests["watch "+plural] }

func observes(have counts) int { return have.Calls["observe"] }
