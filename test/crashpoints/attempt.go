// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/bowline-dev/bowline/internal/testkit"
	"github.com/bowline-dev/bowline/internal/testkit/fault"
	"github.com/bowline-dev/bowline/internal/testkit/thing"
	"github.com/bowline-dev/bowline/pkg/core"
	"github.com/bowline-dev/bowline/pkg/reconciler/claim"
	"github.com/bowline-dev/bowline/pkg/reconciler/claimbinding"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
	"github.com/bowline-dev/bowline/providers/fcp"
	"github.com/bowline-dev/bowline/test/inspect"
)

const (
	patience     = time.Minute // how long an operation may take, and how long its recovery
	pollInterval = 100 * time.Millisecond
	grace        = 100 * time.Millisecond // how long what was created may not be visible. Here it always is.
	window       = 2 * time.Second        // how long an interrupted create may be in progress; half of it suffices to begin one on a busy machine
)

// An attempt is one run of an operation at an empty site, by a process with a fault.
type attempt struct {
	site      *site
	kind      kind
	operation operation
	process   *fault.Process
	wake      func() error // lets a frozen process go on until it is idle, and ends it; nil for none

	claim    resource.Claim // of operations on claims, the last one
	object   resource.Managed
	setting  string         // that the external resource is to have
	password string         // of the user, if any
	former   *corev1.Secret // that of a rotation by age
	reported bool           // the object reports that it needs manual intervention, as it should
}

// run runs the operation in the process and, if that crashes, finishes it in another one. Violations are what is wrong at the
// end; an error is a failure of this program.
func (t *attempt) run(ctx context.Context) (found []inspect.Violation, err error) {
	if err := t.prepare(ctx); err != nil {
		return nil, fmt.Errorf("preparing: %w", err)
	}
	if err := t.do(ctx, t.operation.when...); err != nil {
		return nil, fmt.Errorf("beginning: %w", err)
	}
	why, err := t.with(ctx, t.process, true)
	if err == nil && t.process.Kind != "" && why == nil { // a process that survives its fault has to finish, too
		why, err = t.with(ctx, &fault.Process{}, false)
	}
	if t.wake != nil {
		err = errors.Join(err, t.wake())
		if err == nil && why == nil {
			why, err = t.with(ctx, &fault.Process{}, false)
		}
	}
	if err != nil {
		return nil, err
	}
	return t.check(ctx, why)
}

// prepare creates what the operation begins with.
func (t *attempt) prepare(ctx context.Context) error {
	for _, o := range t.site.configurations() {
		if err := t.site.client.Create(ctx, o); err != nil {
			return err
		}
	}
	if t.kind.things != nil {
		t.site.things = thing.NewSystem()
		t.kind.things(t.site.things)
	}
	if t.operation.then == nil {
		t.operation.then = (*attempt).settled
	}
	t.process.Overtake = func() error { return t.overtake(ctx) }
	t.object, t.setting = t.kind.declare(t.site, "object", t.operation.option), t.kind.settings[0]
	if err := t.do(ctx, t.operation.before...); err != nil || t.operation.given == nil {
		return err
	}
	stop, err := t.start(ctx, &fault.Process{})
	if err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return errors.Join(t.do(limited, t.operation.given...), stop())
}

func (t *attempt) do(ctx context.Context, steps ...step) error {
	for _, do := range steps {
		if err := do(t, ctx); err != nil {
			return err
		}
	}
	return nil
}

// overtake writes to all objects of the site as another client.
func (t *attempt) overtake(ctx context.Context) error {
	all, err := listed[client.Object](ctx, t.site)
	for _, o := range all {
		touched := t.site.client.Patch(ctx, o, mergePatch(`{"metadata":{"annotations":{"example.org/touched":"yes"}}}`))
		err = errors.Join(err, client.IgnoreNotFound(touched))
	}
	return err
}

// with runs a process until it has crashed, or the operation is done and the process idle. why is the reason if that takes too
// long.
func (t *attempt) with(ctx context.Context, process *fault.Process, first bool) (why, err error) {
	stop, err := t.start(ctx, process)
	if err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	unlessCrashed := func(check func(context.Context) error) error {
		return testkit.Poll(limited, func() error {
			if process.Finished() {
				return nil
			}
			return check(limited)
		})
	}
	if during := t.operation.during; first && during != nil {
		why = unlessCrashed(func(ctx context.Context) error { return t.operation.cue(t, ctx) })
		err = during(t, ctx)
	}
	if err == nil && why == nil {
		why = unlessCrashed(func(ctx context.Context) error { return t.idle(ctx, process) })
	}
	if why != nil {
		why = cmp.Or(t.operation.then(t, ctx), why) // the state explains more than that the controllers are not idle
	}
	if ctx.Err() != nil {
		err = errors.Join(err, context.Cause(ctx))
	}
	if process.Frozen() {
		t.wake = func() error {
			t.site.follow(process)
			process.Wake()
			return errors.Join(testkit.Poll(ctx, func() error { return process.Quiet(5 * pollInterval) }), stop())
		}
		return why, err
	}
	process.Wake() // to freeze it while it ends would only delay the end
	return why, errors.Join(err, stop())
}

// idle returns nil once a process is done and has observed everything again without a change, or is silent if nothing is left.
func (t *attempt) idle(ctx context.Context, process *fault.Process) error {
	isIdle := process.Polled() && !t.operation.empty ||
		process.Silent(5*pollInterval) && (t.operation.empty || t.kind.things != nil) // what needs manual intervention is not polled
	if !isIdle { // checked first, since it is cheap
		return errors.New("the controllers are not idle: " + process.String())
	}
	return t.operation.then(t, ctx)
}

// start starts controllers without memory for the site's objects, with the requests of the process. Stop waits for their end.
func (t *attempt) start(ctx context.Context, process *fault.Process) (stop func() error, err error) {
	s := t.site
	name := func(r *http.Request) (string, bool) {
		request, ok := fault.APIRequest(r)
		return request, ok && (t.operation.configs || !aboutConfig(request))
	}
	tapped := rest.CopyConfig(s.config)
	tapped.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return fault.Transport(func() *fault.Process { return process }, name, next)
	})
	mgr, err := ctrl.NewManager(tapped, ctrl.Options{
		Scheme:         s.client.Scheme(),
		MapperProvider: func(*rest.Config, *http.Client) (apimeta.RESTMapper, error) { return s.client.RESTMapper(), nil },
		Logger:         logr.Discard(),
		Metrics:        metricsserver.Options{BindAddress: "0"},
		Cache:          s.cached(),
		NewCache:       claim.NewCache,
		Controller:     config.Controller{SkipNameValidation: new(true)},
	})
	for _, setup := range t.setups() {
		if err == nil { // with short intervals, so that recovery is fast
			err = setup(mgr, managed.WithPollInterval(pollInterval), managed.WithBackoff(pollInterval/2, 2*pollInterval),
				managed.WithCreationGracePeriod(grace), managed.WithConsistencyWindow(window), managed.WithFence(process.Lease))
		}
	}
	if err != nil {
		return nil, fmt.Errorf("setting up a process: %w", err)
	}
	s.follow(process)
	return testkit.Background(ctx, mgr.Start, func(ctx context.Context) error {
		if !mgr.GetCache().WaitForCacheSync(ctx) {
			return errors.New("the caches of a process do not sync")
		}
		process.Begin()
		return nil
	})
}

// aboutConfig is true for requests that protect provider configurations, which happen at any time.
func aboutConfig(request string) bool {
	return strings.Contains(request, "providerconfigs.fcp.") || strings.HasSuffix(request, " secrets key") ||
		strings.HasSuffix(request, fault.Listed) // of users, before a configuration is deleted
}

// A setup adds controllers to a manager.
type setup = func(ctrl.Manager, ...managed.ReconcilerOption) error

// setups returns all providers for claims, with the label of the site on managed resources; else the cloud's without classes, or Things.
func (t *attempt) setups() []setup {
	cloud := fcp.Provider()
	switch {
	case t.kind.things != nil:
		return []setup{thing.Functions{System: t.site.things}.SetupWithManager}
	case t.kind.claim == "":
		cloud.Classes = nil
		return []setup{cloud.SetupWithManager}
	}
	mark := func(_ context.Context, _ resource.Claim, _ resource.Class, mg resource.Managed) error {
		mg.SetLabels(t.site.labels())
		return nil
	}
	for i := range cloud.Classes {
		c := &cloud.Classes[i]
		c.Configurators = append(c.Configurators, claimbinding.ManagedConfiguratorFn(mark))
	}
	return []setup{core.Provider().SetupWithManager, cloud.SetupWithManager}
}
