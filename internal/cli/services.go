// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/pflag"

	"github.com/bowline-dev/bowline/controlplane"
	"github.com/bowline-dev/bowline/favouritecloud"
)

// What runs is described here, once: apiserver and cloud run one of these services, up runs all.

// serverFlags are the flags of commands that run the API server.
type serverFlags struct {
	listen string
	names  []string
}

func (f *serverFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.listen, "listen", controlplane.DefaultListen, "host:port of the API server; port 0 picks a free one")
	flags.StringSliceVar(&f.names, "tls-san", nil, "further host names or addresses for the API server's certificate")
}

// apiServer returns the embedded API server as a service.
func apiServer(dataDir string, f serverFlags, log *logs) (*controlplane.Server, service, error) {
	server, err := controlplane.New(controlplane.Config{
		DataDir: dataDir,
		Listen:  f.listen,
		Names:   f.names,
		Log:     log.library("apiserver"),
	})
	if err != nil {
		return nil, service{}, err
	}
	return server, service{name: "API server", listenFlag: "--listen", run: server.Run, ready: server.Ready()}, nil
}

// cloudFlags are the flags of commands that run the local cloud.
type cloudFlags struct {
	listen string
	admin  bool
}

func (f *cloudFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.listen, "cloud-listen", favouritecloud.DefaultListen, "host:port of the local cloud; port 0 picks a free one")
	flags.BoolVar(&f.admin, "cloud-admin", false, "let the holder of the local cloud's admin token inject faults and count calls")
}

// localCloud returns the local cloud as a service.
func localCloud(dataDir string, f cloudFlags, log *logs) (*favouritecloud.Server, service, error) {
	cloud, err := favouritecloud.New(favouritecloud.Config{
		DataDir:    cloudDir(dataDir),
		Listen:     f.listen,
		CloudAdmin: f.admin,
		Log:        log.own("cloud"),
	})
	if err != nil {
		return nil, service{}, err
	}
	return cloud, service{name: "local cloud", listenFlag: "--cloud-listen", run: cloud.Run, ready: cloud.Ready()}, nil
}

// cloudDir is where the cloud keeps its state within a data folder.
func cloudDir(dataDir string) string { return filepath.Join(dataDir, "cloud") }

// explain says of a locked data folder what to type next.
func explain(err error, dataDir string) error {
	if locked, ok := errors.AsType[*controlplane.LockedError](err); ok {
		return alreadyRuns(dataDir, locked.PID)
	}
	return err
}

func alreadyRuns(dataDir string, pid int) error {
	return fmt.Errorf("bowline runs on %s already (process %d); look at it with: bowline status%[3]s, or stop it with: bowline down%[3]s",
		dataDir, pid, dataDirArgument(dataDir))
}
