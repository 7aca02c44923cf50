// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package providerconfig

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// A ledger counts the users of each configuration of one kind from what watches tell. It holds one number for each
// configuration, whatever the number of users.
//
// The numbers are exact: a watch tells of each object once that it is there, of each change from what to what, and once
// that it is gone; and a controller makes its first pass after its watches told of all objects there are.
type ledger struct {
	kind string

	mu     sync.Mutex
	counts map[types.NamespacedName]int64
}

func newLedger(kind string) *ledger {
	return &ledger{kind: kind, counts: map[types.NamespacedName]int64{}}
}

func (l *ledger) count(config types.NamespacedName) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.counts[config]
}

func (l *ledger) add(config types.NamespacedName, n int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.counts[config] += n
	if l.counts[config] == 0 {
		delete(l.counts, config)
	}
}

// handler keeps the ledger and asks for a pass over each configuration whose number changed.
func (l *ledger) handler() handler.EventHandler {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	book := func(user client.Object, n int64, q queue) {
		kind, config := configOf(user)
		if kind != l.kind {
			return
		}
		l.add(config, n)
		q.Add(reconcile.Request{NamespacedName: config})
	}
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q queue) { book(e.Object, 1, q) },
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q queue) { book(e.Object, -1, q) },
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue) {
			oldKind, oldConfig := configOf(e.ObjectOld)
			newKind, newConfig := configOf(e.ObjectNew)
			if oldKind != newKind || oldConfig != newConfig {
				book(e.ObjectOld, -1, q)
				book(e.ObjectNew, 1, q)
			}
		},
	}
}

// configOf returns which configuration an object uses (N2).
func configOf(user client.Object) (kind string, config types.NamespacedName) {
	kind, config.Name = resource.ProviderConfigKind(user), resource.ProviderConfigName(user)
	if kind == xpv1.ProviderConfigKind {
		config.Namespace = user.GetNamespace()
	}
	return kind, config
}
