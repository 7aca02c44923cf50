// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package terraform

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/prometheus/procfs"

	"github.com/bowline-dev/bowline/internal/testkit/fault"
)

// What happens at a point. The provider's process, and its journal, outlive the controllers.
const (
	killedBefore   fault.Kind = "SIGKILL of the controllers before the request"
	killedAfter    fault.Kind = "SIGKILL of the controllers after the request"
	terminated     fault.Kind = "SIGTERM of the controllers before the request"
	providerBefore fault.Kind = "SIGKILL of the provider before the request"
	providerAfter  fault.Kind = "SIGKILL of the provider after the request"
)

// kindsOf returns what to try at a request. The process of the provider is killed where it calls the cloud.
func kindsOf(request string) []fault.Kind {
	all := []fault.Kind{killedBefore, killedAfter, terminated}
	if strings.Contains(request, " cloud/") {
		all = append(all, providerBefore, providerAfter)
	}
	return all
}

const (
	endLimit = 40 * time.Second // from SIGTERM to the exit: controllers wait for the provider's calls
	held     = time.Second      // how long the cloud keeps the answer to a provider whose controllers get SIGTERM
)

var errCut = errors.New("the connection is cut")

// A life is one process of controllers, with what it and its provider request.
type life struct {
	points   *fault.Process
	provider string // the path of the program, of this attempt alone
	cmd      *exec.Cmd
	log      string // a file
	ready    atomic.Bool
	ended    chan struct{}

	mu   sync.Mutex // held while a fault happens
	dead bool       // killed: none of its requests arrives any more
}

// begin starts controllers.
func begin(ctx context.Context, s settings, points *fault.Process, follow ...*gate) (*life, error) {
	encoded, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	l := &life{points: points, provider: s.Provider, cmd: exec.CommandContext(ctx, self), log: s.Notes + ".log", ended: make(chan struct{})}
	log, err := os.OpenFile(l.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	l.cmd.Env, l.cmd.Stderr = append(os.Environ(), variableControllers+"="+string(encoded)), log
	l.cmd.Stdout = writer(func() {
		points.Begin()
		l.ready.Store(true)
	})
	for _, g := range follow {
		g.life.Store(l)
	}
	if err := l.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(l.ended)
		_ = l.cmd.Wait()
	}()
	return l, nil
}

// A writer calls a function for whatever is written.
type writer func()

func (w writer) Write(p []byte) (int, error) {
	w()
	return len(p), nil
}

// over is true once the process has ended.
func (l *life) over() bool {
	select {
	case <-l.ended:
		return true
	default:
		return false
	}
}

// end asks the process to end, and waits for that. Controllers must end in order.
func (l *life) end() error {
	if !l.over() {
		_ = l.cmd.Process.Signal(syscall.SIGTERM)
	}
	select {
	case <-l.ended:
	case <-time.After(endLimit):
		_ = l.cmd.Process.Kill()
		<-l.ended
		return fmt.Errorf("the controllers do not end in %s", endLimit)
	}
	if status := l.cmd.ProcessState; !status.Success() && !l.killed() {
		log, err := os.ReadFile(l.log)
		return errors.Join(fmt.Errorf("the controllers ended with %s: %s", status, log), err)
	}
	return nil
}

func (l *life) killed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dead
}

// pass sends a request on, with the fault if it is at the point of the process. ours are the requests of the controllers.
func (l *life) pass(r *http.Request, name string, ours bool, next http.RoundTripper) (*http.Response, error) {
	l.mu.Lock()
	hit, cut := false, l.dead && ours
	if name != "" && !cut {
		before := l.points.Reached()
		_, _ = l.points.Request(name)
		hit = l.points.Reached() && !before
	}
	after := hit && (l.points.Kind == killedAfter || l.points.Kind == providerAfter)
	if hit && !after {
		cut = l.strike(ours)
	}
	l.mu.Unlock()
	if cut {
		return nil, errCut
	}
	if r.Method != http.MethodGet {
		r = r.WithContext(context.WithoutCancel(r.Context())) // what has left the process arrives
	}
	answer, err := next.RoundTrip(r)
	if hit && l.points.Kind == terminated && !ours {
		select {
		case <-r.Context().Done():
		case <-time.After(held):
		}
	}
	if after {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.strike(ours) && err == nil {
			answer.Body.Close()
			return nil, errCut
		}
	}
	return answer, err
}

// strike has the fault happen, and reports whether the request, or its answer, is lost with the process that sent it.
func (l *life) strike(ours bool) (lost bool) {
	switch l.points.Kind {
	case killedBefore, killedAfter:
		l.dead = true
		_ = l.cmd.Process.Kill()
		<-l.ended
		return ours
	case providerBefore, providerAfter:
		for _, p := range running(l.provider, 0) {
			_ = syscall.Kill(p, syscall.SIGKILL)
		}
		return true
	default:
		_ = l.cmd.Process.Signal(syscall.SIGTERM)
		return false
	}
}

// running returns those with a program at a place of their command: the provider's own at 0, its journal's at 1.
func running(program string, at int) (pids []int) {
	all, _ := procfs.AllProcs()
	for _, p := range all {
		if words, err := p.CmdLine(); err == nil && slices.Index(words, program) == at {
			pids = append(pids, p.PID)
		}
	}
	return pids
}

// A gate passes requests on to a server, for the present life.
type gate struct {
	life   atomic.Pointer[life]
	server *httptest.Server
}

// newGate starts a gate. name names the points among the requests; the others have no name.
func newGate(endpoint string, ours bool, next http.RoundTripper, name func(*http.Request) string) (*gate, error) {
	target, err := url.Parse(endpoint)
	if err != nil {
		return nil, err
	}
	g := &gate{}
	g.server = httptest.NewUnstartedServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport: transport(func(r *http.Request) (*http.Response, error) {
			return g.life.Load().pass(r, name(r), ours, next)
		}),
		ErrorLog: log.New(io.Discard, "", 0),
		// The client sees its connection end without an answer.
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	})
	g.server.Config.ErrorLog = log.New(io.Discard, "", 0)
	g.server.Config.SetKeepAlivesEnabled(false) // on a reused connection Go's client would repeat a request that got no answer
	g.server.Start()
	return g, nil
}

type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

// uid is part of the names of states.
var uid = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

// apiPoint names requests to the API server, but those that protect configurations, which happen at any time.
func apiPoint(r *http.Request) string {
	request, ok := fault.APIRequest(r)
	if !ok || strings.Contains(request, "providerconfigs.") || strings.HasSuffix(request, " secrets key") || strings.HasSuffix(request, fault.Listed) {
		return ""
	}
	return uid.ReplaceAllString(request, "UID")
}

func cloudPoint(r *http.Request) string {
	request, _ := fault.CloudRequest(r)
	return request
}
