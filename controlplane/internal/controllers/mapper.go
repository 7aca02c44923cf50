// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/restmapper"
)

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

func newFreshMapper(d discovery.DiscoveryInterface) *freshMapper {
	return &freshMapper{ResettableRESTMapper: restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(d))}
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
