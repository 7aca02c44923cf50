// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/internal/testkit/fault"
)

// A choice is what to try. Empty fields choose all.
type choice struct {
	kind      string
	operation string
	point     int
	faults    bool // beside ends and lost answers
}

func (c choice) operations() (all []job) {
	for _, k := range kinds() {
		for _, o := range k.operations() {
			if (c.kind == "" || strings.EqualFold(c.kind, k.name)) && (c.operation == "" || strings.EqualFold(c.operation, o.name)) {
				all = append(all, job{k, o})
			}
		}
	}
	return all
}

// A job is an operation of a kind.
type job struct {
	kind      kind
	operation operation
}

func (j job) String() string { return j.kind.name + " " + j.operation.name }

// A harness tries operations at several sites at a time.
type harness struct {
	out   io.Writer
	sites chan *site

	mu     sync.Mutex
	tried  int
	found  map[class]int
	failed error // of the harness itself
}

// newHarness makes the given number of sites.
func newHarness(ctx context.Context, config *rest.Config, c *cloud, parallel int, out io.Writer) (*harness, error) {
	h := &harness{out: out, sites: make(chan *site, parallel), found: map[class]int{}}
	for range parallel {
		s, err := newSite(ctx, config, c)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("preparing a place to try things: %w", err), h.close(ctx))
		}
		h.sites <- s
	}
	return h, nil
}

func (h *harness) close(ctx context.Context) error {
	close(h.sites)
	var err error
	for s := range h.sites {
		err = errors.Join(err, s.close(ctx))
	}
	return err
}

// run tries all that is chosen. It returns the first failure of the harness itself.
func (h *harness) run(ctx context.Context, c choice) error {
	jobs := c.operations()
	if len(jobs) == 0 {
		return fmt.Errorf("no kind %q with an operation %q: there are %s", c.kind, c.operation, choice{}.operations())
	}
	var all sync.WaitGroup
	for _, j := range jobs {
		all.Go(func() {
			if err := h.try(ctx, j, c); err != nil {
				h.fail(fmt.Errorf("%s: %w", j, err))
			}
		})
	}
	all.Wait()
	return h.failed
}

func (h *harness) fail(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.failed == nil {
		h.failed = err
	}
	fmt.Fprintln(h.out, err)
}

// try records an operation and cuts it at every point that is chosen.
func (h *harness) try(ctx context.Context, j job, chosen choice) error {
	clean, found, err := h.at(ctx, j, fault.Point{}, "")
	if err != nil {
		return err
	}
	order := clean.Order()
	if len(found) > 0 {
		h.report(j, "undisturbed", order, clean, found)
		return nil
	}
	if chosen.point > len(order) {
		return fmt.Errorf("there are %d points only: %s", len(order), fault.Numbered(order))
	}
	missed := 0
	var all sync.WaitGroup
	for i, p := range order {
		if chosen.point != 0 && chosen.point != i+1 {
			continue
		}
		for _, c := range fault.Kinds(p.Request, chosen.faults) {
			all.Go(func() {
				reached, err := h.cut(ctx, j, order, i, c)
				if err != nil {
					h.fail(fmt.Errorf("%s, point %d, %s: %w", j, i+1, c, err))
					return
				}
				h.mu.Lock()
				defer h.mu.Unlock()
				if !reached {
					missed++
					fmt.Fprintf(h.out, "%s: point %d, %s, did not come up again to be %s\n", j, i+1, p, c)
				}
			})
		}
	}
	all.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	fmt.Fprintf(h.out, "%s: done, %d points, %d cuts did not come about\n", j, len(order), missed)
	if chosen.point != 0 {
		fmt.Fprintf(h.out, "the points are: %s\n", fault.Numbered(order))
	}
	return nil
}

// attempts is how often a cut is tried whose point the process did not come to.
const attempts = 3

// cut cuts one operation in one way and reports what is wrong afterwards.
func (h *harness) cut(ctx context.Context, j job, order []fault.Point, i int, c fault.Kind) (reached bool, err error) {
	for range attempts {
		life, found, err := h.at(ctx, j, order[i], c)
		if err != nil {
			return false, err
		}
		if len(found) > 0 || life.Reached() {
			h.report(j, fmt.Sprintf("point %d, %s, %s", i+1, order[i], c), order, life, found)
		}
		if life.Reached() {
			return true, nil
		}
	}
	return false, nil
}

// at runs an operation at a free site with a life that is cut at the point.
func (h *harness) at(ctx context.Context, j job, p fault.Point, c fault.Kind) (life *fault.Process, found []violation, err error) {
	var s *site
	select {
	case s = <-h.sites:
	case <-ctx.Done():
		return nil, nil, context.Cause(ctx)
	}
	defer func() { h.sites <- s }()
	t := &try{site: s, kind: j.kind, operation: j.operation, life: &fault.Process{At: p, Kind: c}}
	found, err = t.run(ctx)
	return t.life, found, errors.Join(err, s.clear(ctx))
}

// report counts a try and tells all that is needed to understand and repeat what it violates.
func (h *harness) report(j job, where string, order []fault.Point, life *fault.Process, found []violation) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tried++
	for _, v := range found {
		h.found[v.class]++
		fmt.Fprintf(h.out, "VIOLATION %s: %s, %s: %s\n  undisturbed: %s\n  this time:   %s\n",
			v.class, j, where, v.what, fault.Numbered(order), life)
	}
}

// summary is the last word, in one line. It is good if nothing was violated.
func (h *harness) summary() (line string, good bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	line, good = fmt.Sprintf("crash points: %d tried,", h.tried), h.failed == nil && h.tried > 0
	for _, c := range classes() {
		line += fmt.Sprintf(" %s=%d", c, h.found[c])
		good = good && h.found[c] == 0
	}
	return line, good
}
