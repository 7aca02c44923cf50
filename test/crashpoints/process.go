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
	// window is how long a creation that was cut off may still be under way. Here nothing is: a dead process's requests
	// are refused or done, and the cloud shows at once what it made.
	window = 100 * time.Millisecond
)

// patient is what the controllers are told, so that recovery takes moments: nothing but times.
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

// aboutConfig is true for requests that protect provider configurations: next to an operation they come and go as they
// like, and nothing of it depends on them.
func aboutConfig(request string) bool {
	return strings.Contains(request, "providerconfigs.fcp.") || strings.HasSuffix(request, " secrets "+keySecret) ||
		strings.HasSuffix(request, fault.Listed) // so are users looked for before a configuration goes
}

// start starts a process that looks after the site's objects only and ends with its life. Requests that protect
// provider configurations are points of the operations that are about these.
func (t *try) start(ctx context.Context, life *fault.Process) (*controllers, error) {
	s := t.site
	name := func(r *http.Request) (string, bool) {
		request, ok := fault.APIRequest(r)
		return request, ok && (t.operation.configs || !aboutConfig(request))
	}
	current := func() *fault.Process { return life }
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
	s.proxy.Follow(life)
	ctx, cancel := context.WithCancel(ctx)
	p := &controllers{cancel: cancel, ended: make(chan error, 1)}
	go func() {
		p.ended <- mgr.Start(ctx)
		cancel() // caches of a process that ended early fill no more
	}()
	if !mgr.GetCache().WaitForCacheSync(ctx) {
		return nil, errors.Join(errors.New("the caches of a process do not fill"), p.stop())
	}
	life.Begin()
	return p, nil
}

// providers are what a process runs: all that there is where claims matter, with what they make marked as the site's, and
// without the controllers of claims elsewhere.
func (t *try) providers() []provider.Provider {
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

// cached is what a process of the site knows of.
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

// stop returns when nothing of the process is left.
func (p *controllers) stop() error {
	p.cancel()
	if err := <-p.ended; err != nil {
		return fmt.Errorf("running a process: %w", err)
	}
	return nil
}
