// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package probes

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/go-logr/logr"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/bowline-dev/bowline/pkg/crd"
)

// RequireDefinitions makes the process ready only while the API server has all definitions of a provider, which an administrator installs.
// It calls setup, which adds the controllers of the provider, once none is missing: now, or while the manager runs. So one provider does not
// stop others.
func RequireDefinitions(mgr ctrl.Manager, cfg *rest.Config, provider string, all []*apiextensionsv1.CustomResourceDefinition, setup func() error) error {
	checker, err := crd.NewChecker(cfg, all...)
	if err != nil {
		return err
	}
	d := &definitions{provider, checker, mgr.GetLogger(), setup}
	if err := mgr.AddReadyzCheck("definitions-"+provider, func(request *http.Request) error { return d.check(request.Context()) }); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), checkTimeout)
	defer cancel()
	lacks, err := d.checker.Check(ctx)
	if err != nil {
		return err
	}
	if len(lacks) > 0 {
		d.log.Error(d.describe(lacks), "The API server lacks definitions", "provider", provider)
	}
	if slices.ContainsFunc(lacks, crd.Lack.IsMissing) {
		return mgr.Add(d)
	}
	return setup()
}

const (
	checkTimeout = 30 * time.Second
	checkPeriod  = 2 * time.Second // of what an administrator installs
)

// definitions of a provider that are not all installed.
type definitions struct {
	provider string
	checker  *crd.Checker
	log      logr.Logger
	setup    func() error
}

// check returns an error that says what is lacking.
func (d *definitions) check(ctx context.Context) error {
	lacks, err := d.checker.Check(ctx)
	if err != nil || len(lacks) == 0 {
		return err
	}
	return d.describe(lacks)
}

// describe names what is lacking first, and the command that installs it.
func (d *definitions) describe(lacks []crd.Lack) error {
	more := ""
	if len(lacks) > 1 {
		more = fmt.Sprintf(" (and %d more)", len(lacks)-1)
	}
	return fmt.Errorf("%s%s: let an administrator run: bowline crds --providers %s | kubectl apply --server-side -f -", lacks[0], more, d.provider)
}

// Start waits until none is missing.
func (d *definitions) Start(ctx context.Context) error {
	missing := func(ctx context.Context) (bool, error) {
		lacks, err := d.checker.Check(ctx)
		return err == nil && !slices.ContainsFunc(lacks, crd.Lack.IsMissing), nil // the server may be gone for a while
	}
	if err := wait.PollUntilContextCancel(ctx, checkPeriod, false, missing); err != nil {
		return nil // the process ends
	}
	d.log.Info("The definitions are installed", "provider", d.provider)
	return d.setup()
}

// NeedLeaderElection is false: a process that stands by prepares its controllers, too.
func (*definitions) NeedLeaderElection() bool { return false }
