// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/bowline-dev/bowline/controlplane"
	"github.com/bowline-dev/bowline/pkg/provider"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
)

// garbageGoal makes the collector trade some processor time for a smaller heap: a control plane on a laptop is idle most
// of the time, so its memory is what one notices. GOGC overrides it.
const garbageGoal = 50

type upOptions struct {
	program     string // how this program was called; what up prints can be typed again
	providers   []provider.Provider
	dataDir     string
	detach      bool
	withCloud   bool
	server      serverFlags
	cloud       cloudFlags
	controllers controllerFlags
	verbosity   verbosity
}

func newUpCmd(program string, providers []provider.Provider, std Streams, folder *dataDirFlag) *cobra.Command {
	o := upOptions{program: program, providers: providers, withCloud: true}
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Start everything: the control plane, the controllers and the local cloud",
		Long: `Starts the control plane, the controllers of every provider and the local cloud, in one process. It says when they are
ready, and stops them on Ctrl-C; a second Ctrl-C does not wait. All state is kept in the data folder, also when the
process is killed. Metrics are served for Prometheus; traces are sent by gRPC to OTEL_EXPORTER_OTLP_ENDPOINT if that is set.`,
		Example: `  bowline up                                   in the foreground
  bowline up --detach                          in the background; the log is bowline.log in the data folder
  bowline up --data-dir ./state --listen 127.0.0.1:0 --cloud-listen 127.0.0.1:0
  bowline up --cloud-admin                     with a local cloud that can be told to fail; see bowline cloud --help
  bowline up --cloud=false                     without the local cloud`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if o.dataDir, err = folder.own(); err != nil {
				return err
			}
			ctx, release := untilSignal(cmd.Context())
			defer release()
			if o.detach {
				return o.runDetached(ctx, std)
			}
			return explain(o.run(ctx, std), o.dataDir)
		},
	}
	cmd.Flags().BoolVar(&o.detach, "detach", false, "run in the background, and return when ready")
	cmd.Flags().BoolVar(&o.withCloud, "cloud", o.withCloud, "run the local cloud too")
	o.server.register(cmd.Flags())
	o.cloud.register(cmd.Flags())
	o.controllers.register(cmd.Flags())
	o.verbosity.register(cmd.Flags())
	return cmd
}

// run starts everything and blocks until ctx ends or a part fails.
func (o upOptions) run(ctx context.Context, std Streams) error {
	begin := time.Now()
	ready, err := readySignal(std.Out)
	if err != nil {
		return err
	}
	defer ready.Close()
	// First, and with its final mode: whichever part starts first would make it with its own.
	if err := controlplane.PrepareFolder(o.dataDir); err != nil {
		return err
	}
	log := newLogs(std.Err, o.verbosity)
	ctrl.SetLogger(log.library("controllers")) // controller-runtime warns if it has no logger of its own
	return runServices(ctx, func(ctx context.Context, running *stack) error {
		state, err := o.startAll(ctx, running, log)
		if err != nil {
			return err
		}
		if err := announce(o.dataDir, state); err != nil {
			return err
		}
		noteInRegistry(o.dataDir, log)
		welcome(ready, o.program, o.dataDir, state)
		log.own("bowline").Info("Ready", "after", time.Since(begin).Round(time.Millisecond))
		defer saveMemory()
		return ready.Close()
	}, func() error { return renounce(o.dataDir) })
}

// saveMemory sets the collector's goal and gives back what the start has left. It comes last: collecting more often would take
// a fifth of the processor time until everything is ready.
func saveMemory() {
	if os.Getenv("GOGC") != "" {
		return
	}
	debug.SetGCPercent(garbageGoal)
	debug.FreeOSMemory()
}

// startAll starts the services in the order of their needs: the API server and the cloud side by side, then the
// controllers, which use both.
func (o upOptions) startAll(ctx context.Context, running *stack, log *logs) (runFile, error) {
	reconcilers, err := o.controllers.options()
	if err != nil {
		return runFile{}, err
	}
	server, serverService, err := apiServer(o.dataDir, o.server, log)
	if err != nil {
		return runFile{}, err
	}
	cloud, cloudService, err := localCloud(o.dataDir, o.cloud, log)
	if err != nil {
		return runFile{}, err
	}
	serverStarted := running.launch(ctx, serverService)
	var cloudStarted *startedService
	if o.withCloud {
		cloudStarted = running.launch(ctx, cloudService)
	}
	need, err := needsOf(o.providers) // while the server starts
	if err != nil {
		return runFile{}, err
	}
	if err := running.waitReady(ctx, serverStarted); err != nil {
		return runFile{}, err
	}
	log.own("bowline").Debug("API server is ready")
	if err := o.startControllers(ctx, running, server, need, reconcilers, log); err != nil {
		return runFile{}, err
	}
	state := thisProcess(server)
	if cloudStarted != nil {
		if err := running.waitReady(ctx, cloudStarted); err != nil {
			return runFile{}, err
		}
		state.Cloud = cloud.URL()
	}
	return state, nil
}

// needs are the objects that have to be on the server before the controllers start.
type needs struct {
	definitions []*apiextensionsv1.CustomResourceDefinition
	identities  []*unstructured.Unstructured
}

func needsOf(providers []provider.Provider) (needs, error) {
	definitions, err := provider.Definitions(providers...)
	if err != nil {
		return needs{}, err
	}
	all, err := identities(providers, definitions)
	return needs{definitions: definitions, identities: all}, err
}

// startControllers prepares the server as its administrator, for whom this process holds the certificate anyway, and
// runs the controllers as the service account that this makes.
func (o upOptions) startControllers(ctx context.Context, running *stack, server *controlplane.Server,
	need needs, reconcilers []managed.ReconcilerOption, log *logs) error {
	admin := server.RESTConfig()
	client, err := kubernetes.NewForConfig(admin)
	if err != nil {
		return fmt.Errorf("creating client: %w", err)
	}
	token := controllersToken(o.dataDir, client, log.own("bowline"))
	group, preparing := errgroup.WithContext(ctx)
	group.Go(func() error {
		return provider.InstallDefinitions(preparing, admin, log.controllers(), need.definitions)
	})
	group.Go(func() error {
		if err := applyIdentities(preparing, admin, need.identities); err != nil {
			return err
		}
		return token.refresh(preparing)
	})
	if err := group.Wait(); err != nil {
		return err
	}
	log.own("bowline").Debug("Custom resource definitions, and the identities of controllers and people, are applied")
	working, err := controllers(controllersConfig{
		providers: o.providers, rest: token.config(admin), log: log.controllers(), reconcilers: reconcilers,
		metrics: o.controllers.metrics,
	})
	if err != nil {
		return err
	}
	log.own("bowline").Debug("The controllers are set up")
	if err := running.start(ctx, service{
		name:  "token refresh",
		run:   token.keepFresh,
		ready: closed(),
	}); err != nil {
		return err
	}
	return running.start(ctx, working)
}

// closed returns the ready channel of a service that needs no start.
func closed() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

// welcome says in a few lines that everything is ready and what to do with it.
func welcome(w io.Writer, program, dataDir string, state runFile) {
	argument := dataDirArgument(dataDir)
	fmt.Fprintf(w, "Bowline is ready: https://%s, data in %s\n", state.Address, dataDir)
	if state.Cloud != "" {
		fmt.Fprintf(w, "The local cloud is at %s; a key for it: %s cloud key create --project NAME%s\n", state.Cloud, program, argument)
	}
	fmt.Fprintf(w, "\n  %s kubectl%s get managed\n", program, argument)
	fmt.Fprintf(w, "  export KUBECONFIG=%s\n", shellQuote(controlplane.KubeconfigPath(dataDir)))
	fmt.Fprintf(w, "  %s status%s\n", program, argument)
	fmt.Fprintf(w, "  %s down%s\n", program, argument)
}
