// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
)

// discoveryResync is when a controller discovers kinds again without a signal.
const discoveryResync = 5 * time.Minute

// discoverer is discovery for a controller that polls it for the kinds to watch: it blocks until something may have changed, and
// returns only the wanted kinds.
type discoverer struct {
	discovery.DiscoveryInterface
	ctx     context.Context // of the controller; the interface has no room for one
	changed signal
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
	d.changed.wait(d.ctx, discoveryResync)
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

// mapperPause is the minimum time between two discoveries because of unknown kinds.
const mapperPause = time.Second

// freshMapper is a mapper for the garbage collector that discovers kinds again when it does not know one. The collector resets its
// mapper only when it begins to watch a kind, and ours does not watch kinds without objects; yet the last of their objects may have
// owned something.
type freshMapper struct {
	meta.ResettableRESTMapper

	mu    sync.Mutex
	reset time.Time // when it last discovered kinds
}

// RESTMapping finds the kind of an owner for the collector.
func (m *freshMapper) RESTMapping(kind schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	mapping, err := m.ResettableRESTMapper.RESTMapping(kind, versions...)
	if !meta.IsNoMatchError(err) || !m.mayReset() {
		return mapping, err
	}
	m.Reset()
	return m.ResettableRESTMapper.RESTMapping(kind, versions...)
}

func (m *freshMapper) mayReset() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if time.Since(m.reset) < mapperPause {
		return false
	}
	m.reset = time.Now()
	return true
}
