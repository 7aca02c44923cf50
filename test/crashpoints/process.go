// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/go-logr/logr"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/bowline-dev/bowline/internal/testkit/fault"
	"github.com/bowline-dev/bowline/pkg/core"
	"github.com/bowline-dev/bowline/pkg/provider"
	"github.com/bowline-dev/bowline/pkg/reconciler/claim"
	"github.com/bowline-dev/bowline/pkg/reconciler/claimbinding"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
	"github.com/bowline-dev/bowline/providers/fcp"
	cachev1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/cache/v1alpha3"
	databasev1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/database/v1alpha3"
	namespacedv1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/namespaced/v1alpha3"
	networkv1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/network/v1alpha3"
	"github.com/bowline-dev/bowline/providers/fcp/apis/v1alpha3"
)

const (
	pollInterval = 100 * time.Millisecond
	// window is how long an interrupted create may be in progress. Here it never is: requests of a crashed process are refused or
	// served, and the cloud is consistent.
	window = 100 * time.Millisecond
)

// patient returns short intervals, so that recovery is fast.
func patient() []managed.ReconcilerOption {
	return []managed.ReconcilerOption{
		managed.WithPollInterval(pollInterval),
		managed.WithBackoff(pollInterval/2, 2*pollInterval),
		managed.WithCreationGracePeriod(window),
		managed.WithConsistencyWindow(window),
	}
}

// controllers are the provider's controllers with a memory of their own, as one run of the program has.
type controllers struct {
	cancel context.CancelFunc
	ended  chan error
}

// aboutConfig is true for requests that protect provider configurations. They happen at any time, and operations do not depend on
// them.
func aboutConfig(request string) bool {
	return strings.Contains(request, "providerconfigs.fcp.") || strings.HasSuffix(request, " secrets "+keySecret) ||
		strings.HasSuffix(request, fault.Listed) // of users, before a configuration is deleted
}

// start starts controllers for the site's objects only, whose requests are those of the process. Requests that protect provider
// configurations are points of operations with configs.
func (t *attempt) start(ctx context.Context, process *fault.Process) (*controllers, error) {
	s := t.site
	name := func(r *http.Request) (string, bool) {
		request, ok := fault.APIRequest(r)
		return request, ok && (t.operation.configs || !aboutConfig(request))
	}
	current := func() *fault.Process { return process }
	tapped := rest.CopyConfig(s.config)
	tapped.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return fault.Transport(current, name, next)
	})
	mgr, err := ctrl.NewManager(tapped, ctrl.Options{
		Scheme:         s.client.Scheme(),
		MapperProvider: func(*rest.Config, *http.Client) (apimeta.RESTMapper, error) { return s.client.RESTMapper(), nil },
		Logger:         logr.Discard(),
		Metrics:        metricsserver.Options{BindAddress: "0"},
		Cache:          s.cached(),
		Controller:     config.Controller{SkipNameValidation: new(true)},
	})
	if err != nil {
		return nil, fmt.Errorf("setting up a process: %w", err)
	}
	for _, p := range t.providers() {
		if err := p.SetupWithManager(mgr, patient()...); err != nil {
			return nil, fmt.Errorf("setting up a process: %w", err)
		}
	}
	s.proxy.Follow(process)
	ctx, cancel := context.WithCancel(ctx)
	p := &controllers{cancel: cancel, ended: make(chan error, 1)}
	go func() {
		p.ended <- mgr.Start(ctx)
		cancel() // caches of controllers that ended early never sync
	}()
	if !mgr.GetCache().WaitForCacheSync(ctx) {
		return nil, errors.Join(errors.New("the caches of a process do not sync"), p.stop())
	}
	process.Begin()
	return p, nil
}

// providers returns the providers to run: all of them for claims, whose managed resources get the label of the site, and only the
// cloud's without classes otherwise.
func (t *attempt) providers() []provider.Provider {
	cloud := fcp.Provider()
	if t.kind.claims == nil {
		cloud.Classes = nil
		return []provider.Provider{cloud}
	}
	mark := func(_ context.Context, _ resource.Claim, _ resource.Class, mg resource.Managed) error {
		mg.SetLabels(t.site.meta("").Labels)
		return nil
	}
	for i := range cloud.Classes {
		c := &cloud.Classes[i]
		c.Configurators = append(c.Configurators, claimbinding.ManagedConfiguratorFn(mark))
	}
	return []provider.Provider{core.Provider(), cloud}
}

// cached limits caches to the site.
func (s *site) cached() cache.Options {
	options := managed.CacheOptions()
	claim.CacheDefinitions(&options)
	options.DefaultNamespaces = map[string]cache.Config{s.namespace: {}}
	mine := cache.ByObject{Label: labels.SelectorFromSet(labels.Set{siteLabel: s.namespace})}
	options.ByObject[&databasev1alpha3.FavouriteDBInstance{}] = mine
	options.ByObject[&cachev1alpha3.CacheInstance{}] = mine
	options.ByObject[&networkv1alpha3.Network{}] = mine
	options.ByObject[&databasev1alpha3.FavouriteDBInstanceClass{}] = mine
	options.ByObject[&cachev1alpha3.CacheInstanceClass{}] = mine
	named := cache.ByObject{Field: fields.OneTermEqualSelector(metav1.ObjectNameField, s.namespace)}
	options.ByObject[&v1alpha3.ProviderConfig{}] = named
	options.ByObject[&namespacedv1alpha3.ClusterProviderConfig{}] = named
	return options
}

// stop returns when the controllers have stopped.
func (p *controllers) stop() error {
	p.cancel()
	if err := <-p.ended; err != nil {
		return fmt.Errorf("running a process: %w", err)
	}
	return nil
}
