// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/bowline-dev/bowline/internal/testkit/process"
	"github.com/bowline-dev/bowline/pkg/core"
	"github.com/bowline-dev/bowline/pkg/crd"
	"github.com/bowline-dev/bowline/providers/fcp"
)

// startServer starts an API server that knows the provider's kinds, in a process of its own.
func startServer(ctx context.Context, bowline, dir string) (config *rest.Config, stop func() error, err error) {
	log, err := os.Create(filepath.Join(dir, "apiserver.log"))
	if err != nil {
		return nil, nil, err
	}
	data := filepath.Join(dir, "plane")
	server, err := process.Start(ctx, process.Config{
		Args:  []string{bowline, "apiserver", "--data-dir", data, "--listen", "127.0.0.1:0"},
		Env:   []string{"HOME=" + dir, "XDG_RUNTIME_DIR=", "XDG_CACHE_HOME="},
		Ready: "The API server is ready",
		Log:   log,
		// All further attempts fail and report it.
		Failed:   func(err error) { fmt.Fprintf(os.Stderr, "crashpoints: %v\n", err) },
		Detached: true,
	})
	if err != nil {
		return nil, nil, errors.Join(err, log.Close())
	}
	stop = func() error { return errors.Join(server.Stop(), log.Close()) }
	if config, err = clientcmd.BuildConfigFromFlags("", filepath.Join(data, "admin.kubeconfig")); err == nil {
		config.QPS = -1
		err = install(ctx, config)
	}
	if err != nil {
		return nil, nil, errors.Join(err, stop())
	}
	return config, stop, nil
}

func install(ctx context.Context, config *rest.Config) error {
	definitions, err := definitions()
	if err != nil {
		return err
	}
	_, err = crd.Apply(ctx, config, definitions...)
	return err
}

// definitions are those of the kinds of the cloud and of claims.
func definitions() ([]*apiextensionsv1.CustomResourceDefinition, error) {
	claims, claimsErr := core.Provider().Definitions()
	managed, managedErr := fcp.Provider().Definitions()
	return append(claims, managed...), errors.Join(claimsErr, managedErr)
}
