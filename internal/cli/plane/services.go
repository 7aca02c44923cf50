// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/spf13/pflag"

	"github.com/bowline-dev/bowline/controlplane"
	"github.com/bowline-dev/bowline/favouritecloud"
	"github.com/bowline-dev/bowline/internal/cli/datadir"
	"github.com/bowline-dev/bowline/internal/cli/logs"
)

// ServerOptions are the flags of commands that run the API server.
type ServerOptions struct {
	Listen string
	Names  []string
}

// AddFlags registers the flags.
func (o *ServerOptions) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.Listen, "listen", controlplane.DefaultListen, "host:port of the API server; port 0 picks a free one")
	flags.StringSliceVar(&o.Names, "tls-san", nil, "further host names or addresses for the API server's certificate")
}

// APIServer returns the embedded API server as a service.
func APIServer(dataDir string, o ServerOptions, log *logs.Logs) (*controlplane.Server, Service, error) {
	server, err := controlplane.New(controlplane.Config{
		DataDir: dataDir, Listen: o.Listen, Names: o.Names, Log: log.Library("apiserver"),
	})
	if err != nil {
		return nil, Service{}, err
	}
	return server, Service{Name: "API server", ListenFlag: "--listen", Run: server.Run, Ready: server.Ready()}, nil
}

// CloudOptions are the flags of commands that run the local cloud.
type CloudOptions struct {
	Listen string
	Admin  bool
}

// AddFlags registers the flags.
func (o *CloudOptions) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.Listen, "cloud-listen", favouritecloud.DefaultListen, "host:port of the local cloud; port 0 picks a free one")
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
	return cloud, Service{Name: "local cloud", ListenFlag: "--cloud-listen", Run: cloud.Run, Ready: cloud.Ready()}, nil
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
