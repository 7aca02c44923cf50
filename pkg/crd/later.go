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
	deleting := beingDeleted(report, crds)
	if len(deleting) == 0 {
		return
	}
	go func() {
		_ = wait.PollUntilContextCancel(ctx, laterPoll, false, func(ctx context.Context) (bool, error) {
			report, err := Apply(ctx, cfg, deleting...)
			if err != nil {
				if ctx.Err() == nil {
					log.Error(err, "Cannot install custom resource definitions that were deleted")
				}
				return false, nil
			}
			for _, name := range report.Applied {
				log.Info("Custom resource definition is installed again after its deletion", "name", name)
			}
			deleting = beingDeleted(report, deleting)
			return len(deleting) == 0, nil
		})
	}()
}

func beingDeleted(report Report, all []*apiextensionsv1.CustomResourceDefinition) (deleting []*apiextensionsv1.CustomResourceDefinition) {
	for _, d := range all {
		if slices.ContainsFunc(report.Skipped, func(s Skipped) bool { return s.Deleting && s.Name == d.Name }) {
			deleting = append(deleting, d)
		}
	}
	return deleting
}
