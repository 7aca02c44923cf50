// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/bowline-dev/bowline/pkg/connection"
	"github.com/bowline-dev/bowline/pkg/internal/objects"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reference"
	"github.com/bowline-dev/bowline/pkg/reference/installation"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// A Server reconciles the objects of one kind that may refer to others.
type Server interface {
	// WakeNow enqueues an object of the kind.
	WakeNow(name types.NamespacedName)
	// IsDeleting is true for an object of the kind that is being deleted.
	IsDeleting(ctx context.Context, name types.NamespacedName) bool
	// Unresolved lists the objects of the kind that are being deleted and whose references this process has not read yet.
	Unresolved(ctx context.Context) ([]types.NamespacedName, error)
}

// References knows which objects of a process refer to which. It watches the kinds that are referred to, so that an object
// that waits for another is enqueued as soon as that can be used, without polling; and the connection Secrets of the objects.
type References struct {
	mgr      manager.Manager
	tracker  *reference.Tracker
	arrivals *installation.Watcher // of kinds that are referred to and not installed yet
	secrets  Secrets               // that objects take values from

	mu       sync.Mutex
	servers  map[schema.GroupKind]served
	awaited  map[reference.Dependent]map[reference.Dependent]bool // by an object: those that wait until it is deleted
	stranded map[reference.Dependent]bool                         // objects that refer to a kind that is not installed
}

// NewReferences returns what the reconcilers of one manager share.
func NewReferences(mgr manager.Manager) *References {
	r := &References{
		mgr:      mgr,
		servers:  map[schema.GroupKind]served{},
		awaited:  map[reference.Dependent]map[reference.Dependent]bool{},
		stranded: map[reference.Dependent]bool{},
	}
	r.tracker = reference.NewTracker(r.watch)
	r.arrivals = installation.NewWatcher(mgr, r.arrived)
	return r
}

// Serve registers the server of a kind.
func (s *References) Serve(kind schema.GroupVersionKind, by Server) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.servers[kind.GroupKind()] = served{Server: by, kind: kind}
}

// served is a kind with its server.
type served struct {
	Server
	kind schema.GroupVersionKind
}

func (s *References) server(kind schema.GroupVersionKind) (Server, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	by, ok := s.servers[kind.GroupKind()]
	return by, ok
}

// watch observes the objects of a kind that is referred to. It is false for a kind that cannot be watched yet.
func (s *References) watch(kind schema.GroupVersionKind) bool {
	handle := func(before, after any) {
		for _, d := range s.tracker.Handle(kind, objects.FromInformer(before), objects.FromInformer(after)) {
			s.wake(d)
		}
	}
	// The informer lives as long as the manager, and no caller waits for it here.
	informer, err := s.mgr.GetCache().GetInformer(context.Background(), s.example(kind), cache.BlockUntilSynced(false))
	if err == nil {
		_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc:    func(o any) { handle(nil, o) },
			UpdateFunc: handle,
			DeleteFunc: func(o any) { handle(o, nil) },
		})
	}
	if apimeta.IsNoMatchError(err) {
		if err = s.arrivals.Await(kind); err == nil {
			return false
		}
	}
	if err != nil {
		s.mgr.GetLogger().Error(err, "Cannot watch a kind that objects refer to; their references are resolved at every poll", "kind", kind.String())
		return false
	}
	s.arrivals.Dismiss(kind)
	return true
}

// WatchSecrets enqueues the owner, of a kind that is served, of a connection Secret that is deleted, loses or changes values, gets those
// that it had lost, loses its owner, or gets or loses ProviderConfigs that use it.
func (s *References) WatchSecrets(ctx context.Context, kind schema.GroupVersionKind, c client.Reader) error {
	if err := s.secrets.Begin(ctx, s.mgr); err != nil {
		return err
	}
	informer, err := s.mgr.GetCache().GetInformer(ctx, &corev1.Secret{}, cache.BlockUntilSynced(false))
	if err != nil {
		return fmt.Errorf("watching connection Secrets: %w", err)
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		UpdateFunc: func(before, after any) {
			was, is := before.(*corev1.Secret), after.(*corev1.Secret)
			changed := func(key string) bool { return !bytes.Equal(is.Data[key], was.Data[key]) }
			always := slices.ContainsFunc(slices.Collect(maps.Keys(was.Data)), changed) || !slices.Equal(meta.UsersOf(was), meta.UsersOf(is)) ||
				!reflect.DeepEqual(was.OwnerReferences, is.OwnerReferences)
			s.wakeOwner(ctx, kind, was, c, func(owner client.Object) bool {
				keys := connection.CreatedKeys(owner)
				return always || len(connection.Missing(is, keys)) < len(connection.Missing(was, keys))
			})
		},
		DeleteFunc: func(o any) {
			s.wakeOwner(ctx, kind, objects.FromInformer(o), c, func(client.Object) bool { return true })
		},
	})
	return err
}

// AwaitSecret has an object enqueued that takes a value from a Secret, once that is not in the given version any more.
func (s *References) AwaitSecret(d reference.Dependent, secret types.NamespacedName, version string) {
	s.secrets.Await(secret, version, d, func() { s.wake(d) })
}

// wakeOwner enqueues the owner of a Secret if it matters to it.
func (s *References) wakeOwner(ctx context.Context, kind schema.GroupVersionKind, secret client.Object, c client.Reader,
	matters func(owner client.Object) bool) {
	if secret == nil { // of a deletion that the watch missed, only the name may be known
		return
	}
	owner := metav1.GetControllerOfNoCopy(secret)
	if owner == nil || owner.Kind != kind.Kind {
		return
	}
	for _, namespace := range []string{"", secret.GetNamespace()} { // the kind may be of either scope
		name, o := types.NamespacedName{Namespace: namespace, Name: owner.Name}, s.example(kind)
		if err := c.Get(ctx, name, o); err == nil && o.GetUID() == owner.UID {
			if matters(o) {
				s.wake(reference.Dependent{Kind: kind, Name: client.ObjectKeyFromObject(o)})
			}
			return
		}
	}
}

// arrived enqueues the objects that wait for a kind that was just installed. The first of them watches it.
func (s *References) arrived(kind schema.GroupVersionKind) {
	for _, d := range s.tracker.Waiting(kind) {
		s.wake(d)
	}
}

// Resolve resolves the references of an object and remembers them. A name is remembered before it is read, so that it is
// known although an error ends the resolution.
func (s *References) Resolve(ctx context.Context, d reference.Dependent, by resource.ReferenceResolver, c client.Client) error {
	recorder := s.tracker.Recorder(d, c)
	err := by.ResolveReferences(ctx, recorder)
	recorder.Done(err)
	switch {
	case err == nil:
		s.free(d)
	case apimeta.IsNoMatchError(err):
		s.mu.Lock()
		defer s.mu.Unlock()
		s.stranded[d] = true
	}
	return err
}

// free is for an object that waits for no kind any more. The installation of a kind is awaited only while some object does.
func (s *References) free(d reference.Dependent) {
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
	return untyped(kind)
}

func (s *References) wake(d reference.Dependent) {
	if server, ok := s.server(d.Kind); ok {
		server.WakeNow(d.Name)
	}
}

// Gone forgets an object that was deleted. It enqueues the objects that waited for that, and those that it referred to and
// that are being deleted too: the external system may have refused their deletion because of it.
func (s *References) Gone(ctx context.Context, d reference.Dependent) {
	targets := s.tracker.Targets(d)
	s.tracker.Forget(d)
	s.free(d)
	s.mu.Lock()
	waiting := s.awaited[d]
	delete(s.awaited, d)
	s.mu.Unlock()
	for waits := range waiting {
		s.wake(waits)
	}
	for _, target := range targets {
		if server, ok := s.server(target.Kind); ok && server.IsDeleting(ctx, target.Name) {
			server.WakeNow(target.Name)
		}
	}
}

// FirstUnresolved returns the first, by kind and name, of the objects other than self that are being deleted and whose
// references this process has not read yet.
func (s *References) FirstUnresolved(ctx context.Context, self reference.Dependent) (d reference.Dependent, found bool, err error) {
	s.mu.Lock()
	servers := maps.Clone(s.servers)
	s.mu.Unlock()
	var all []reference.Dependent
	for _, server := range servers {
		names, err := server.Unresolved(ctx)
		if err != nil {
			return d, false, fmt.Errorf("listing objects of kind %s: %w", server.kind.Kind, err)
		}
		for _, name := range names {
			if d := (reference.Dependent{Kind: server.kind, Name: name}); d != self {
				all = append(all, d)
			}
		}
	}
	if len(all) == 0 {
		return d, false, nil
	}
	return slices.MinFunc(all, byKindAndName), true, nil
}

// Deleting returns the objects that refer to one and are being deleted, and apart from them those whose deletion cannot end
// by itself: isStuck is true for them, their kind is not installed, or they refer to each other in a circle.
//
// Each of several objects that are deleted together is seen by the watch of its kind, one after the other. If live is not
// nil, an object that the cache has as staying is therefore read from the API server.
func (s *References) Deleting(ctx context.Context, self reference.Dependent, c, live client.Reader, isStuck func(client.Object) bool) (
	deleting, stuck []reference.Dependent, err error,
) {
	for _, d := range s.tracker.Dependents(self.Kind, self.Name) {
		if d == self {
			continue
		}
		o := s.example(d.Kind)
		err := c.Get(ctx, d.Name, o)
		if err == nil && !meta.WasDeleted(o) && live != nil {
			err = live.Get(ctx, d.Name, o)
		}
		switch {
		case apierrors.IsNotFound(err):
			continue
		case apimeta.IsNoMatchError(err):
			stuck = append(stuck, d)
			continue
		case err != nil:
			return nil, nil, err
		case !meta.WasDeleted(o):
			continue
		}
		if isStuck(o) || s.dependsOn(self, d) {
			stuck = append(stuck, d)
		} else {
			deleting = append(deleting, d)
		}
	}
	return deleting, stuck, nil
}

// dependsOn is true if an object refers to another, directly or through others.
func (s *References) dependsOn(object, other reference.Dependent) bool {
	seen := sets.New(other)
	for open := seen.UnsortedList(); len(open) > 0; open = open[1:] {
		for _, referring := range s.tracker.Dependents(open[0].Kind, open[0].Name) {
			if referring == object {
				return true
			}
			if !seen.Has(referring) {
				seen.Insert(referring)
				open = append(open, referring)
			}
		}
	}
	return false
}

// AwaitDeletion has one object enqueued once others are deleted.
func (s *References) AwaitDeletion(self reference.Dependent, others []reference.Dependent) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, other := range others {
		if s.awaited[other] == nil {
			s.awaited[other] = map[reference.Dependent]bool{}
		}
		s.awaited[other][self] = true
	}
}

// Names lists objects as kubectl takes them, five at most.
func Names(all ...reference.Dependent) string {
	const most = 5
	var names []string
	for _, d := range all[:min(most, len(all))] {
		names = append(names, strings.ToLower(d.Kind.GroupKind().String())+" "+strings.TrimPrefix(d.Name.String(), "/"))
	}
	if more := len(all) - most; more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}

func byKindAndName(a, b reference.Dependent) int {
	return cmp.Or(cmp.Compare(a.Kind.String(), b.Kind.String()), cmp.Compare(a.Name.String(), b.Name.String()))
}
