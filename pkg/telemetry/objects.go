// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
)

const (
	scrapePatience = 2 * time.Second // for the objects of all kinds together
	mostReasons    = 50              // of one kind that are shown; objects may have conditions that are not ours
	otherReason    = "Other"
)

// An ObjectLister visits all objects of a kind in a cache, without copying them.
type ObjectLister func(ctx context.Context, visit func(conditions func(xpv1.ConditionType) xpv1.Condition)) error

// objects counts the objects of all kinds by their conditions when metrics are read, so that passes have no work with it.
type objects struct {
	description *prometheus.Desc

	mu    sync.Mutex
	kinds map[string]ObjectLister
}

func newObjects(name, help string) *objects {
	return &objects{description: prometheus.NewDesc(name, help, []string{"kind", "state", "reason"}, nil), kinds: map[string]ObjectLister{}}
}

// CountClaims counts the claims of a kind, named as kubectl shows it, from now on.
func (m *Metrics) CountClaims(kind string, list ObjectLister) { m.claims.count(kind, list) }

// CountManaged counts the managed resources of a kind from now on.
func (m *Metrics) CountManaged(kind string, list ObjectLister) { m.managed.count(kind, list) }

// CountConfigs counts the ProviderConfigs of a kind from now on.
func (m *Metrics) CountConfigs(kind string, list ObjectLister) { m.configs.count(kind, list) }

func (o *objects) count(kind string, list ObjectLister) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.kinds[kind] = list
}

// Describe implements prometheus.Collector.
func (o *objects) Describe(to chan<- *prometheus.Desc) { to <- o.description }

// Collect implements prometheus.Collector. A kind whose objects cannot be listed is missing.
func (o *objects) Collect(to chan<- prometheus.Metric) {
	o.mu.Lock()
	kinds := maps.Clone(o.kinds)
	o.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), scrapePatience)
	defer cancel()
	for kind, list := range kinds {
		counts := map[stateOfObject]int{{stateReady, string(xpv1.ReasonAvailable)}: 0} // a kind without objects has a series
		err := list(ctx, func(conditions func(xpv1.ConditionType) xpv1.Condition) { counts[stateOf(conditions)]++ })
		if err != nil {
			continue
		}
		for state, n := range bounded(counts) {
			to <- prometheus.MustNewConstMetric(o.description, prometheus.GaugeValue, float64(n), kind, state.state, state.reason)
		}
	}
}

type stateOfObject struct{ state, reason string }

// States of objects.
const (
	stateReady    = "ready"
	stateNotReady = "not-ready"
	stateStalled  = "stalled" // a person has to act, be the object ready or not
	// stateBraked is that of a ProviderConfig whose deletions are paused, be it ready or not.
	stateBraked = "deletions-paused"
)

func stateOf(conditions func(xpv1.ConditionType) xpv1.Condition) stateOfObject {
	ready, stalled, braked := conditions(xpv1.TypeReady), conditions(xpv1.TypeStalled), conditions(xpv1.TypeDeletionsPaused)
	switch {
	case braked.Status == corev1.ConditionTrue:
		return stateOfObject{stateBraked, string(braked.Reason)}
	case stalled.Status == corev1.ConditionTrue:
		return stateOfObject{stateStalled, string(stalled.Reason)}
	case ready.Status == corev1.ConditionTrue:
		return stateOfObject{stateReady, string(ready.Reason)}
	default:
		return stateOfObject{stateNotReady, string(ready.Reason)}
	}
}

// bounded adds up the states with the rarest reasons.
func bounded(counts map[stateOfObject]int) map[stateOfObject]int {
	if len(counts) <= mostReasons {
		return counts
	}
	all := slices.SortedFunc(maps.Keys(counts), func(a, b stateOfObject) int {
		if counts[a] != counts[b] {
			return counts[b] - counts[a]
		}
		return strings.Compare(a.state+a.reason, b.state+b.reason)
	})
	few := map[stateOfObject]int{}
	for i, state := range all {
		switch {
		case i < mostReasons:
			few[state] = counts[state]
		case counts[state] > 0:
			few[stateOfObject{state.state, otherReason}] += counts[state]
		}
	}
	return few
}
