// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bowline-dev/bowline/pkg/crd"
)

// RESTConfig reads the access to an API server from a kubeconfig, or without one from the pod's service account.
func RESTConfig(kubeconfig string) (*rest.Config, error) {
	var (
		cfg *rest.Config
		err error
	)
	if kubeconfig == "" {
		cfg, err = rest.InClusterConfig()
		if errors.Is(err, rest.ErrNotInCluster) {
			return nil, errors.New("say which API server to use with --kubeconfig FILE")
		}
	} else {
		cfg, err = clientcmd.BuildConfigFromFlags("", kubeconfig)
	}
	if err != nil {
		return nil, fmt.Errorf("reading kubeconfig: %w", err)
	}
	cfg.QPS = -1 // the API server's own fairness decides; the controllers limit their calls to the outside
	return cfg, nil
}

// applyTogether is how many definitions are applied one after the other, beside the others. Most of the time of each is
// waiting: for the server to see it, to begin to serve it and to fill its cache.
const applyTogether = 5

// Definitions returns those of all kinds of the providers.
func Definitions(providers ...Provider) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	var all []*apiextensionsv1.CustomResourceDefinition
	for _, p := range providers {
		crds, err := p.Definitions()
		if err != nil {
			return nil, err
		}
		all = append(all, crds...)
	}
	return all, nil
}

// InstallCRDs applies the definitions of all kinds of the providers, and logs which of them were left alone.
func InstallCRDs(ctx context.Context, cfg *rest.Config, log logr.Logger, providers ...Provider) error {
	all, err := Definitions(providers...)
	if err != nil {
		return err
	}
	return InstallDefinitions(ctx, cfg, log, all)
}

// InstallDefinitions is InstallCRDs for whoever has read the definitions already.
func InstallDefinitions(ctx context.Context, cfg *rest.Config, log logr.Logger, all []*apiextensionsv1.CustomResourceDefinition) error {
	report, err := apply(ctx, cfg, all)
	for _, skipped := range report.Skipped {
		log.Info("Custom resource definition is left alone", "name", skipped.Name, "reason", skipped.Reason)
	}
	if apierrors.IsForbidden(err) {
		return fmt.Errorf("%w: let somebody else install the definitions and start with --install-crds=false", err)
	}
	return err
}

// apply applies definitions side by side, and reports what happened to each, also after an error.
func apply(ctx context.Context, cfg *rest.Config, all []*apiextensionsv1.CustomResourceDefinition) (crd.Report, error) {
	var (
		mu    sync.Mutex
		total crd.Report
	)
	group, ctx := errgroup.WithContext(ctx)
	for some := range slices.Chunk(all, applyTogether) {
		group.Go(func() error {
			report, err := crd.Apply(ctx, cfg, some...)
			mu.Lock()
			defer mu.Unlock()
			total.Skipped = append(total.Skipped, report.Skipped...)
			return err
		})
	}
	err := group.Wait()
	return total, err
}

// podNamespace is the pod's own, or the one that Bowline uses.
func podNamespace() string {
	content, err := os.ReadFile("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
	if namespace := strings.TrimSpace(string(content)); err == nil && namespace != "" {
		return namespace
	}
	return "bowline-system"
}

// ensureNamespace makes the namespace of the lease. Whoever may not make namespaces has one already.
func ensureNamespace(ctx context.Context, cfg *rest.Config, name string) error {
	c, err := client.New(cfg, client.Options{})
	if err != nil {
		return fmt.Errorf("creating client: %w", err)
	}
	err = c.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	if err == nil || apierrors.IsAlreadyExists(err) || apierrors.IsForbidden(err) {
		return nil
	}
	return fmt.Errorf("creating namespace %s for the lease: %w", name, err)
}
