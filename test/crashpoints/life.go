// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"time"
)

// A cut is what happens to a process at a point of its life.
type cut string

const (
	beforeIt cut = "cut right before"
	afterIt  cut = "cut right after"
	// The process outlives these.
	lostIt      cut = "cut off from its answer" // the request is done, and nobody hears of it
	refusedIt   cut = "refused"                 // the server fails and does nothing
	overtakenIt cut = "overtaken"               // the object is written to right before the request is sent
)

// cuts are the ways to cut a request, with faults or without. A read that is refused is as good as one whose answer is
// lost, and nobody is the first to read.
func cuts(request string, faults bool) []cut {
	if !faults || isRead(request) {
		return []cut{beforeIt, afterIt, lostIt}
	}
	return []cut{beforeIt, afterIt, lostIt, refusedIt, overtakenIt}
}

func (c cut) kills() bool { return c == beforeIt || c == afterIt }

// A point is the nth request of its sort in the life of a process. Points are told apart by what is asked, not by their
// place in the order, so that one more look at something that takes its time moves no point.
type point struct {
	request string
	nth     int
}

func (p point) String() string { return fmt.Sprintf("%s (%d.)", p.request, p.nth) }

var (
	errDead = errors.New("the process is dead")
	// errLost is what a client sees whose server's machine goes down after the work.
	errLost = fmt.Errorf("reading the answer: %w", syscall.ECONNRESET)
)

// A lifeline is the life of a process as the outside world sees it: all requests that change something or read past the
// cache, in order, up to the point where it is cut. A dead process's requests go nowhere.
type lifeline struct {
	at      point
	cut     cut  // empty for a life in good health
	configs bool // requests about provider configurations are points, too

	// overtake writes to the object as somebody else.
	overtake func() error

	mu      sync.Mutex
	met     []point // the same read again and again counts once
	times   map[string]int
	reached bool
	dead    bool
	looks   int       // reads since the last change
	last    time.Time // of a request, or the beginning
}

func newLife(at point, c cut) *lifeline {
	return &lifeline{at: at, cut: c, times: map[string]int{}}
}

// do sends a request that is a point, unless the process is dead.
func (l *lifeline) do(request string, read bool, send func() (*http.Response, error)) (*http.Response, error) {
	cut, alive := l.meet(request, read)
	switch {
	case !alive || cut == beforeIt:
		return nil, errDead
	case cut == refusedIt:
		return refusal(), nil
	case cut == overtakenIt:
		if err := l.overtake(); err != nil {
			return nil, err
		}
		return send()
	}
	answer, err := send()
	switch {
	case cut == "" && !l.isDead():
		return answer, err
	case err == nil:
		answer.Body.Close()
	}
	if cut == lostIt {
		return nil, errLost
	}
	return nil, errDead
}

// refusal is an answer in the words of both servers.
func refusal() *http.Response {
	const body = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"InternalError","code":500,"message":"no",
		"error":{"code":"internal","message":"no"}}`
	header := http.Header{"Content-Type": {"application/json"}}
	return &http.Response{StatusCode: http.StatusInternalServerError, ProtoMajor: 1, ProtoMinor: 1, Header: header,
		Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body))}
}

// meet notes a request and says whether the process lives to send it, and what happens then. A process that dies right
// after it is dead already for all others.
func (l *lifeline) meet(request string, read bool) (c cut, alive bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dead {
		return "", false
	}
	l.last = time.Now()
	if read {
		l.looks++
	} else {
		l.looks = 0
	}
	if read && len(l.met) > 0 && l.met[len(l.met)-1].request == request {
		return "", true
	}
	l.times[request]++
	here := point{request, l.times[request]}
	l.met = append(l.met, here)
	if l.cut == "" || here != l.at {
		return "", true
	}
	l.reached, l.dead = true, l.cut.kills()
	return l.cut, true
}

func (l *lifeline) isDead() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dead
}

// begin starts the clock of a process that is up.
func (l *lifeline) begin() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = time.Now()
}

func (l *lifeline) wasReached() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.reached
}

// lookedAgain is true if the process looked at everything again and changed nothing.
func (l *lifeline) lookedAgain() bool {
	const enough = 3
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.looks >= enough
}

// silent is true if the process had a while to go on, and did not.
func (l *lifeline) silent() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Since(l.last) > 5*pollInterval
}

// String lists all points met.
func (l *lifeline) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return numbered(l.met)
}

func numbered(points []point) string {
	lines := make([]string, 0, len(points))
	for i, p := range points {
		lines = append(lines, fmt.Sprintf("%d. %s", i+1, p.request))
	}
	return strings.Join(lines, ", ")
}

// order returns the points met, without the looks after the last change, and without what is repeated again and again
// while the cloud takes its time.
func (l *lifeline) order() []point {
	l.mu.Lock()
	defer l.mu.Unlock()
	met := l.met
	for len(met) > 0 && isRead(met[len(met)-1].request) {
		met = met[:len(met)-1]
	}
	var order []point
	for i, p := range met {
		if i < 3 || p.request != met[i-2].request || met[i-1].request != met[i-3].request {
			order = append(order, p)
		}
	}
	return order
}

// A tap puts a process's requests on its lifeline. It is asked for the lifeline at every request.
type tap struct {
	life func() *lifeline
	name func(*http.Request) (request string, ok bool) // not ok: no point
	next http.RoundTripper
}

// RoundTrip sends the request if the process is alive.
func (t tap) RoundTrip(r *http.Request) (*http.Response, error) {
	life := t.life()
	send := func() (*http.Response, error) { return t.next.RoundTrip(r) }
	if request, ok := t.name(r); ok {
		return life.do(request, r.Method == http.MethodGet, send)
	}
	if life.isDead() {
		return nil, errDead
	}
	return send()
}
