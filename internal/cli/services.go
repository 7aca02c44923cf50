// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/transport"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/bowline-dev/bowline/controlplane"
	"github.com/bowline-dev/bowline/favouritecloud"
	"github.com/bowline-dev/bowline/favouritecloud/sdk"
	"github.com/bowline-dev/bowline/internal/cli/command"
	"github.com/bowline-dev/bowline/internal/cli/daemon"
	"github.com/bowline-dev/bowline/internal/cli/datadir"
	"github.com/bowline-dev/bowline/internal/cli/logs"
	"github.com/bowline-dev/bowline/internal/cli/manifests"
	"github.com/bowline-dev/bowline/internal/cli/plane"
	"github.com/bowline-dev/bowline/pkg/provider"
)

func newAPIServerCmd(std Streams, folder *datadir.Flag) *cobra.Command {
	var options plane.ServerOptions
	cmd := &cobra.Command{
		Use:   "apiserver",
		Short: "Run only the API server and its database",
		Long: `Runs the API server with its database and the controllers of Kubernetes' own objects, in the foreground and without
Bowline's controllers. Run those with: bowline controllers --kubeconfig FILE.`,
		Example: `  bowline apiserver --data-dir ./state --listen 127.0.0.1:0
  bowline kubectl --data-dir ./state api-resources`,
		Args: command.NoArgs,
	}
	options.AddFlags(cmd.Flags())
	serve(cmd, std, folder, func(ctx context.Context, dataDir string, log *logs.Logs) error {
		if err := plane.RefuseRestored(dataDir); err != nil {
			return err
		}
		if pid, err := awaitEnd(ctx, std.Out, dataDir); err != nil || pid != 0 {
			return cmp.Or(err, alreadyRuns(dataDir, pid))
		}
		server, service, err := plane.APIServer(dataDir, options, log)
		if err != nil {
			return err
		}
		return plane.RunOne(ctx, service, func() error {
			if err := announce(dataDir, datadir.NewRunFile(server.Address(), ownVersion()), log); err != nil {
				return err
			}
			_, err := fmt.Fprintf(std.Out, "The API server is ready at https://%s\n  export KUBECONFIG=%s\n",
				server.Address(), controlplane.KubeconfigPath(dataDir))
			return err
		}, func() error { return datadir.RemoveRunFile(dataDir) })
	})
	return cmd
}

// announce writes the run file and registers the server. Without the registry, clients only need --data-dir.
func announce(dataDir string, state datadir.RunFile, log *logs.Logs) error {
	if err := state.Write(dataDir); err != nil {
		return err
	}
	if err := datadir.Register(dataDir); err != nil {
		log.Own("bowline").Warn("Cannot register this server for other commands; give them --data-dir", "error", err)
	}
	return nil
}

// serve makes a command run a server of a data folder until a signal. The error of a locked folder contains the next command.
func serve(cmd *cobra.Command, std Streams, folder *datadir.Flag, run func(_ context.Context, dataDir string, _ *logs.Logs) error) {
	untilSignal(cmd, std, func(ctx context.Context, log *logs.Logs) error {
		dataDir, err := folder.Server()
		if err != nil {
			return err
		}
		err = run(ctx, dataDir, log)
		if locked, ok := errors.AsType[*controlplane.LockedError](err); ok {
			return alreadyRuns(dataDir, locked.PID)
		}
		return err
	})
}

const endLimit = 10 * time.Second // for a process that ends: its threads may wait for the disk

// awaitEnd returns 0 when no process holds the data folder. It returns the id of a process that serves at once, and of one that does not,
// since it was killed, stops, starts or hangs, after endLimit.
func awaitEnd(ctx context.Context, out io.Writer, dataDir string) (pid int, err error) {
	for begin, reported := time.Now(), false; ; reported = true {
		server, err := daemon.Find(ctx, dataDir)
		if server == nil {
			return 0, err
		}
		pid := server.Pid
		_, announced := datadir.ReadRunFile(dataDir, pid)
		if serves := announced && plane.Healthy(ctx, dataDir); serves || time.Since(begin) > endLimit || ctx.Err() != nil {
			return pid, errors.Join(context.Cause(ctx), server.Release())
		}
		if !reported {
			fmt.Fprintf(out, "Waiting for process %d, which uses %s but does not serve\n", pid, dataDir)
		}
		_, _ = server.WaitEnd(ctx, 50*time.Millisecond) // a process that ended has closed its files and ports
		_ = server.Release()
	}
}

func alreadyRuns(dataDir string, pid int) error {
	return fmt.Errorf("bowline already runs on %s (process %d); show it with: bowline status%[3]s, or stop it with: bowline down%[3]s",
		dataDir, pid, datadir.Argument(dataDir))
}

func newCloudCmd(std Streams, folder *datadir.Flag) *cobra.Command {
	var options plane.CloudOptions
	cmd := &cobra.Command{
		Use:   "cloud",
		Short: "Run only the local cloud, or create keys for it",
		Long: `Runs the local cloud in the foreground: a small HTTP API whose database instances are real PostgreSQL servers. It does not
depend on Kubernetes. bowline up includes it; run it by itself to use it with another control plane.

With --cloud-admin you can make it slow, refuse or throttle calls and lose responses, to test how a control plane reacts:
PUT /admin/v1/faults with the token in cloud/admin.token of the data folder. favouritecloud/README.md has examples.`,
		Example: `  bowline cloud --data-dir ./state
  bowline cloud --cloud-admin
  KEY=$(bowline cloud key create --project demo)`,
		Args: command.Subcommand,
	}
	options.AddFlags(cmd.Flags())
	serve(cmd, std, folder, func(ctx context.Context, dataDir string, log *logs.Logs) error {
		cloud, service, err := plane.Cloud(dataDir, options, log)
		if err != nil {
			return err
		}
		if err := controlplane.PrepareFolder(dataDir); err != nil {
			return err
		}
		return plane.RunOne(ctx, service, func() error {
			_, err := fmt.Fprintf(std.Out, "The local cloud is ready at %s\n  bowline cloud key create --project NAME%s\n",
				cloud.URL(), datadir.Argument(dataDir))
			return err
		}, nil)
	})
	cmd.AddCommand(newCloudKeyCmd(std, folder))
	return cmd
}

func newCloudKeyCmd(std Streams, folder *datadir.Flag) *cobra.Command {
	var project string
	create := &cobra.Command{
		Use:   "create --project NAME",
		Short: "Create an API key of a project, and the project if it is new",
		Long: `Creates an API key and prints only the key to the standard output. This is the only time that it is shown: the cloud
stores its hash.`,
		Example: `  KEY=$(bowline cloud key create --project demo)`,
		Args:    command.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if project == "" {
				return command.Usagef(cmd, "name the project with --project NAME")
			}
			dataDir, err := folder.Client()
			if err != nil {
				return err
			}
			key, err := createKey(cmd.Context(), dataDir, project)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(std.Out, key)
			return err
		},
	}
	create.Flags().StringVar(&project, "project", "", "name of the project (required)")
	cmd := &cobra.Command{Use: "key", Short: "Create API keys of the local cloud", Args: command.Subcommand, RunE: command.ShowHelp}
	cmd.AddCommand(create)
	return cmd
}

func createKey(ctx context.Context, dataDir, project string) (string, error) {
	endpoint, err := favouritecloud.ReadEndpoint(datadir.CloudDir(dataDir))
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("no local cloud runs on %s; start one with: bowline up --detach%s, or name its folder with --data-dir",
			dataDir, datadir.Argument(dataDir))
	}
	if err != nil {
		return "", err
	}
	token, err := favouritecloud.ReadAdminToken(datadir.CloudDir(dataDir))
	if err != nil {
		return "", err
	}
	key, err := sdk.CreateKey(ctx, endpoint, token, project)
	if err != nil {
		return "", fmt.Errorf("creating key of project %s: %w", project, err)
	}
	return key.Key, nil
}

type controllersOptions struct {
	plane.ControllersConfig
	kubeconfig, context string
	logFormat           string
	selection           *manifests.Selection
	wrap                transport.WrapperFunc
}

func newControllersCmd(program Program, std Streams) *cobra.Command {
	o := controllersOptions{wrap: program.WrapTransport, selection: manifests.NewSelection(program.Providers)}
	o.Terraform = program.Terraform
	o.Version = ownVersion()
	cmd := &cobra.Command{
		Use:   "controllers",
		Short: "Run all controllers against any Kubernetes API server",
		Long: `Runs the controllers of every provider in the foreground, against any Kubernetes API server. Inside a cluster, omit
--kubeconfig: the pod's service account is used.

With --install-crds=false an administrator installs the definitions (bowline crds). Kinds whose definition is missing are not reconciled, and
/readyz fails, until it is there.

Metrics are served for Prometheus; traces are sent by gRPC to OTEL_EXPORTER_OTLP_ENDPOINT if that is set.`,
		Example: `  bowline controllers --kubeconfig ./state/admin.kubeconfig
  bowline controllers --leader-elect --install-crds=false     as a Deployment with several replicas`,
		Args: command.NoArgs,
	}
	cmd.Flags().StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig of the API server (default: $KUBECONFIG, else the service account of the pod)")
	cmd.Flags().StringVar(&o.context, "context", "", "context of the kubeconfig (default: its current one)")
	cmd.Flags().BoolVar(&o.LeaderElect, "leader-elect", false,
		"reconcile only while this process holds the leases of its providers, which all replicas share")
	cmd.Flags().DurationVar(&o.Lease, "leader-elect-lease-duration", 15*time.Second,
		"without renewal for so long another process takes over a lease; the same in all replicas")
	cmd.Flags().BoolVar(&o.InstallCRDs, "install-crds", true, "apply the custom resource definitions at the start")
	cmd.Flags().StringVar(&o.logFormat, "log-format", "text", "text, for people, or json")
	o.selection.AddFlags(cmd.Flags())
	cmd.Flags().StringSliceVar(&o.Secrets, "secret-namespaces", nil, "namespaces of the Secrets that the controllers may use (default: all)")
	cmd.Flags().StringVar(&o.Selector, "watch-label-selector", "",
		"reconcile only the ProviderConfigs with these labels, such as shard=a, and the managed resources that use them; exactly one process of a "+
			"provider must also match objects without labels, as shard!=a does: it serves claims, targets and all that has no ProviderConfig (default: all)")
	cmd.Flags().StringVar(&o.HealthListen, "health-listen", "", "host:port that serves /healthz and /readyz (default: none)")
	o.AddFlags(cmd.Flags())
	if o.Terraform != nil {
		cmd.Flags().StringVar(&o.Terraform.Journal, "terraform-journal", "", "`folder` for the answers of Terraform providers to changes, so that a kill "+
			"during a change loses none; it has secrets, and must outlive this process (default: none)")
		cmd.Flags().StringVar(&o.Terraform.Mirror.Folder, "terraform-downloads", "", "`folder` for what is downloaded from --terraform-mirror, of this "+
			"process only; what outlives the process is not downloaded again")
	}
	untilSignal(cmd, std, func(ctx context.Context, log *logs.Logs) error {
		switch o.logFormat {
		case "text":
		case "json":
			log.UseJSON()
		default:
			return command.Usagef(cmd, "--log-format must be text or json, not %q", o.logFormat)
		}
		return o.run(ctx, std, log)
	})
	return cmd
}

func (o controllersOptions) run(ctx context.Context, std Streams, log *logs.Logs) error {
	if o.Terraform != nil && o.Terraform.Mirror.URL != "" && o.Terraform.Mirror.Folder == "" {
		return errors.New("--terraform-mirror needs --terraform-downloads FOLDER, which is for its packages")
	}
	var err error
	if o.REST, err = provider.RESTConfig(o.kubeconfig, o.context); err != nil {
		return err
	}
	o.REST.UserAgent, o.Log, o.LibraryLog = plane.ControllersAccount, log.Controllers(), log.Library("controllers")
	o.REST.Wrap(o.wrap)
	o.Providers = o.selection.Providers()
	if err := o.Validate(); err != nil {
		return err
	}
	ctrl.SetLogger(log.Library("controllers")) // controller-runtime warns if it has no logger of its own
	klog.SetLoggerWithOptions(log.Library("client"), klog.ContextualLogger(true))
	if o.InstallCRDs {
		if err := provider.InstallCRDs(ctx, o.REST, o.Log, o.Providers...); err != nil {
			return err
		}
	}
	service, err := plane.Controllers(ctx, o.ControllersConfig)
	if err != nil {
		return err
	}
	return plane.RunOne(ctx, service, func() error {
		_, err := fmt.Fprintf(std.Out, "The controllers work against %s\n", o.REST.Host)
		return err
	}, nil)
}
