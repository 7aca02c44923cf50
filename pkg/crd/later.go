// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"context"
	"slices"
	"time"

	"github.com/go-logr/logr"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
)

const laterPoll = 5 * time.Second // of definitions whose objects delay their deletion

// ApplyLater applies, in the background until ctx ends, those definitions that a report has as being deleted, each once it is gone.
func ApplyLater(ctx context.Context, cfg *rest.Config, log logr.Logger, report Report, crds ...*apiextensionsv1.CustomResourceDefinition) {
	for _, d := range crds {
		if slices.ContainsFunc(report.Skipped, func(s Skipped) bool { return s.Deleting && s.Name == d.Name }) {
			go applyLater(ctx, cfg, log.WithValues("name", d.Name), d)
		}
	}
}

func applyLater(ctx context.Context, cfg *rest.Config, log logr.Logger, definition *apiextensionsv1.CustomResourceDefinition) {
	i, err := newInstaller(cfg)
	if err != nil {
		log.Error(err, "Cannot install a custom resource definition that is being deleted")
		return
	}
	_ = wait.PollUntilContextCancel(ctx, laterPoll, false, func(ctx context.Context) (bool, error) {
		installed, err := i.get(ctx, definition.Name)
		if err == nil && installed != nil && installed.DeletionTimestamp != nil {
			return false, nil
		}
		var report Report
		if err == nil {
			report, err = Apply(ctx, cfg, definition)
		}
		switch {
		case ctx.Err() != nil:
		case err != nil:
			log.Error(err, "Cannot install a custom resource definition that was deleted")
		case len(report.Skipped) > 0:
			log.Info("Custom resource definition is skipped", "reason", report.Skipped[0].Reason)
			return !report.Skipped[0].Deleting, nil
		default:
			log.Info("Custom resource definition is installed again after its deletion")
			return true, nil
		}
		return false, nil
	})
}
