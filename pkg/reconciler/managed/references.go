// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"context"
	"fmt"
	"sync"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/bowline-dev/bowline/pkg/internal/objects"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reference"
	"github.com/bowline-dev/bowline/pkg/reference/installation"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// References knows which objects of a process refer to which. It watches the kinds that are referred to, so that who waits
// for an object goes on as soon as that can be used, and nobody polls.
type References struct {
	mgr      manager.Manager
	tracker  *reference.Tracker
	arrivals *installation.Watcher // of kinds that are referred to and not installed yet

	mu          sync.Mutex
	reconcilers map[schema.GroupKind]*Reconciler
	awaited     map[reference.Dependent]map[reference.Dependent]bool // who waits for an object to be gone
	stranded    map[reference.Dependent]bool                         // who met a kind that is not installed
}

// NewReferences returns what the reconcilers of one manager may share by WithReferences.
func NewReferences(mgr manager.Manager) *References {
	r := &References{
		mgr:         mgr,
		reconcilers: map[schema.GroupKind]*Reconciler{},
		awaited:     map[reference.Dependent]map[reference.Dependent]bool{},
		stranded:    map[reference.Dependent]bool{},
	}
	r.tracker = reference.NewTracker(r.watch)
	r.arrivals = installation.NewWatcher(mgr, r.arrived)
	return r
}

// serve makes a reconciler the one that looks after its kind.
func (s *References) serve(r *Reconciler) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reconcilers[r.kind.GroupKind()] = r
}

// watch hears of the objects of a kind that is referred to. It is false for a kind that cannot be watched yet.
func (s *References) watch(kind schema.GroupVersionKind) bool {
	heard := func(before, after any) {
		for _, d := range s.tracker.Handle(kind, objects.FromInformer(before), objects.FromInformer(after)) {
			s.wake(d)
		}
	}
	// The informer lives as long as the manager, and nobody waits for it here.
	informer, err := s.mgr.GetCache().GetInformer(context.Background(), s.example(kind), cache.BlockUntilSynced(false))
	if err == nil {
		_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc:    func(o any) { heard(nil, o) },
			UpdateFunc: func(before, after any) { heard(before, after) },
			DeleteFunc: func(o any) { heard(o, nil) },
		})
	}
	if apimeta.IsNoMatchError(err) {
		if err = s.arrivals.Await(kind); err == nil {
			return false
		}
	}
	if err != nil {
		s.mgr.GetLogger().Error(err, "Cannot watch a kind that objects refer to; they look again at every poll", "kind", kind.String())
		return false
	}
	s.arrivals.Dismiss(kind)
	return true
}

// arrived has those who wait for objects of a kind that was not installed look again, and the first of them watch it.
func (s *References) arrived(kind schema.GroupVersionKind) {
	for _, d := range s.tracker.Waiting(kind) {
		s.wake(d)
	}
}

// resolved ends a resolution of an object's references.
func (s *References) resolved(d reference.Dependent, recorder *reference.Recorder, err error) {
	recorder.Done(err)
	switch {
	case err == nil:
		s.freed(d)
	case apimeta.IsNoMatchError(err):
		s.mu.Lock()
		defer s.mu.Unlock()
		s.stranded[d] = true
	}
}

// freed is for an object that waits for no kind any more. The installation of a kind is awaited only while some object does.
func (s *References) freed(d reference.Dependent) {
	s.mu.Lock()
	was := s.stranded[d]
	delete(s.stranded, d)
	s.mu.Unlock()
	if !was {
		return
	}
	for _, kind := range s.arrivals.Awaited() {
		if len(s.tracker.Waiting(kind)) > 0 {
			continue
		}
		s.arrivals.Dismiss(kind)
		if len(s.tracker.Waiting(kind)) > 0 { // an object began to wait meanwhile
			_ = s.arrivals.Await(kind) // fails only where the manager has ended
		}
	}
}

// example returns an empty object of a kind, which may have no Go type.
func (s *References) example(kind schema.GroupVersionKind) client.Object {
	if o, err := s.mgr.GetScheme().New(kind); err == nil {
		if typed, ok := o.(client.Object); ok {
			return typed
		}
	}
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(kind)
	return u
}

func (s *References) wake(d reference.Dependent) {
	s.mu.Lock()
	r := s.reconcilers[d.Kind.GroupKind()]
	s.mu.Unlock()
	if r != nil {
		r.WakeNow(d.Name)
	}
}

// await remembers that one object waits for others to be gone.
func (s *References) await(who reference.Dependent, others []reference.Dependent) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, other := range others {
		if s.awaited[other] == nil {
			s.awaited[other] = map[reference.Dependent]bool{}
		}
		s.awaited[other][who] = true
	}
}

// gone forgets an object and wakes who waited for that, and what it referred to and is being deleted, too: the external
// system may have refused the deletion because of it, before anybody saw that it was to go.
func (s *References) gone(ctx context.Context, d reference.Dependent) {
	targets := s.tracker.Targets(d)
	s.tracker.Forget(d)
	s.freed(d)
	s.mu.Lock()
	waiting := s.awaited[d]
	delete(s.awaited, d)
	s.mu.Unlock()
	for who := range waiting {
		s.wake(who)
	}
	for _, target := range targets {
		s.wakeLeaving(ctx, target)
	}
}

// wakeLeaving wakes an object that is being deleted.
func (s *References) wakeLeaving(ctx context.Context, d reference.Dependent) {
	s.mu.Lock()
	r := s.reconcilers[d.Kind.GroupKind()]
	s.mu.Unlock()
	if r == nil {
		return
	}
	mg := r.newManaged()
	if err := r.client.Get(ctx, d.Name, mg); err == nil && meta.WasDeleted(mg) {
		r.WakeNow(d.Name)
	}
}

func (r *Reconciler) dependent(name types.NamespacedName) reference.Dependent {
	return reference.Dependent{Kind: r.kind, Name: name}
}

// resolveReferences fills in what the object's fields refer to (R158 to R172). The values are stored with the next write
// to the object, at the latest before the external system is told (R42, R165).
func (r *Reconciler) resolveReferences(ctx context.Context, p *pass) outcome {
	resolver, refers := p.managed.(resource.ReferenceResolver)
	if !refers {
		return next()
	}
	var err error
	if p.planning {
		err = resolver.ResolveReferences(ctx, r.client)
	} else {
		self := r.dependent(client.ObjectKeyFromObject(p.managed))
		recorder := r.references.tracker.Recorder(self, r.client)
		err = resolver.ResolveReferences(ctx, recorder)
		r.references.resolved(self, recorder, err)
		r.memory.looked(p.memory)
	}
	if err != nil {
		err = fmt.Errorf("resolving references: %w", err)
		if (reference.IsUnresolved(err) || apimeta.IsNoMatchError(err)) && r.wakeups.work() {
			return reject(ReasonCannotResolve, err) // its target wakes it, or the arrival of the target's kind
		}
		return fail(ReasonCannotResolve, err)
	}
	now, err := treeOf(p.managed)
	if err != nil {
		return fail(ReasonCannotResolve, err)
	}
	p.spec = now["spec"]
	return next()
}
