// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package terraform

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/terraform/external"
	"github.com/bowline-dev/bowline/pkg/terraform/journal"
	"github.com/bowline-dev/bowline/pkg/terraform/plugin"
	"github.com/bowline-dev/bowline/pkg/terraform/processes"
	"github.com/bowline-dev/bowline/pkg/terraform/state"
)

// variableControllers makes the test binary controllers. Its value is settings as JSON.
const variableControllers = "BOWLINE_TEST_CONTROLLERS"

// providerName is that of the Terraform provider, in the names of its types and in the groups of their kinds.
const providerName = "favouritecloud"

// settings are those of controllers in a process of their own.
type settings struct {
	API       string // the URL of the API server
	Provider  string // the path of the provider's program
	Notes     string // the folder of the journal
	Namespace string // of the objects and their states
}

// runControllers runs controllers until SIGTERM, as bowline controllers does, with short intervals.
func runControllers(encoded string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	s := settings{}
	if err := json.Unmarshal([]byte(encoded), &s); err != nil {
		return err
	}
	schemas, err := readSchemas(ctx, s.Provider)
	if err != nil {
		return err
	}
	notes, err := journal.Open(s.Notes)
	if err != nil {
		return err
	}
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		return err
	}
	cached := managed.CacheOptions()
	cached.DefaultNamespaces = map[string]cache.Config{s.Namespace: {}}
	mgr, err := ctrl.NewManager(&rest.Config{Host: s.API, QPS: -1}, ctrl.Options{
		Scheme: scheme, Cache: cached, Logger: logr.Discard(), Metrics: metricsserver.Options{BindAddress: "0"},
	})
	if err != nil {
		return err
	}
	source := &processes.Source{Journal: notes, Leaves: true, Log: logr.Discard()}
	source.Use(&processes.Binary{Path: s.Provider, Schemas: schemas})
	b := external.NewBridge(providerName, source, state.NewStore(mgr.GetClient(), mgr.GetAPIReader(), s.Namespace), scheme)
	p, err := b.Provider(schemas)
	for name := range schemas.Resources {
		settings := typeSettings[name]
		rows, definitions, serveErr := b.Serve(schemas.Resource(name), settings)
		err = errors.Join(err, serveErr)
		p.Kinds, p.Defined = append(p.Kinds, rows...), append(p.Defined, definitions...)
	}
	if err == nil {
		err = p.SetupWithManager(mgr, managed.WithPollInterval(pollInterval), managed.WithBackoff(pollInterval/2, 2*pollInterval),
			managed.WithConsistencyWindow(window), managed.WithCreationGracePeriod(pollInterval))
	}
	if err != nil {
		return err
	}
	go func() {
		if mgr.GetCache().WaitForCacheSync(ctx) {
			fmt.Println("ready")
		}
	}()
	return mgr.Start(ctx)
}

// readSchemas asks a process of the provider for its schemas.
func readSchemas(ctx context.Context, program string) (*plugin.Schemas, error) {
	p, err := plugin.Start(ctx, plugin.Command{Path: program})
	if err != nil {
		return nil, fmt.Errorf("reading the schemas: %w", err)
	}
	defer p.Close()
	return p.Schemas(ctx, func(string) bool { return true })
}

// typeSettings are those that a platform team would choose.
var typeSettings = map[string]external.TypeSettings{
	providerName + "_database": {ConnectionKeys: []string{"hostname", "port", "username"}},
	providerName + "_network":  {Ownership: "labels", ListConfig: map[string]any{"labels": map[string]any{meta.ExternalLabelUID: "{metadata.uid}"}}, AbsentAfter: window},
}

const (
	pollInterval = 100 * time.Millisecond
	window       = 2 * time.Second // how long an interrupted create may be in progress; half of it suffices to begin one on a busy machine
)

// mainOfControllers is the whole program in a process of controllers or of a journal, and does nothing in one of tests.
func mainOfControllers() {
	journal.Main()
	encoded := os.Getenv(variableControllers)
	if encoded == "" {
		return
	}
	_ = os.Unsetenv(variableControllers)
	if err := runControllers(encoded); err != nil {
		fmt.Fprintln(os.Stderr, "controllers:", err)
		os.Exit(1)
	}
	os.Exit(0)
}
