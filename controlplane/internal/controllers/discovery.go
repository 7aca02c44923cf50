// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"github.com/bowline-dev/bowline/controlplane/internal/kinds"
)

// discoveryResync is when a controller discovers kinds again without a signal.
const discoveryResync = 5 * time.Minute

// discoverer is discovery for a controller that polls it for the kinds to watch: it blocks until something may have changed, and
// returns only the wanted kinds.
type discoverer struct {
	discovery.DiscoveryInterface
	ctx     context.Context // of the controller; the interface has no room for one
	changed kinds.Signal
	wanted  func(schema.GroupResource) bool
}

// ServerPreferredResources is what the garbage collector calls.
func (d *discoverer) ServerPreferredResources() ([]*metav1.APIResourceList, error) {
	return d.discover(d.DiscoveryInterface.ServerPreferredResources)
}

// ServerPreferredNamespacedResources is what the quota controller calls.
func (d *discoverer) ServerPreferredNamespacedResources() ([]*metav1.APIResourceList, error) {
	return d.discover(d.DiscoveryInterface.ServerPreferredNamespacedResources)
}

// discover sends no request to a server that is about to stop, whose answer would make the client retry after a second.
func (d *discoverer) discover(discover func() ([]*metav1.APIResourceList, error)) ([]*metav1.APIResourceList, error) {
	d.changed.Wait(d.ctx, discoveryResync)
	if d.ctx.Err() != nil {
		return nil, d.ctx.Err()
	}
	lists, err := discover()
	return d.filter(lists), err
}

func (d *discoverer) filter(lists []*metav1.APIResourceList) []*metav1.APIResourceList {
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			continue // the caller reports it
		}
		list.APIResources = slices.DeleteFunc(list.APIResources, func(r metav1.APIResource) bool {
			return strings.Contains(r.Name, "/") || !d.wanted(schema.GroupResource{Group: gv.Group, Resource: r.Name})
		})
	}
	return lists
}
