// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A Dependent is an object that refers to others.
type Dependent struct {
	// Kind of the object.
	Kind schema.GroupVersionKind
	// Name of the object, and its namespace if it has one.
	Name types.NamespacedName
}

// A Tracker records which objects refer to which: the dependents to enqueue after an event about a target, and those to delete
// before it. It lives in memory and is rebuilt by the first resolution of each object. It is safe for concurrent use.
//
// A target is identified by group, kind and name, without the version.
type Tracker struct {
	watch func(schema.GroupVersionKind) bool

	mu         sync.Mutex
	passes     uint64
	kinds      map[schema.GroupKind]struct{}
	dependents map[Dependent]*record
	targets    map[target]map[*record]struct{}
	choices    map[scope]map[string]*choosers
}

// target is an object that is referred to, or will be once it exists.
type target struct {
	kind schema.GroupKind
	name types.NamespacedName
}

// scope of a selector; an empty namespace means all.
type scope struct {
	kind      schema.GroupKind
	namespace string
}

// choice is a selector, as text, and its scope.
type choice struct {
	scope
	labels string
}

// choosers are the dependents that use one selector in one scope.
type choosers struct {
	selector labels.Selector
	records  map[*record]struct{}
}

// record is what one dependent read, and in which pass last.
type record struct {
	dependent Dependent
	targets   map[target]interest
	choices   map[choice]uint64
}

type interest struct {
	mode mode
	pass uint64
}

// NewTracker returns a Tracker. It calls watch for each kind of targets before the first read, in the version that is read, so that
// an informer that is started then, whose events go to Handle, misses none. If watch returns false, such as for a kind that is
// not installed yet, it is called again before the next read. It may be nil.
func NewTracker(watch func(schema.GroupVersionKind) bool) *Tracker {
	if watch == nil {
		watch = func(schema.GroupVersionKind) bool { return true }
	}
	return &Tracker{
		watch:      watch,
		kinds:      map[schema.GroupKind]struct{}{},
		dependents: map[Dependent]*record{},
		targets:    map[target]map[*record]struct{}{},
		choices:    map[scope]map[string]*choosers{},
	}
}

// Recorder begins a resolution of the dependent's references through the given client. Call Done at the end. Resolutions of the
// same object must not run concurrently.
func (t *Tracker) Recorder(d Dependent, c client.Client) *Recorder {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.passes++
	return &Recorder{client: c, tracker: t, dependent: d, pass: t.passes}
}

// Forget removes a deleted object.
func (t *Tracker) Forget(d Dependent) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if r, ok := t.dependents[d]; ok {
		t.keep(r, func(uint64) bool { return false })
		delete(t.dependents, d)
	}
}

// Dependents returns the objects that refer to a target by name, also through a selector, sorted by kind and name.
func (t *Tracker) Dependents(kind schema.GroupVersionKind, name types.NamespacedName) []Dependent {
	t.mu.Lock()
	defer t.mu.Unlock()
	found := dependents(t.targets[target{kind.GroupKind(), name}])
	slices.SortFunc(found, func(a, b Dependent) int {
		return cmp.Or(cmp.Compare(a.Kind.String(), b.Kind.String()), cmp.Compare(a.Name.String(), b.Name.String()))
	})
	return found
}

// Targets returns the targets of an object, without versions.
func (t *Tracker) Targets(d Dependent) []Dependent {
	t.mu.Lock()
	defer t.mu.Unlock()
	var all []Dependent
	if r, ok := t.dependents[d]; ok {
		for at := range r.targets {
			all = append(all, Dependent{Kind: at.kind.WithVersion(""), Name: at.name})
		}
	}
	return all
}

// Waiting returns the dependents that wait for objects of a kind or follow them, each once, in no order.
func (t *Tracker) Waiting(kind schema.GroupVersionKind) []Dependent {
	t.mu.Lock()
	defer t.mu.Unlock()
	waiting := map[*record]struct{}{}
	for at, records := range t.targets {
		if at.kind != kind.GroupKind() {
			continue
		}
		for r := range records {
			if r.targets[at].mode > holds {
				waiting[r] = struct{}{}
			}
		}
	}
	for in, choices := range t.choices {
		if in.kind != kind.GroupKind() {
			continue
		}
		for _, c := range choices {
			maps.Copy(waiting, c.records)
		}
	}
	return dependents(waiting)
}

// Handle takes an event of an informer: before is nil for a created object, after for a deleted one. It returns the dependents to
// enqueue, each once, in no order.
func (t *Tracker) Handle(kind schema.GroupVersionKind, before, after client.Object) []Dependent {
	o := cmp.Or(after, before)
	if o == nil {
		return nil
	}
	changed := extent(before, after)
	if changed == ignores {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	woken := map[*record]struct{}{}
	name := target{kind.GroupKind(), client.ObjectKeyFromObject(o)}
	for r := range t.targets[name] {
		if i := r.targets[name]; i.mode >= changed {
			woken[r] = struct{}{}
		}
	}
	if changed == awaits {
		t.wakeChoosers(scope{name.kind, ""}, before, after, woken)
		if o.GetNamespace() != "" {
			t.wakeChoosers(scope{name.kind, o.GetNamespace()}, before, after, woken)
		}
	}
	return dependents(woken)
}

func dependents(of map[*record]struct{}) []Dependent {
	var all []Dependent
	for r := range of {
		all = append(all, r.dependent)
	}
	return all
}

// wakeChoosers adds dependents whose selector matches the object before or after.
func (t *Tracker) wakeChoosers(s scope, before, after client.Object, woken map[*record]struct{}) {
	for _, c := range t.choices[s] {
		if !matched(c.selector, before) && !matched(c.selector, after) {
			continue
		}
		maps.Copy(woken, c.records)
	}
}
