// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fault injects faults into the requests of a process, and counts them.
//
// Its one idea: a server and a vendor know a process only by its requests. So a test runs an operation once without a fault,
// lists the requests, and repeats the operation with a fault at each of them. A Process is what the test cuts. It sees requests
// to API servers through Transport or InterceptWrites, requests to vendors through Request, NewProxy or Transport.
//
//	p := &fault.Process{At: fault.Point{Request: "POST secrets", N: 2}, Kind: fault.CrashAfter}
//	config := fault.InterceptWrites(env.Config, p.Request)
package fault

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/bowline-dev/bowline/pkg/clients/fence"
)

// A Kind of fault. The empty kind is none.
type Kind string

// The kinds of faults. A process survives all but the first two.
const (
	// CrashBefore ends the process before the request is sent.
	CrashBefore Kind = "crash before the request"
	// CrashAfter ends the process after the request was served.
	CrashAfter Kind = "crash after the request"
	// AnswerLost serves the request and loses the answer.
	AnswerLost Kind = "lost answer"
	// Refused fails the request without serving it.
	Refused Kind = "refused request"
	// Overtaken calls Process.Overtake before the request is sent.
	Overtaken Kind = "overtaken request"
	// Frozen serves the request, and holds its answer and all further requests of Transports until Process.Wake, and the answers to others.
	Frozen Kind = "frozen after the request"
)

// Kinds returns the kinds of faults to try at a request: crashes and lost answers, and with all set also refused and overtaken
// requests. Those are pointless for a read: a refused read has the effect of a lost answer, and no write follows a concurrent one.
func Kinds(request string, all bool) []Kind {
	if !all || isRead(request) {
		return []Kind{CrashBefore, CrashAfter, AnswerLost}
	}
	return []Kind{CrashBefore, CrashAfter, AnswerLost, Refused, Overtaken}
}

// A Point is the Nth request of that name, from 1, of a process, or its Nth request of any name if Request is empty. Names keep
// points stable where the number of polls varies.
type Point struct {
	Request string
	N       int
}

// String returns the point as "PATCH things (2.)".
func (p Point) String() string { return fmt.Sprintf("%s (%d.)", p.Request, p.N) }

var (
	// ErrCrashed ends the requests of a crashed process.
	ErrCrashed = errors.New("the process has crashed")
	// ErrAnswerLost is what a client sees when the server goes down after its work.
	ErrAnswerLost = fmt.Errorf("reading the answer: %w", syscall.ECONNRESET)
	// ErrRefused is what a client sees when the server refuses a request.
	ErrRefused = errors.New("the server refuses the request")

	errFrozen = errors.New("the process is frozen")
)

// A Process is one run of a program, seen as its requests. Its zero value has no fault.
type Process struct {
	// At is where the fault happens.
	At Point
	// Kind of the fault.
	Kind Kind
	// Overtake is what another client does at a point that is Overtaken.
	Overtake func() error

	mu       sync.Mutex
	met      []Point // repeated reads count once
	times    map[string]int
	reached  bool
	crashed  bool
	finished bool          // crashed or frozen, and the last request was served
	frozen   chan struct{} // closed by Wake; nil before the process is frozen
	woken    bool
	reads    map[string]int // since the last change
	last     time.Time      // of a request, or of Begin
}

// Request counts a request that something else sends. The sender returns refuse instead of sending, or lose instead of the answer.
func (p *Process) Request(request string) (refuse, lose error) {
	defer p.finish()
	return p.begin(request)
}

// begin counts a request. Unlike Request it leaves a CrashAfter to finish when the request was served.
func (p *Process) begin(request string) (refuse, lose error) {
	switch kind, alive := p.count(request); {
	case !alive || kind == CrashBefore:
		return ErrCrashed, nil
	case kind == CrashAfter:
		return nil, ErrCrashed
	case kind == AnswerLost:
		return nil, ErrAnswerLost
	case kind == Frozen:
		return nil, errFrozen
	case kind == Refused:
		return ErrRefused, nil
	case kind == Overtaken:
		return p.Overtake(), nil
	}
	return nil, nil
}

// send counts a request and sends it, unless the process has crashed.
func (p *Process) send(request string, send func() (*http.Response, error)) (*http.Response, error) {
	refuse, lose := p.begin(request)
	switch {
	case refuse == ErrRefused:
		return refusal(), nil
	case refuse != nil:
		return nil, refuse
	}
	answer, err := send()
	if lose == errFrozen {
		p.freeze()
		lose = nil
	}
	p.awaitWake()
	if lose == nil && p.Crashed() {
		lose = ErrCrashed // at another request
	} else if lose == ErrCrashed {
		p.finish()
	}
	if lose == nil {
		return answer, err
	}
	if err == nil {
		answer.Body.Close()
	}
	return nil, lose
}

func (p *Process) freeze() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.finished = true
	if p.frozen == nil {
		p.frozen = make(chan struct{})
	}
}

// awaitWake holds the requests of a frozen process.
func (p *Process) awaitWake() {
	p.mu.Lock()
	frozen := p.frozen
	p.mu.Unlock()
	if frozen != nil {
		<-frozen
	}
}

// Frozen is true for a process that was frozen, also after Wake.
func (p *Process) Frozen() bool { return p.read(func() bool { return p.frozen != nil }) }

// Lease returns an error once the process was frozen: another one has its lease by then.
func (p *Process) Lease() error {
	if p.Frozen() {
		return fence.Late("the process was frozen")
	}
	return nil
}

// Wake lets a frozen process go on. One that is not frozen yet will not be held any more.
func (p *Process) Wake() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.frozen == nil {
		p.frozen = make(chan struct{})
	}
	if !p.woken {
		close(p.frozen)
	}
	p.woken, p.reads, p.last = true, nil, time.Now()
}

// count returns the fault at a request, and whether the process is alive to send it. A CrashAfter refuses all
// other requests at once.
func (p *Process) count(request string) (k Kind, alive bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.crashed {
		return "", false
	}
	p.last = time.Now()
	if isRead(request) {
		if p.reads == nil {
			p.reads = map[string]int{}
		}
		p.reads[request]++
		if n := len(p.met); n > 0 && p.met[n-1].Request == request {
			return "", true
		}
	} else {
		p.reads = nil
	}
	if p.times == nil {
		p.times = map[string]int{}
	}
	p.times[request]++
	here := Point{request, p.times[request]}
	p.met = append(p.met, here)
	if p.Kind == "" || here != p.At && (Point{N: len(p.met)}) != p.At {
		return "", true
	}
	p.reached, p.crashed, p.finished = true, p.Kind == CrashBefore || p.Kind == CrashAfter, p.Kind == CrashBefore
	return p.Kind, true
}

func (p *Process) finish() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.finished = p.crashed
}

// Begin starts the clock of Silent for a process that is ready.
func (p *Process) Begin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last = time.Now()
}

// Crashed is true from the moment of a fault that crashes the process.
func (p *Process) Crashed() bool { return p.read(func() bool { return p.crashed }) }

// Finished is true for a crashed or frozen process whose last request was served. Ending its context earlier would cancel that request.
func (p *Process) Finished() bool { return p.read(func() bool { return p.finished }) }

// Reached is true once the fault happened.
func (p *Process) Reached() bool { return p.read(func() bool { return p.reached }) }

// Polled is true if the process sent some read for the third time since its last change: a pass may read twice what it changes in the end.
func (p *Process) Polled() bool {
	return p.read(func() bool {
		for _, n := range p.reads {
			if n >= 3 {
				return true
			}
		}
		return false
	})
}

// Silent is true if the process sent no request for a while.
func (p *Process) Silent(a time.Duration) bool {
	return p.read(func() bool { return time.Since(p.last) > a })
}

// Quiet returns an error unless the process is Polled or Silent.
func (p *Process) Quiet(a time.Duration) error {
	if p.Polled() || p.Silent(a) {
		return nil
	}
	return errors.New("the process goes on: " + p.String())
}

func (p *Process) read(is func() bool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return is()
}

// Requests returns all points so far.
func (p *Process) Requests() []Point {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]Point(nil), p.met...)
}

// String lists all points so far.
func (p *Process) String() string { return Numbered(p.Requests()) }

// Numbered lists points.
func Numbered(points []Point) string {
	lines := make([]string, 0, len(points))
	for i, p := range points {
		lines = append(lines, fmt.Sprintf("%d. %s", i+1, p.Request))
	}
	return strings.Join(lines, ", ")
}

// Order returns the points so far without the polls after the last change, and without what is repeated while the process waits
// for something.
func (p *Process) Order() []Point {
	met := p.Requests()
	for len(met) > 0 && isRead(met[len(met)-1].Request) {
		met = met[:len(met)-1]
	}
	var order []Point
	for i, here := range met {
		if i < 3 || here.Request != met[i-2].Request || met[i-1].Request != met[i-3].Request {
			order = append(order, here)
		}
	}
	return order
}
