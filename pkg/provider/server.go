// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/bowline-dev/bowline/pkg/crd"
)

// RESTConfig returns the access to an API server of a kubeconfig, by default those of $KUBECONFIG, in a context, by default the current one;
// without any, that of the pod's service account.
func RESTConfig(kubeconfig, context string) (*rest.Config, error) {
	paths := filepath.SplitList(os.Getenv(clientcmd.RecommendedConfigPathEnvVar))
	rules := &clientcmd.ClientConfigLoadingRules{ExplicitPath: kubeconfig, Precedence: paths}
	cfg, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: context}).ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		return nil, fmt.Errorf("there is no API server to connect to: name one with --kubeconfig FILE or $KUBECONFIG, which names %q", paths)
	}
	if err != nil {
		return nil, fmt.Errorf("reading kubeconfig: %w", err)
	}
	cfg.QPS = -1 // the API server has priority and fairness
	return cfg, nil
}

// Definitions returns the definitions of all kinds of the providers.
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

// InstallCRDs applies the definitions of all kinds of the providers, and logs those that it skips. It also applies the policies that
// protect objects from deletion, and waits until they are in force (N39). A definition that is being deleted does not delay the
// others, since only running controllers can complete its deletion: it is applied once it is gone, while ctx lasts.
func InstallCRDs(ctx context.Context, cfg *rest.Config, log logr.Logger, providers ...Provider) error {
	all, err := Definitions(providers...)
	if err != nil {
		return err
	}
	report, err := InstallDefinitions(ctx, cfg, log, all, providers...)
	if err == nil {
		crd.ApplyLater(ctx, cfg, log, report, all...)
	}
	return err
}

// InstallDefinitions is InstallCRDs for definitions that are loaded already. It leaves crd.ApplyLater to the caller.
func InstallDefinitions(ctx context.Context, cfg *rest.Config, log logr.Logger, all []*apiextensionsv1.CustomResourceDefinition,
	providers ...Provider) (report crd.Report, err error) {
	group, ctx := errgroup.WithContext(ctx)
	for _, p := range providers {
		group.Go(func() error {
			if err := crd.Protect(ctx, cfg, p.CRDs); err != nil {
				return fmt.Errorf("protecting objects of provider %s from deletion: %w", p.Name, err)
			}
			return nil
		})
	}
	group.Go(func() error {
		var err error
		report, err = crd.Apply(ctx, cfg, all...)
		for _, skipped := range report.Skipped {
			log.Info("Custom resource definition is skipped", "name", skipped.Name, "reason", skipped.Reason)
		}
		return err
	})
	err = group.Wait()
	if apierrors.IsForbidden(err) {
		err = fmt.Errorf("%w: let an administrator install the definitions, and start with --install-crds=false", err)
	}
	return report, err
}
