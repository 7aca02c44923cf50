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
	"github.com/bowline-dev/bowline/internal/testkit/scenario"
)

// A choice is what to try. Empty fields choose all.
type choice struct {
	kind      string
	operation string
	point     int
	faults    bool // beside crashes and lost answers
}

// A job is an operation of a kind.
type job struct {
	kind      kind
	operation operation
}

func (j job) String() string { return j.kind.name + " " + j.operation.name }

func (c choice) jobs() (all []job) {
	for _, k := range kinds() {
		for _, o := range k.operations {
			if (c.kind == "" || strings.EqualFold(c.kind, k.name)) && (c.operation == "" || strings.EqualFold(c.operation, o.name)) {
				all = append(all, job{k, o})
			}
		}
	}
	return all
}

// A harness runs operations at several sites at a time.
type harness struct {
	out   io.Writer
	sites chan *site

	mu     sync.Mutex
	tried  int
	found  map[class]int
	failed error // of the harness itself
}

// newHarness creates the given number of sites.
func newHarness(ctx context.Context, config *rest.Config, c *cloud, parallel int, out io.Writer) (*harness, error) {
	h := &harness{out: out, sites: make(chan *site, parallel), found: map[class]int{}}
	for range parallel {
		s, err := newSite(ctx, config, c)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("preparing a site: %w", err), h.close(ctx))
		}
		h.sites <- s
	}
	return h, nil
}

func (h *harness) close(ctx context.Context) (err error) {
	close(h.sites)
	for s := range h.sites {
		err = errors.Join(err, s.close(ctx))
	}
	return err
}

// run explores all that is chosen. It returns the first failure of the harness itself.
func (h *harness) run(ctx context.Context, c choice) error {
	jobs := c.jobs()
	if len(jobs) == 0 {
		return fmt.Errorf("no kind %q with an operation %q: there are %s", c.kind, c.operation, choice{}.jobs())
	}
	var all sync.WaitGroup
	for _, j := range jobs {
		all.Go(func() {
			err := h.explore(ctx, j, c)
			h.mu.Lock()
			defer h.mu.Unlock()
			if err != nil {
				err = fmt.Errorf("%s: %w", j, err)
				fmt.Fprintln(h.out, err)
			}
			if h.failed == nil {
				h.failed = err
			}
		})
	}
	all.Wait()
	return h.failed
}

// explore runs an operation without a fault, and with the chosen faults.
func (h *harness) explore(ctx context.Context, j job, chosen choice) error {
	order, missed, err := scenario.Explorer{
		Run:      func(trial scenario.Trial) (bool, error) { return h.trial(ctx, j, trial) },
		Points:   (*fault.Process).Order,
		Kinds:    func(request string) []fault.Kind { return fault.Kinds(request, chosen.faults) },
		Only:     chosen.point,
		Attempts: 3, // since points depend on timing
		Parallel: true,
	}.Explore()
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, trial := range missed {
		fmt.Fprintf(h.out, "%s: %s was not reached again\n", j, trial)
	}
	if order != nil {
		fmt.Fprintf(h.out, "%s: done, %d points, %d faults were not reached\n", j, len(order), len(missed))
	}
	if order != nil && chosen.point != 0 {
		fmt.Fprintf(h.out, "the points are: %s\n", fault.Numbered(order))
	}
	return err
}

// trial runs an operation at a free site, and reports what is wrong afterwards.
func (h *harness) trial(ctx context.Context, j job, trial scenario.Trial) (good bool, err error) {
	var s *site
	select {
	case s = <-h.sites:
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
	defer func() { h.sites <- s }()
	t := &attempt{site: s, kind: j.kind, operation: j.operation, process: trial.Process}
	found, err := t.run(ctx)
	if err := errors.Join(err, s.clear(ctx)); err != nil {
		return false, err
	}
	if len(found) > 0 || trial.Process.Reached() {
		h.report(j, trial, found)
	}
	return len(found) == 0, nil
}

// report counts a trial, and prints what is needed to understand and repeat its violations.
func (h *harness) report(j job, trial scenario.Trial, found []violation) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tried++
	for _, v := range found {
		h.found[v.class]++
		fmt.Fprintf(h.out, "VIOLATION %s: %s, %s: %s\n  without a fault: %s\n  this time:       %s\n",
			v.class, j, trial, v.what, fault.Numbered(trial.Order), trial.Process)
	}
}

// summary is one line. It is good if something was tried and nothing violated.
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
