// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package plane wires the parts of a control plane: the API server, the local cloud and the controllers of all providers.
//
// Each part is a Service. A Stack gives several services one lifetime. The commands apiserver, cloud and controllers run one
// service each; up runs the three, wired by Plane.
package plane

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/bowline-dev/bowline/controlplane"
	"github.com/bowline-dev/bowline/internal/cli/datadir"
	"github.com/bowline-dev/bowline/internal/cli/logs"
	"github.com/bowline-dev/bowline/internal/cli/terraform/folders"
	"github.com/bowline-dev/bowline/pkg/crd"
	"github.com/bowline-dev/bowline/pkg/provider"
)

// A Plane is the whole control plane of one data folder in one process.
type Plane struct {
	DataDir     string
	Version     string // of this program
	Providers   []provider.Provider
	Server      ServerOptions
	WithCloud   bool
	Cloud       CloudOptions
	Controllers ControllerOptions
}

// Validate returns the first mistake in the flags.
func (p Plane) Validate(log *logs.Logs) error {
	_, _, server := APIServer(p.DataDir, p.Server, log)
	_, _, cloud := Cloud(p.DataDir, p.Cloud, log)
	return cmp.Or(server, cloud, p.Controllers.Validate())
}

// Start starts the API server and the cloud side by side, then the controllers, which use both.
func (p Plane) Start(ctx context.Context, running *Stack, log *logs.Logs) (datadir.RunFile, error) {
	restored, isRestored, err := datadir.ReadRestored(p.DataDir)
	if err != nil {
		return datadir.RunFile{}, err
	}
	if restored.Cloud != "" && !p.WithCloud {
		return datadir.RunFile{}, errors.New("the first start after a restore needs the local cloud: omit --cloud=false")
	}
	server, serverService, err := APIServer(p.DataDir, p.Server, log, p.Providers...)
	if err != nil {
		return datadir.RunFile{}, err
	}
	cloud, cloudService, err := Cloud(p.DataDir, p.Cloud, log)
	if err != nil {
		return datadir.RunFile{}, err
	}
	running.Launch(ctx, serverService)
	if p.WithCloud {
		running.Launch(ctx, cloudService)
	}
	definitions, err := provider.Definitions(p.Providers...) // while the server starts
	if err != nil {
		return datadir.RunFile{}, err
	}
	if err := running.WaitReady(ctx, serverService); err != nil {
		return datadir.RunFile{}, err
	}
	log.Own("bowline").Debug("API server is ready")
	if isRestored {
		if p.WithCloud {
			err = running.WaitReady(ctx, cloudService)
		}
		if err == nil {
			err = p.relocate(ctx, server.RESTConfig(), definitions, restored, cloud.URL(), log)
		}
		if err != nil {
			return datadir.RunFile{}, err
		}
	}
	metrics := ""
	onMetrics := func(url string) { metrics = url }
	if former, err := os.ReadFile(datadir.MetricsPortPath(p.DataDir)); err == nil {
		p.Controllers.Metrics.Former = string(former)
	}
	if err := p.startControllers(ctx, running, server, definitions, onMetrics, log); err != nil {
		return datadir.RunFile{}, err
	}
	state := datadir.NewRunFile(server.Address(), p.Version)
	state.Metrics = metrics
	if at, err := url.Parse(metrics); err == nil && metrics != "" {
		if err := controlplane.WriteFile(datadir.MetricsPortPath(p.DataDir), []byte(at.Port())); err != nil {
			return datadir.RunFile{}, err
		}
	}
	if p.WithCloud {
		if err := running.WaitReady(ctx, cloudService); err != nil {
			return datadir.RunFile{}, err
		}
		state.Cloud = cloud.URL()
	}
	return state, nil
}

// startControllers prepares the server as its administrator, and runs the controllers as their service account.
func (p Plane) startControllers(ctx context.Context, running *Stack, server *controlplane.Server,
	definitions []*apiextensionsv1.CustomResourceDefinition, onMetrics func(string), log *logs.Logs) error {
	identities, err := Identities(p.Providers, definitions)
	if err != nil {
		return err
	}
	admin := server.RESTConfig()
	client, err := kubernetes.NewForConfig(admin)
	if err != nil {
		return fmt.Errorf("creating client: %w", err)
	}
	tokens := tokenSource{client: client}
	group, preparing := errgroup.WithContext(ctx)
	var installed crd.Report
	group.Go(func() (err error) {
		installed, err = provider.InstallDefinitions(preparing, admin, log.Controllers(), definitions, p.Providers...)
		return err
	})
	group.Go(func() error {
		if err := applyIdentities(preparing, admin, identities); err != nil {
			return err
		}
		_, err := tokens.Token() // fails here rather than in each controller
		return err
	})
	if err := group.Wait(); err != nil {
		return err
	}
	crd.ApplyLater(ctx, admin, log.Controllers(), installed, definitions...)
	log.Own("bowline").Debug("Custom resource definitions, and the identities of controllers and people, are applied")
	if p.Controllers.Terraform != nil {
		p.Controllers.Terraform.Journal = filepath.Join(p.DataDir, "terraform")
		p.Controllers.Terraform.Mirror.Folder = folders.Downloads(p.DataDir)
	}
	working, err := Controllers(ctx, ControllersConfig{
		ControllerOptions: p.Controllers, Providers: p.Providers, REST: controllersAccess(admin, tokens), Log: log.Controllers(),
		LibraryLog: log.Library("controllers"), Version: p.Version, InstallCRDs: true, OnMetrics: onMetrics, Used: server.Used,
	})
	if err != nil {
		return err
	}
	log.Own("bowline").Debug("The controllers are configured")
	return running.Start(ctx, working)
}

// Healthy asks the API server of a data folder whether it is ready.
func Healthy(ctx context.Context, dataDir string) bool {
	cfg, err := clientcmd.BuildConfigFromFlags("", controlplane.KubeconfigPath(dataDir))
	if err != nil {
		return false
	}
	cfg.Timeout = 5 * time.Second
	c, err := kubernetes.NewForConfig(cfg)
	return err == nil && c.RESTClient().Get().AbsPath("/readyz").Do(ctx).Error() == nil
}
