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

// A Tracker knows which objects refer to which: it answers whom an event about a target concerns, so that those who wait
// for it need not poll, and who depends on a target, so that those go first. It is made for one process; what it forgets
// when that ends comes back with the first resolution of each object. It may be used concurrently.
//
// A target is known by group, kind and name: its versions are one.
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

// scope is where a selector looks; an empty namespace means everywhere.
type scope struct {
	kind      schema.GroupKind
	namespace string
}

// choice is a selector, as text, and where it looks.
type choice struct {
	scope
	labels string
}

// choosers are the dependents that use one selector in one scope.
type choosers struct {
	selector labels.Selector
	records  map[*record]struct{}
}

// record is what one dependent looked at, and in which of the tracker's passes last.
type record struct {
	dependent Dependent
	targets   map[target]look
	choices   map[choice]uint64
}

type look struct {
	mode mode
	pass uint64
}

// NewTracker returns a Tracker. It calls watch for each kind that somebody waits for, before the first read, in the version
// that is read: whoever starts an informer then, and passes its events to Handle, misses none. Where watch returns false,
// such as for a kind that is not installed yet, it is called again before the next read. It may be nil.
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

// Recorder begins a resolution of the dependent's references: they are to be resolved through the Recorder, which reads
// through the given client, and its Done is to be called in the end. No other resolution of the same object may go on
// meanwhile.
func (t *Tracker) Recorder(d Dependent, c client.Client) *Recorder {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.passes++
	return &Recorder{client: c, tracker: t, dependent: d, pass: t.passes}
}

// Forget removes an object that is gone.
func (t *Tracker) Forget(d Dependent) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if r, ok := t.dependents[d]; ok {
		t.keep(r, func(uint64) bool { return false })
		delete(t.dependents, d)
	}
}

// Dependents returns the objects that refer to a target by name, in order of their kinds and names. What a selector
// chose counts: it is referred to by name from then on.
func (t *Tracker) Dependents(kind schema.GroupVersionKind, name types.NamespacedName) []Dependent {
	t.mu.Lock()
	defer t.mu.Unlock()
	found := dependents(t.targets[target{kind.GroupKind(), name}])
	slices.SortFunc(found, func(a, b Dependent) int {
		return cmp.Or(cmp.Compare(a.Kind.String(), b.Kind.String()), cmp.Compare(a.Name.String(), b.Name.String()))
	})
	return found
}

// Targets returns what an object was found to refer to, by group, kind and name; the version is left out.
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

// Waiting returns the dependents that wait for objects of a kind, or follow them, each once and in no order.
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

// Handle takes an event about an object of a kind, as an informer has it: before is nil for one that was created, after
// for one that is gone. It returns the dependents that have to resolve again, each once and in no order.
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
		if look := r.targets[name]; look.mode >= changed {
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

// wakeChoosers adds those whose selector the object matches, or matched.
func (t *Tracker) wakeChoosers(s scope, before, after client.Object, woken map[*record]struct{}) {
	for _, c := range t.choices[s] {
		if !matched(c.selector, before) && !matched(c.selector, after) {
			continue
		}
		maps.Copy(woken, c.records)
	}
}
