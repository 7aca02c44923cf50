// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Command crashpoints proves that the favourite cloud's provider, and the claims that it serves, recover from a crash at every
// request of every operation of every kind: nothing is leaked, duplicated or lost, and no object needs manual intervention (N5, N11,
// N22, N26, R77 to R79, R268, R274).
//
//	make crashpoints
//	make crashpoints ARGS=--faults
//	make crashpoints ARGS="--kind Claim"
//	make crashpoints ARGS="--kind NodeGroup --operation create --point 3"
//
// An operation first runs without a fault. Its points are all requests that change something on the API server, read past the cache,
// or call the cloud. Then it runs again for each point and kind of fault (packages fault and scenario of the test kit): the process
// crashes before the request, or after it, or never gets the answer. With --faults, the server also refuses a change, and another
// client writes to the object right before one. A process is a manager with the provider's real controllers and without memory. The
// API server and the cloud are real and keep running.
//
// After a crash another process finishes the operation. At the end the whole site is checked (check.go). The words of the summary:
//
//	leaked            external resources of no object, and managed resources of a deleted claim
//	duplicated        external resources beyond the first of one object, and managed resources beyond the first of one claim
//	credentials-lost  connection Secrets that do not open the server
//	stuck             objects that a minute later are not Ready and Synced, not as declared, or not deleted
//	needs-human       objects that need manual intervention after an interrupted create
//	bound-twice       managed resources that several claims are bound to
//
// The kinds Claim and DatabaseClaim have the operations on claims, which get caches and databases. All controllers run there. A bound
// claim has exactly one managed resource, both refer to each other, and their Secrets have the same content.
//
// Provider configurations and their Secrets are protected at any time meanwhile. These requests are points of the operations
// "-with-config" only.
//
// A violation is printed with kind, operation, point and fault, and with the requests of the run without a fault and of this one. The
// last line of standard output is the summary; the exit code is 0 without a violation. A point that depends on timing may not be
// reached again: after three attempts it is listed and not counted.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/bowline-dev/bowline/favouritecloud"
	"github.com/bowline-dev/bowline/internal/testkit/process"
	"github.com/bowline-dev/bowline/pkg/core"
	"github.com/bowline-dev/bowline/providers/fcp"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	context.AfterFunc(ctx, stop) // the second signal ends the program at once
	good, err := run(ctx, os.Args[1:], os.Stdout)
	if err != nil {
		fmt.Fprintf(os.Stderr, "crashpoints: %v\n", err)
	}
	if err != nil || !good {
		os.Exit(1)
	}
}

// run is the program. Its last line of output is the summary, if anything was tried.
func run(ctx context.Context, args []string, out io.Writer) (good bool, err error) {
	var chosen choice
	flags := flag.NewFlagSet("crashpoints", flag.ContinueOnError)
	flags.StringVar(&chosen.kind, "kind", "", "try this kind only, such as NodeGroup")
	flags.StringVar(&chosen.operation, "operation", "", "try this operation only, such as create")
	flags.IntVar(&chosen.point, "point", 0, "try this point only, by the numbers that a violation shows")
	flags.BoolVar(&chosen.faults, "faults", false, "also refuse each change, and write as another client right before it")
	parallel := flags.Int("parallel", 4, "how many attempts to run at a time")
	bowline := flags.String("bowline", filepath.Join("bin", "bowline"), "the program whose API server is used")
	if err := flags.Parse(args); err != nil {
		return false, err
	}
	if *parallel < 1 || chosen.point < 0 || flags.NArg() > 0 {
		return false, errors.New("give --parallel a number of 1 or more, --point one of 0 or more, and nothing but flags")
	}
	ctrl.SetLogger(logr.Discard()) // a crashed process logs many errors
	klog.SetLogger(logr.Discard())
	dir, err := os.MkdirTemp("", "crashpoints-")
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := os.Chmod(dir, 0o755); err != nil { // the cloud's servers may run as another account
		return false, err
	}
	c, stop, err := startCloud(filepath.Join(dir, "cloud"))
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	crds, err := definitions()
	if err != nil {
		return false, err
	}
	// After a failure of the server all further attempts fail and report it.
	failed := func(err error) { fmt.Fprintf(os.Stderr, "crashpoints: %v\n", err) }
	server, err := process.StartAPIServer(ctx, *bowline, dir, failed, crds...)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	h, err := newHarness(ctx, server.Config, c, *parallel, out)
	if err != nil {
		return false, err
	}
	err = errors.Join(h.run(ctx, chosen), h.close(ctx))
	line, good := h.summary()
	fmt.Fprintln(out, line)
	return good, err
}

// definitions are those of the kinds of the cloud and of claims.
func definitions() ([]*apiextensionsv1.CustomResourceDefinition, error) {
	claims, claimsErr := core.Provider().Definitions()
	managed, managedErr := fcp.Provider().Definitions()
	return append(claims, managed...), errors.Join(claimsErr, managedErr)
}

// A cloud is a favourite cloud in this process, with the token of its administrator.
type cloud struct {
	*favouritecloud.Server

	token string
}

func startCloud(dir string) (c *cloud, stop func() error, err error) {
	c = &cloud{}
	c.Server, err = favouritecloud.New(favouritecloud.Config{DataDir: dir, Listen: "127.0.0.1:0", AutoscaleInterval: time.Hour})
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	stop = func() error { cancel(); return <-ended }
	select {
	case <-c.Ready():
	case err := <-ended:
		cancel()
		return nil, nil, err
	}
	if c.token, err = favouritecloud.ReadAdminToken(dir); err != nil {
		return nil, nil, errors.Join(err, stop())
	}
	return c, stop, nil
}
