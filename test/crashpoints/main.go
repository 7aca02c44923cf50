// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Command crashpoints proves that the favourite cloud's provider, and the claims that it serves, recover from a crash at every
// request of every operation of every kind: nothing is leaked, duplicated or lost, and no object needs manual intervention (N5,
// N11, N22, N26, R77 to R79, R268, R274). The kinds ByName, ByLabel and Unfindable have the identities whose one-time answers can be
// lost: condition, event and bowline leaks must report each loss (N42, O6).
//
//	make crashpoints ARGS=--faults
//	make crashpoints ARGS="--kind Claim"
//	make crashpoints ARGS="--kind NodeGroup --operation create --point 3"
//
// An operation first runs without a fault. Its points are all requests that change something on the API server, read past the
// cache, or call the cloud. Then it runs again for each point and kind of fault (packages fault and scenario of the test kit):
// the process crashes before the request, or after it, or never gets the answer. With --faults, the server also refuses a change,
// and another client writes to the object right before one. A process is a manager with the provider's real controllers and
// without memory. The API server and the cloud are real and keep running.
//
// It is also frozen after the request until another process has finished the operation, then goes on without its lease (N87).
//
// After a crash another process finishes the operation. At the end the whole site is checked: the words of the summary are the
// classes of violations of package inspect. The kinds Claim and DatabaseClaim have the operations on claims, which get caches and
// databases. Requests that protect provider configurations happen at any time, and are points of the operations "-with-config"
// only.
//
// A violation is printed with kind, operation, point and fault, and with the requests of the run without a fault and of this one.
// The last line of standard output is the summary; the exit code is 0 without a violation. A point that depends on timing may not
// be reached again: after three attempts it is listed and not counted.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/bowline-dev/bowline/favouritecloud"
	"github.com/bowline-dev/bowline/internal/testkit/fault"
	"github.com/bowline-dev/bowline/internal/testkit/process"
	"github.com/bowline-dev/bowline/internal/testkit/scenario"
	"github.com/bowline-dev/bowline/internal/testkit/thing"
	"github.com/bowline-dev/bowline/pkg/core"
	"github.com/bowline-dev/bowline/providers/fcp"
	"github.com/bowline-dev/bowline/test/inspect"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	context.AfterFunc(ctx, stop) // the second signal ends the program at once
	good, err := run(ctx, os.Args[1:], os.Stdout)
	if err != nil {
		fmt.Fprintf(os.Stderr, "crashpoints: %v\n", err)
	}
	if err != nil || !good {
		os.Exit(1)
	}
}

// run is the program. Its last line of output is the summary, if anything was tried.
func run(ctx context.Context, args []string, out io.Writer) (good bool, err error) {
	var chosen choice
	flags := flag.NewFlagSet("crashpoints", flag.ContinueOnError)
	flags.StringVar(&chosen.kind, "kind", "", "try this kind only, such as NodeGroup")
	flags.StringVar(&chosen.operation, "operation", "", "try this operation only, such as create")
	flags.IntVar(&chosen.point, "point", 0, "try this point only, by the numbers that a violation shows")
	flags.BoolVar(&chosen.faults, "faults", false, "also refuse each change, and write as another client right before it")
	parallel := flags.Int("parallel", 4, "how many attempts to run at a time")
	bowline := flags.String("bowline", filepath.Join("bin", "bowline"), "the program whose API server is used")
	if err := flags.Parse(args); err != nil {
		return false, err
	}
	if *parallel < 1 || chosen.point < 0 || flags.NArg() > 0 {
		return false, errors.New("give --parallel a number of 1 or more, --point one of 0 or more, and nothing but flags")
	}
	ctrl.SetLogger(logr.Discard()) // a crashed process logs many errors
	klog.SetLogger(logr.Discard())
	dir, err := os.MkdirTemp("", "crashpoints-")
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := os.Chmod(dir, 0o755); err != nil { // the cloud's servers may run as another account
		return false, err
	}
	c, err := inspect.StartCloud(cloudConfig(filepath.Join(dir, "cloud")))
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, c.Stop()) }()
	crds, err := definitions()
	if err != nil {
		return false, err
	}
	// After a failure of the server all further attempts fail and report it.
	failed := func(err error) { fmt.Fprintf(os.Stderr, "crashpoints: %v\n", err) }
	server, err := process.StartAPIServer(ctx, *bowline, dir, failed, crds...)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	h, err := newHarness(ctx, server.Config, c, *parallel, out)
	if err != nil {
		return false, err
	}
	err = errors.Join(h.run(ctx, chosen), h.close(ctx))
	line, good := h.summary()
	fmt.Fprintln(out, line)
	return good, err
}

func cloudConfig(dir string) favouritecloud.Config {
	return favouritecloud.Config{DataDir: dir, Listen: "127.0.0.1:0", AutoscaleInterval: time.Hour}
}

// definitions are those of the kinds of the cloud and of claims.
func definitions() ([]*apiextensionsv1.CustomResourceDefinition, error) {
	claims, claimsErr := core.Provider().Definitions()
	managed, managedErr := fcp.Provider().Definitions()
	return append(append(claims, managed...), thing.CRD()), errors.Join(claimsErr, managedErr)
}

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

	mu       sync.Mutex
	tried    int
	reported map[string]int // by job, trials whose object needs manual intervention and reports that, as its kind should
	found    map[inspect.Class]int
	failed   error // of the harness itself
}

// newHarness creates the given number of sites.
func newHarness(ctx context.Context, config *rest.Config, c *inspect.Cloud, parallel int, out io.Writer) (*harness, error) {
	h := &harness{out: out, sites: make(chan *site, parallel), reported: map[string]int{}, found: map[inspect.Class]int{}}
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
	var all errgroup.Group
	for _, j := range jobs {
		all.Go(func() error {
			if err := h.explore(ctx, j, c); err != nil {
				return fmt.Errorf("%s: %w", j, err)
			}
			return nil
		})
	}
	h.failed = all.Wait()
	return h.failed
}

// explore runs an operation without a fault, and with the chosen faults.
func (h *harness) explore(ctx context.Context, j job, chosen choice) error {
	order, missed, err := scenario.Explorer{
		Run:    func(trial scenario.Trial) (bool, error) { return h.trial(ctx, j, trial) },
		Points: (*fault.Process).Order,
		Kinds: func(request string) []fault.Kind {
			if j.kind.things != nil { // in memory, where a frozen call would hold a lock
				return fault.Kinds(request, chosen.faults)
			}
			return append(fault.Kinds(request, chosen.faults), fault.Frozen)
		},
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
		fmt.Fprintf(h.out, "%s: done, %d points, %d faults were not reached, %d losses were reported\n", j, len(order), len(missed),
			h.reported[j.String()])
	}
	if order != nil && chosen.point != 0 {
		fmt.Fprintf(h.out, "the points are: %s\n", fault.Numbered(order))
	}
	return err
}

// trial runs an operation at a free site, and reports what is wrong afterwards.
func (h *harness) trial(ctx context.Context, j job, trial scenario.Trial) (good bool, err error) {
	s := <-h.sites
	defer func() { h.sites <- s }()
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	t := &attempt{site: s, kind: j.kind, operation: j.operation, process: trial.Process}
	found, err := t.run(ctx)
	if err := errors.Join(err, s.clear(ctx)); err != nil {
		return false, err
	}
	if len(found) > 0 || trial.Process.Reached() {
		h.report(j, trial, t.reported, found)
	}
	return len(found) == 0, nil
}

// report counts a trial, and prints what is needed to understand and repeat its violations.
func (h *harness) report(j job, trial scenario.Trial, reported bool, found []inspect.Violation) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tried++
	if reported {
		h.reported[j.String()]++
	}
	for _, v := range found {
		h.found[v.Class]++
		fmt.Fprintf(h.out, "VIOLATION %s: %s, %s: %s\n  without a fault: %s\n  this time:       %s\n",
			v.Class, j, trial, v.What, fault.Numbered(trial.Order), trial.Process)
	}
}

// summary is one line. It is good if something was tried and nothing violated.
func (h *harness) summary() (line string, good bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	line, good = fmt.Sprintf("crash points: %d tried,", h.tried), h.failed == nil && h.tried > 0
	for _, c := range inspect.Classes() {
		line += fmt.Sprintf(" %s=%d", c, h.found[c])
		good = good && h.found[c] == 0
	}
	return line, good
}
