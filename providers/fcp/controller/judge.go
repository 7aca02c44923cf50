// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"syscall"

	"k8s.io/apimachinery/pkg/types"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/favouritecloud/sdk"
	"github.com/bowline-dev/bowline/pkg/limits"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/parameters"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// States that the resources of all services share.
const (
	statusCreating  = "CREATING"
	statusAvailable = "AVAILABLE"
	statusDeleting  = "DELETING"
)

// markReady tells a state of the cloud in condition Ready (R31). Any other state leaves the condition be.
func markReady(mg resource.Managed, status string) {
	switch status {
	case statusAvailable:
		mg.SetConditions(xpv1.Available())
	case statusCreating:
		mg.SetConditions(xpv1.Creating())
	case statusDeleting:
		mg.SetConditions(xpv1.Deleting())
	}
}

// A judgement compares what is declared with what the cloud has.
type judgement struct {
	status string            // of the external resource
	labels map[string]string // of the external resource
	fixed  []string          // settings that no update changes
}

// judge reports an external resource that exists. Ours and theirs are of the same type. A difference in a fixed setting is
// a failure that says so: no update heals it. What is going away is left in peace.
func judge[P any](j judgement, ours, theirs P, o ...parameters.Option) (managed.ExternalObservation, error) {
	owner := types.UID(j.labels[meta.ExternalLabelUID])
	seen := managed.ExternalObservation{ResourceExists: true, ResourceUpToDate: true, Owner: &owner}
	if j.status == statusDeleting {
		return seen, nil
	}
	var err error
	if seen.Drift, err = parameters.Compare(ours, theirs, o...); err != nil {
		return seen, fmt.Errorf("cannot compare settings: %w", err)
	}
	var wrong []error
	for _, d := range seen.Drift {
		if !slices.Contains(j.fixed, d.Path) {
			seen.ResourceUpToDate = false
			continue
		}
		wrong = append(wrong, fmt.Errorf("%s is %s in the favourite cloud, which cannot change, and spec.forProvider says %s: "+
			"create another object with that value", d.Path, d.Observed, d.Desired))
	}
	seen.Failed = errors.Join(wrong...)
	return seen, nil
}

// unlessRefused marks an error of Create after which the resource may exist all the same: all but a refusal of the cloud,
// and a request that was never sent.
func unlessRefused(err error) error {
	failure, answered := errors.AsType[*sdk.APIError](err)
	_, unresolved := errors.AsType[*net.DNSError](err)
	_, throttled := errors.AsType[*limits.Throttled](err)
	_, unauthenticated := errors.AsType[*limits.Unauthenticated](err)
	refused := answered && failure.Status < http.StatusInternalServerError
	if refused || unresolved || throttled || unauthenticated || errors.Is(err, syscall.ECONNREFUSED) {
		return err
	}
	return managed.OutcomeUnknown(err)
}

// optional is nil for a zero value, which the cloud's answers have where nothing is set.
func optional[V comparable](value V) *V {
	var zero V
	if value == zero {
		return nil
	}
	return &value
}
