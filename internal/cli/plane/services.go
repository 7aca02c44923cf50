// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package plane

import (
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
