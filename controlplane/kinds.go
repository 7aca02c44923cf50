// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/client-go/discovery"
)

// kindsRefresh bounds how long a controller that waits for new kinds waits, should it have missed one.
const kindsRefresh = 5 * time.Minute

// usedKinds remembers which custom kinds have, or ever had, objects. Watching a kind takes over a megabyte, so the
// garbage collector watches only these: a kind without objects neither owns nor is owned. As an admission plugin it hears
// of a kind's first object before that is stored.
type usedKinds struct {
	count func(ctx context.Context, kind schema.GroupResource) (int64, error)

	mu      sync.RWMutex
	used    sets.Set[schema.GroupResource]
	changed news
}

func newUsedKinds(s *store) *usedKinds {
	return &usedKinds{count: s.count, used: sets.New[schema.GroupResource](), changed: newNews()}
}

var _ admission.MutationInterface = (*usedKinds)(nil)

// Handles reports whether the plugin wants to hear of an operation.
func (k *usedKinds) Handles(op admission.Operation) bool { return op == admission.Create }

// Admit notes the kind and never objects.
func (k *usedKinds) Admit(_ context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if kind := a.GetResource().GroupResource(); a.GetSubresource() == "" && isCustom(kind.Group) && !k.has(kind) {
		k.add(kind)
		k.changed.set()
	}
	return nil
}

func (k *usedKinds) has(kind schema.GroupResource) bool {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return k.used.Has(kind)
}

func (k *usedKinds) add(kind schema.GroupResource) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.used.Insert(kind)
}

// inUse reports whether a kind has objects, which for a kind not seen yet it asks the store.
func (k *usedKinds) inUse(ctx context.Context, kind schema.GroupResource) bool {
	if !isCustom(kind.Group) || k.has(kind) {
		return true
	}
	n, err := k.count(ctx, kind)
	if err != nil || n > 0 { // in doubt it is in use
		k.add(kind)
		return true
	}
	return false
}

// count returns the number of objects of a custom kind.
func (s *store) count(ctx context.Context, kind schema.GroupResource) (int64, error) {
	prefix := "/registry/" + kind.Group + "/" + kind.Resource + "/"
	end := prefix[:len(prefix)-1] + "0" // the character after the slash
	r, err := s.etcd.Server.Range(ctx, &etcdserverpb.RangeRequest{Key: []byte(prefix), RangeEnd: []byte(end), CountOnly: true})
	if err != nil {
		return 0, fmt.Errorf("counting %s: %w", kind, err)
	}
	return r.Count, nil
}

// isCustom tells the groups of custom resources from Kubernetes' own, which the server holds caches of anyway.
func isCustom(group string) bool {
	if group == "apiextensions.k8s.io" || group == "apiregistration.k8s.io" {
		return false
	}
	return !slices.ContainsFunc(servedGroups(), func(gv schema.GroupVersion) bool { return gv.Group == group })
}

// discoverer is discovery for a controller that asks it again and again which kinds to watch: it answers when there may
// be something new, and with the wanted kinds only.
type discoverer struct {
	discovery.DiscoveryInterface
	ctx    context.Context // of the controller; the interface has no room for one
	news   news
	wanted func(schema.GroupResource) bool
}

// ServerPreferredResources is what the garbage collector calls.
func (d *discoverer) ServerPreferredResources() ([]*metav1.APIResourceList, error) {
	return d.ask(d.DiscoveryInterface.ServerPreferredResources)
}

// ServerPreferredNamespacedResources is what the quota controller calls.
func (d *discoverer) ServerPreferredNamespacedResources() ([]*metav1.APIResourceList, error) {
	return d.ask(d.DiscoveryInterface.ServerPreferredNamespacedResources)
}

// ask does not trouble a server that is about to stop, which would tell the client to come again in a second.
func (d *discoverer) ask(discover func() ([]*metav1.APIResourceList, error)) ([]*metav1.APIResourceList, error) {
	d.news.wait(d.ctx, kindsRefresh)
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

// news says whether something has happened since the last look; more of it before then changes nothing.
type news chan struct{}

func newNews() news {
	s := make(news, 1)
	s.set()
	return s
}

func (s news) set() {
	select {
	case s <- struct{}{}:
	default:
	}
}

// wait returns at the next news, at the latest after a while or when ctx ends.
func (s news) wait(ctx context.Context, atMost time.Duration) {
	timer := time.NewTimer(atMost)
	defer timer.Stop()
	select {
	case <-s:
	case <-timer.C:
	case <-ctx.Done():
	}
}
