// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package lifeline

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

// A Cut is what happens to a process at a point of its life. Empty is nothing.
type Cut string

// The ways to cut a life. A process outlives all but the first two.
const (
	// Before ends the process right before the request is sent.
	Before Cut = "cut right before"
	// After ends it right after the request was done.
	After Cut = "cut right after"
	// Lost does the request, and nobody hears of it.
	Lost Cut = "cut off from its answer"
	// Refused has the server fail and do nothing.
	Refused Cut = "refused"
	// Overtaken has somebody else do something right before the request is sent.
	Overtaken Cut = "overtaken"
)

// Cuts are the ways to cut a request, with faults or without. A read that is refused is as good as one whose answer is
// lost, and nobody is the first to read.
func Cuts(request string, faults bool) []Cut {
	if !faults || isRead(request) {
		return []Cut{Before, After, Lost}
	}
	return []Cut{Before, After, Lost, Refused, Overtaken}
}

// Kills is true if the process does not outlive the cut.
func (c Cut) Kills() bool { return c == Before || c == After }

// A Point is the Nth request of its sort, from 1, in the life of a process. Points are told apart by what is asked, not by
// their place in the order, so that one more look at something that takes its time moves no point.
type Point struct {
	Request string
	Nth     int
}

// String is for people.
func (p Point) String() string { return fmt.Sprintf("%s (%d.)", p.Request, p.Nth) }

var (
	errDead = errors.New("the process is dead")
	// errLost is what a client sees whose server's machine goes down after the work.
	errLost = fmt.Errorf("reading the answer: %w", syscall.ECONNRESET)
)

// A Life is that of one process. It is safe for concurrent use.
type Life struct {
	at  Point
	cut Cut

	// Overtake is what somebody else does at a point that is Overtaken. Set it before the life begins.
	Overtake func() error

	mu      sync.Mutex
	met     []Point // the same read again and again counts once
	times   map[string]int
	reached bool
	dead    bool      // for whoever wants to send a request
	over    bool      // and its last request was done
	looks   int       // reads since the last change
	last    time.Time // of a request, or the beginning
}

// New returns a life that is cut at a point, or one in good health if the cut is empty.
func New(at Point, c Cut) *Life { return &Life{at: at, cut: c, times: map[string]int{}} }

// Cut returns what happens at the point.
func (l *Life) Cut() Cut { return l.cut }

// do sends a request that is a point, unless the process is dead.
func (l *Life) do(request string, send func() (*http.Response, error)) (*http.Response, error) {
	cut, alive := l.meet(request)
	switch {
	case !alive || cut == Before:
		return nil, errDead
	case cut == Refused:
		return refusal(), nil
	case cut == Overtaken:
		if err := l.Overtake(); err != nil {
			return nil, err
		}
		return send()
	}
	answer, err := send()
	if cut == After {
		l.end()
	}
	switch {
	case cut == "" && !l.IsDead():
		return answer, err
	case err == nil:
		answer.Body.Close()
	}
	if cut == Lost {
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
func (l *Life) meet(request string) (c Cut, alive bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dead {
		return "", false
	}
	l.last = time.Now()
	if isRead(request) {
		l.looks++
		if n := len(l.met); n > 0 && l.met[n-1].Request == request {
			return "", true
		}
	} else {
		l.looks = 0
	}
	l.times[request]++
	here := Point{request, l.times[request]}
	l.met = append(l.met, here)
	if l.cut == "" || here != l.at {
		return "", true
	}
	l.reached, l.dead, l.over = true, l.cut.Kills(), l.cut == Before
	return l.cut, true
}

func (l *Life) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = true
}

// Begin starts the clock of a process that is up.
func (l *Life) Begin() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = time.Now()
}

// IsDead is true from the moment of a cut that kills.
func (l *Life) IsDead() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dead
}

// IsOver is true for a dead process whose last request was done, if it was to be done. Whoever removes the process earlier may
// take the request back.
func (l *Life) IsOver() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.over
}

// WasReached is true once the cut happened.
func (l *Life) WasReached() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.reached
}

// LookedAgain is true if the process looked at everything again and changed nothing.
func (l *Life) LookedAgain() bool {
	const enough = 3
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.looks >= enough
}

// Silent is true if nothing was heard of the process for a while.
func (l *Life) Silent(a time.Duration) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Since(l.last) > a
}

// String lists all points met.
func (l *Life) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return Numbered(l.met)
}

// Numbered lists points for people.
func Numbered(points []Point) string {
	lines := make([]string, 0, len(points))
	for i, p := range points {
		lines = append(lines, fmt.Sprintf("%d. %s", i+1, p.Request))
	}
	return strings.Join(lines, ", ")
}

// Order returns the points met, without the looks after the last change, and without what is repeated again and again
// while the outside world takes its time.
func (l *Life) Order() []Point {
	l.mu.Lock()
	defer l.mu.Unlock()
	met := l.met
	for len(met) > 0 && isRead(met[len(met)-1].Request) {
		met = met[:len(met)-1]
	}
	var order []Point
	for i, p := range met {
		if i < 3 || p.Request != met[i-2].Request || met[i-1].Request != met[i-3].Request {
			order = append(order, p)
		}
	}
	return order
}
