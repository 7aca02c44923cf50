// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"path/filepath"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/controlplane"
	"github.com/bowline-dev/bowline/favouritecloud"
	"github.com/bowline-dev/bowline/internal/cli/datadir"
	"github.com/bowline-dev/bowline/internal/cli/heartbeat"
	"github.com/bowline-dev/bowline/internal/cli/logs"
	"github.com/bowline-dev/bowline/internal/cli/terraform/folders"
	"github.com/bowline-dev/bowline/pkg/crd"
	"github.com/bowline-dev/bowline/pkg/provider"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/telemetry"
	"github.com/bowline-dev/bowline/providers/terraform/controller"
)

// ServerOptions are the flags of commands that run the API server.
type ServerOptions struct {
	Listen     string
	Names      []string
	Encryption absolutePath
	Tokens     absolutePath
}

// AddFlags registers the flags.
func (o *ServerOptions) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.Listen, "listen", "", listenUsage("API server", controlplane.DefaultListen))
	flags.StringSliceVar(&o.Names, "tls-san", nil, "further host names or addresses for the API server's certificate")
	flags.Var(&o.Encryption, "encryption-provider-config",
		"file of the keys that encrypt Secrets in the store, as for kube-apiserver (default: encryption.yaml in the data folder)")
	flags.Var(&o.Tokens, "admin-tokens",
		"file of the SHA-256 hashes of bearer tokens of the administrator, one a line, which may change at any time (default: none)")
}

func listenUsage(server, first string) string {
	return fmt.Sprintf("host:port of the %s; port 0 picks a free one (default %s, with the port of the last start if there was one)", server, first)
}

// An absolutePath is a flag with a path, which up --detach passes on to a process with another working directory.
type absolutePath string

// String implements pflag.Value.
func (p *absolutePath) String() string { return string(*p) }

// Type implements pflag.Value.
func (*absolutePath) Type() string { return "file" }

// Set implements pflag.Value.
func (p *absolutePath) Set(path string) error {
	absolute, err := filepath.Abs(path)
	*p = absolutePath(absolute)
	return err
}

// APIServer returns the embedded API server as a service. A new data folder has the definitions of the providers from its start, as far as
// they are compiled.
func APIServer(dataDir string, o ServerOptions, log *logs.Logs, providers ...provider.Provider) (*controlplane.Server, Service, error) {
	server, err := controlplane.New(controlplane.Config{
		DataDir: dataDir, Listen: o.Listen, Names: o.Names, EncryptionConfig: string(o.Encryption), AdminTokens: string(o.Tokens),
		Controllers: serviceaccount.MakeUsername(SystemNamespace, ControllersAccount), Log: log.Library("apiserver"),
		Initial: func() ([]runtime.Object, error) { return prepared(providers) },
	})
	if err != nil {
		return nil, Service{}, err
	}
	return server, Service{Name: "API server", ListenFlag: "--listen", Run: server.Run, Ready: server.Ready()}, nil
}

// prepared returns the objects with which a new server begins.
func prepared(providers []provider.Provider) (all []runtime.Object, err error) {
	for _, p := range providers {
		if p.CRDs == nil {
			continue // provider.Definitions reports it
		}
		objects, err := crd.Prepared(p.CRDs)
		if err != nil {
			return nil, fmt.Errorf("provider %s: %w", p.Name, err)
		}
		all = append(all, objects...)
	}
	return all, nil
}

// CloudOptions are the flags of commands that run the local cloud.
type CloudOptions struct {
	Listen string
	Admin  bool
}

// AddFlags registers the flags.
func (o *CloudOptions) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.Listen, "cloud-listen", "", listenUsage("local cloud", favouritecloud.DefaultListen))
	flags.BoolVar(&o.Admin, "cloud-admin", false, "let the holder of the local cloud's admin token inject faults and count calls")
}

// Cloud returns the local cloud as a service.
func Cloud(dataDir string, o CloudOptions, log *logs.Logs) (*favouritecloud.Server, Service, error) {
	cloud, err := favouritecloud.New(favouritecloud.Config{
		DataDir: datadir.CloudDir(dataDir), Listen: o.Listen, CloudAdmin: o.Admin, Log: log.Own("cloud"),
	})
	if err != nil {
		return nil, Service{}, err
	}
	return cloud, Service{
		Name: "local cloud", ListenFlag: "--cloud-listen", Run: cloud.Run, Ready: cloud.Ready(), Abandon: cloud.KeepServers,
	}, nil
}

// StopLeftovers stops the database servers of a killed cloud, and reports whether there was one: a cloud that stops in order
// removes its endpoint file. Only the cloud can adopt its servers, so this starts it and stops it again.
func StopLeftovers(ctx context.Context, out io.Writer, dataDir string) (bool, error) {
	cloudDir := datadir.CloudDir(dataDir)
	_, err := favouritecloud.ReadEndpoint(cloudDir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	fmt.Fprintln(out, "Stopping database servers that the local cloud left behind")
	cloud, err := favouritecloud.New(favouritecloud.Config{DataDir: cloudDir, Listen: "127.0.0.1:0"})
	if err != nil {
		return true, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-cloud.Ready():
			cancel()
		case <-ctx.Done():
		}
	}()
	if err := cloud.Run(ctx); err != nil {
		return true, fmt.Errorf("the local cloud of %s cannot be stopped from here (if it runs by itself, press Ctrl-C there): %w", dataDir, err)
	}
	return true, nil
}

// ControllerOptions are the flags of commands that run the controllers of all providers.
type ControllerOptions struct {
	PollInterval time.Duration
	Metrics      MetricsAddress
	Terraform    *controller.Options // nil for none
}

// AddFlags registers the flags.
func (o *ControllerOptions) AddFlags(flags *pflag.FlagSet) {
	flags.DurationVar(&o.PollInterval, "poll-interval", time.Minute, "how often each external resource is polled while nothing changes")
	if o.Terraform != nil {
		folders.AddFlag(flags, o.Terraform)
		flags.StringVar(&o.Terraform.Mirror.URL, "terraform-mirror", "", "`URL` of a network mirror of Terraform providers, with https except for a "+
			"loopback address; what no folder has is downloaded from it (default: none, and nothing is downloaded)")
		flags.Var((*absolutePath)(&o.Terraform.Mirror.TokenFile), "terraform-mirror-token-file",
			"file of the bearer token for the host of --terraform-mirror, which may change at any time (default: none)")
	}
	o.Metrics.Address = telemetry.DefaultListen
	flags.Var(&o.Metrics, "metrics-listen", `host:port that serves metrics to Prometheus at /metrics; port 0 picks a free one, which up keeps; "" is none`)
}

// Validate returns the first mistake in the flags.
func (o *ControllerOptions) Validate() error {
	if o.PollInterval < time.Second {
		return errors.New("--poll-interval must be at least 1s")
	}
	if o.Terraform != nil {
		return o.Terraform.Mirror.Validate()
	}
	return nil
}

// ControllersConfig configures the controllers of all providers.
type ControllersConfig struct {
	ControllerOptions
	Providers    []provider.Provider
	REST         *rest.Config
	Log          logr.Logger
	LibraryLog   logr.Logger   // of controller-runtime
	Version      string        // of this program, for spans
	InstallCRDs  bool          // the definitions are installed by this process, not by an administrator
	Lease        time.Duration // see provider.ManagerConfig
	LeaderElect  bool
	HealthListen string   // host:port of /healthz and /readyz; empty for none
	Secrets      []string // namespaces of the Secrets that they may use; empty for all
	Selector     string   // of the ProviderConfigs that this process reconciles, by labels; empty for all
	OnMetrics    func(url string)
	Used         func(context.Context, schema.GroupResource) <-chan struct{} // see provider.ManagerConfig
}

// Controllers returns the service that runs the controllers of all providers. With leader election it is ready when it leads.
func Controllers(ctx context.Context, cfg ControllersConfig) (Service, error) {
	spans, err := exportSpans(cfg.Log, cfg.Version)
	if err != nil {
		return Service{}, err
	}
	reconcilers := []managed.ReconcilerOption{managed.WithPollInterval(cfg.PollInterval)}
	if spans != nil {
		reconcilers = append(reconcilers, managed.WithTracerProvider(spans))
	}
	mgr, err := provider.NewManager(provider.ManagerConfig{
		REST:               cfg.REST,
		Log:                cfg.Log,
		LibraryLog:         cfg.LibraryLog,
		LeaderElect:        cfg.LeaderElect,
		LeaseDuration:      cfg.Lease,
		NeedsCRDs:          !cfg.InstallCRDs,
		HealthListen:       cfg.HealthListen,
		SecretNamespaces:   cfg.Secrets,
		WatchLabelSelector: cfg.Selector,
		MetricsListen:      cfg.Metrics.Address,
		MetricsPort:        cfg.Metrics.Former,
		MetricsGiveWay:     !cfg.Metrics.Chosen,
		OnMetrics:          cfg.OnMetrics,
		Reconcilers:        reconcilers,
		Used:               cfg.Used,
	}, cfg.Providers...)
	if err != nil {
		return Service{}, err
	}
	if err := heartbeat.Add(mgr, cfg.Selector, Names(cfg.Providers)...); err != nil {
		return Service{}, err
	}
	return Service{
		Name: "controllers",
		Run: func(ctx context.Context) error {
			if spans != nil {
				defer flush(ctx, spans)
			}
			return mgr.Start(ctx)
		},
		Ready: mgr.Elected(),
	}, nil
}

// Names of providers, in their order.
func Names(of []provider.Provider) []string {
	all := make([]string, 0, len(of))
	for _, p := range of {
		all = append(all, p.Name)
	}
	return all
}

// A MetricsAddress is the flag --metrics-listen. If the default address is taken, metrics are not served, so that a second process
// on a machine works without further flags; a chosen address that is taken is an error.
type MetricsAddress struct {
	Address string
	Chosen  bool
	Former  string // port of an earlier start, for Prometheus, which has it
}

// String implements pflag.Value.
func (a *MetricsAddress) String() string { return a.Address }

// Type implements pflag.Value.
func (*MetricsAddress) Type() string { return "string" }

// Set implements pflag.Value.
func (a *MetricsAddress) Set(address string) error {
	if _, _, err := net.SplitHostPort(address); err != nil && address != "" {
		return fmt.Errorf("give host:port, such as %s, or an empty string for none: %w", telemetry.DefaultListen, err)
	}
	a.Address, a.Chosen = address, true
	return nil
}
