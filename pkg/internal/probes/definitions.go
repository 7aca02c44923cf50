// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/bowline-dev/bowline/pkg/crd"
)

const (
	checkTimeout = 10 * time.Second
	checkPeriod  = 5 * time.Second // of what an administrator installs
)

// RequireDefinitions makes the process ready only while the API server has all definitions of a provider, which an administrator installs.
// It calls setup, which adds the controllers of the provider, once all are served: now, or while the manager runs. So one provider does not
// stop others.
func RequireDefinitions(mgr ctrl.Manager, cfg *rest.Config, provider string, all []*apiextensionsv1.CustomResourceDefinition, setup func() error) error {
	checker, err := crd.NewChecker(cfg, all...)
	if err != nil {
		return err
	}
	d := &definitions{checker: checker, log: mgr.GetLogger().WithValues("provider", provider), setup: setup}
	if d.check(context.Background()) {
		if err := d.complete(); err != nil {
			return err
		}
	}
	if err := mgr.AddReadyzCheck("definitions-"+provider, func(*http.Request) error { return d.found.Load().problem() }); err != nil {
		return err
	}
	return mgr.Add(d)
}

// definitions of a provider. Not a request for the readiness but a loop checks them, since that costs requests.
type definitions struct {
	checker *crd.Checker
	log     logr.Logger
	setup   func() error // nil once it was called
	found   atomic.Pointer[finding]
}

// A finding is the result of a check.
type finding struct {
	lacks []crd.Lack
	err   error
}

// problem returns what is not as it should be.
func (f finding) problem() error {
	switch {
	case f.err != nil:
		return f.err
	case len(f.lacks) > 1:
		return fmt.Errorf("%s, and %d more lack something", f.lacks[0], len(f.lacks)-1)
	case len(f.lacks) == 1:
		return errors.New(f.lacks[0].String())
	}
	return nil
}

// check notes what is lacking, and returns whether the controllers can run.
func (d *definitions) check(ctx context.Context) (usable bool) {
	limited, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	var f finding
	f.lacks, f.err = d.checker.Check(limited)
	if ctx.Err() != nil {
		return false // the process ends
	}
	usable = f.err == nil && !slices.ContainsFunc(f.lacks, func(l crd.Lack) bool { return !l.IsServed })
	if usable && d.setup != nil {
		f.err = d.checker.Discover()
		usable = f.err == nil
	}
	before, problem := d.found.Swap(&f), f.problem()
	switch news := before == nil || !slices.Equal(before.lacks, f.lacks) || (before.err == nil) != (f.err == nil); {
	case f.err != nil && news:
		d.log.Error(problem, "The definitions of the API server cannot be checked")
	case problem != nil && news:
		d.log.Error(problem, "The API server lacks definitions: let an administrator apply what bowline crds prints")
	case before != nil && news:
		d.log.Info("The API server has all definitions")
	}
	return usable
}

// complete adds the controllers.
func (d *definitions) complete() error {
	setup := d.setup
	d.setup = nil
	return setup()
}

// Start checks the definitions from time to time. An error of the setup ends the process: it is a mistake in the provider.
func (d *definitions) Start(ctx context.Context) (failed error) {
	_ = wait.PollUntilContextCancel(ctx, checkPeriod, false, func(ctx context.Context) (bool, error) {
		if d.check(ctx) && d.setup != nil {
			failed = d.complete()
		}
		return failed != nil, nil
	})
	return failed
}

// NeedLeaderElection is false: a process that stands by prepares its controllers, too.
func (*definitions) NeedLeaderElection() bool { return false }
