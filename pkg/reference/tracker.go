// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/bowline-dev/bowline/pkg/meta"
)

// A Dependent is an object that refers to others.
type Dependent struct {
	Kind schema.GroupVersionKind
	Name types.NamespacedName // without a namespace for cluster-scoped kinds
}

// A Tracker records which objects refer to which: the dependents to enqueue after an event about a target, and those to delete
// before it. It lives in memory and is rebuilt by the first resolution of each object. It is safe for concurrent use.
//
// A target is identified by group, kind and name, without the version.
type Tracker struct {
	watch func(schema.GroupVersionKind) bool

	mu        sync.Mutex
	passes    uint64
	kinds     sets.Set[schema.GroupKind]
	interests map[Dependent]map[subject]interest
	readers   map[subject]sets.Set[Dependent] // the reverse of interests
	selectors map[scope]map[string]labels.Selector
}

// scope of a read; an empty namespace means all.
type scope struct {
	kind      schema.GroupKind
	namespace string
}

// subject is an object that is, or will be, referred to; without a name it is all objects that a selector selects.
type subject struct {
	scope
	name, selector string
}

type interest struct {
	mode mode
	pass uint64 // in which it was last read
}

// mode is the set of changes of a target that a dependent reacts to.
type mode int

const (
	ignores mode = iota
	holds        // none, but its deletion has to wait: the dependent has its value
	awaits       // whether it exists and can be referred to
	follows      // all
)

// NewTracker returns a Tracker. It calls watch for each kind of targets before the first read, in the version that is read, so
// that an informer that is started then, whose events go to Handle, misses none. If watch returns false, such as for a kind that
// is not installed yet, it is called again before the next read. It may be nil.
func NewTracker(watch func(schema.GroupVersionKind) bool) *Tracker {
	if watch == nil {
		watch = func(schema.GroupVersionKind) bool { return true }
	}
	return &Tracker{
		watch:     watch,
		kinds:     sets.Set[schema.GroupKind]{},
		interests: map[Dependent]map[subject]interest{},
		readers:   map[subject]sets.Set[Dependent]{},
		selectors: map[scope]map[string]labels.Selector{},
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
func (t *Tracker) Forget(d Dependent) { t.prune(d, 0) }

// Dependents returns the objects that refer to a target by name, also through a selector, sorted by kind and name.
func (t *Tracker) Dependents(kind schema.GroupVersionKind, name types.NamespacedName) []Dependent {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.SortedFunc(maps.Keys(t.readers[named(kind, name)]), func(a, b Dependent) int {
		return cmp.Or(cmp.Compare(a.Kind.String(), b.Kind.String()), cmp.Compare(a.Name.String(), b.Name.String()))
	})
}

// Targets returns the targets of an object, without versions.
func (t *Tracker) Targets(d Dependent) []Dependent {
	t.mu.Lock()
	defer t.mu.Unlock()
	var all []Dependent
	for s := range t.interests[d] {
		if s.name != "" {
			all = append(all, Dependent{s.kind.WithVersion(""), types.NamespacedName{Namespace: s.namespace, Name: s.name}})
		}
	}
	return all
}

// Waiting returns the dependents that wait for objects of a kind or follow them, each once, in no order.
func (t *Tracker) Waiting(kind schema.GroupVersionKind) []Dependent {
	t.mu.Lock()
	defer t.mu.Unlock()
	waiting := sets.Set[Dependent]{}
	for s := range t.readers {
		if s.kind == kind.GroupKind() {
			t.wake(waiting, s, awaits)
		}
	}
	return waiting.UnsortedList()
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
	woken := sets.Set[Dependent]{}
	t.wake(woken, named(kind, client.ObjectKeyFromObject(o)), changed)
	if changed == follows {
		return woken.UnsortedList()
	}
	for _, namespace := range []string{"", o.GetNamespace()} {
		in := scope{kind.GroupKind(), namespace}
		for text, selector := range t.selectors[in] {
			if matched(selector, before) || matched(selector, after) {
				t.wake(woken, subject{scope: in, selector: text}, awaits)
			}
		}
	}
	return woken.UnsortedList()
}

func (t *Tracker) wake(woken sets.Set[Dependent], s subject, changed mode) {
	for d := range t.readers[s] {
		if t.interests[d][s].mode >= changed {
			woken.Insert(d)
		}
	}
}

func named(kind schema.GroupVersionKind, name types.NamespacedName) subject {
	return subject{scope: scope{kind.GroupKind(), name.Namespace}, name: name.Name}
}

// record notes that a dependent reads a subject, and returns its mode so far in this pass. least keeps that if it is higher.
func (t *Tracker) record(d Dependent, s subject, i interest, least bool) (before mode) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if last := t.interests[d][s]; last.pass == i.pass {
		before = last.mode
	}
	if least {
		i.mode = max(i.mode, before)
	}
	if t.interests[d] == nil {
		t.interests[d] = map[subject]interest{}
	}
	t.interests[d][s] = i
	if t.readers[s] == nil {
		t.readers[s] = sets.Set[Dependent]{}
	}
	t.readers[s].Insert(d)
	return before
}

func (t *Tracker) recordSelection(d Dependent, in scope, selector labels.Selector, pass uint64) {
	text := selector.String()
	t.record(d, subject{scope: in, selector: text}, interest{awaits, pass}, true)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.selectors[in] == nil {
		t.selectors[in] = map[string]labels.Selector{}
	}
	t.selectors[in][text] = selector
}

// noteKind calls watch without the lock, since it may call the tracker, and after the record, by which Waiting finds the
// dependent.
func (t *Tracker) noteKind(kind schema.GroupVersionKind) {
	t.mu.Lock()
	known := t.kinds.Has(kind.GroupKind())
	t.kinds.Insert(kind.GroupKind())
	t.mu.Unlock()
	if known || t.watch(kind) {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kinds.Delete(kind.GroupKind())
}

// prune removes what a dependent did not read in a pass.
func (t *Tracker) prune(d Dependent, pass uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for s, i := range t.interests[d] {
		if i.pass == pass {
			continue
		}
		delete(t.interests[d], s)
		if t.readers[s].Delete(d); len(t.readers[s]) > 0 {
			continue
		}
		delete(t.readers, s)
		if s.name == "" {
			delete(t.selectors[s.scope], s.selector)
		}
		if len(t.selectors[s.scope]) == 0 {
			delete(t.selectors, s.scope)
		}
	}
	if len(t.interests[d]) == 0 {
		delete(t.interests, d)
	}
}

// extent is the least mode that an event concerns: awaits if it may decide whether the object is usable or selected.
func extent(before, after client.Object) mode {
	switch {
	case before == nil || after == nil || decisive(before, after):
		return awaits
	case before.GetResourceVersion() != after.GetResourceVersion():
		return follows
	}
	return ignores
}

func decisive(before, after client.Object) bool {
	return meta.WasDeleted(before) != meta.WasDeleted(after) ||
		before.GetUID() != after.GetUID() ||
		obstacleMarks(before) != obstacleMarks(after) ||
		controllerOf(before) != controllerOf(after) ||
		!maps.Equal(before.GetLabels(), after.GetLabels())
}

func obstacleMarks(o client.Object) [4]string {
	annotations := o.GetAnnotations()
	return [4]string{
		annotations[meta.AnnotationKeyExternalName],
		annotations[meta.AnnotationKeyExternalCreatePending],
		annotations[meta.AnnotationKeyExternalCreateSucceeded],
		annotations[meta.AnnotationKeyExternalCreateFailed],
	}
}

func controllerOf(o client.Object) types.UID {
	if controller := metav1.GetControllerOfNoCopy(o); controller != nil {
		return controller.UID
	}
	return ""
}

func matched(s labels.Selector, o client.Object) bool {
	return o != nil && s.Matches(labels.Set(o.GetLabels()))
}

// A Recorder is the reader for one resolution of one object. It records each read in its Tracker before it reads, so that no
// event is missed between the two.
type Recorder struct {
	client    client.Client
	tracker   *Tracker
	dependent Dependent
	pass      uint64
}

// Get implements client.Reader.
func (r *Recorder) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if _, err := r.record(o, key, awaits, true); err != nil {
		return err
	}
	return r.client.Get(ctx, key, o, opts...)
}

// List implements client.Reader. Only namespace and label selector are recorded.
func (r *Recorder) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	kind, err := r.client.GroupVersionKindFor(list)
	if err != nil {
		return fmt.Errorf("finding the kind of %T: %w", list, err)
	}
	kind.Kind = strings.TrimSuffix(kind.Kind, "List")
	o := client.ListOptions{}
	o.ApplyOptions(opts)
	selector := o.LabelSelector
	if selector == nil {
		selector = labels.Everything()
	}
	r.tracker.recordSelection(r.dependent, scope{kind.GroupKind(), r.namespace(kind, o.Namespace)}, selector, r.pass)
	r.tracker.noteKind(kind)
	return r.client.List(ctx, list, opts...)
}

// IsObjectNamespaced returns the scope of a kind.
func (r *Recorder) IsObjectNamespaced(o runtime.Object) (bool, error) {
	return r.client.IsObjectNamespaced(o)
}

// Done ends the resolution. Without an error it removes what only earlier resolutions read.
func (r *Recorder) Done(err error) {
	if err == nil {
		r.tracker.prune(r.dependent, r.pass)
	}
}

// expect sets the mode for a target, or only raises it, and returns the mode so far in this resolution. The following read
// reports an unknown kind. A nil recorder does nothing.
func (r *Recorder) expect(o client.Object, key types.NamespacedName, m mode, least bool) mode {
	if r == nil {
		return ignores
	}
	before, _ := r.record(o, key, m, least)
	return before
}

func (r *Recorder) record(o client.Object, key types.NamespacedName, m mode, least bool) (mode, error) {
	kind, err := r.client.GroupVersionKindFor(o)
	if err != nil {
		return ignores, fmt.Errorf("finding the kind of %T: %w", o, err)
	}
	key.Namespace = r.namespace(kind, key.Namespace)
	before := r.tracker.record(r.dependent, named(kind, key), interest{m, r.pass}, least)
	if m > holds {
		r.tracker.noteKind(kind)
	}
	return before, nil
}

// namespace returns none for a cluster-scoped kind, whose events have none.
func (r *Recorder) namespace(kind schema.GroupVersionKind, namespace string) string {
	if namespace == "" {
		return ""
	}
	if namespaced, err := apiutil.IsGVKNamespaced(kind, r.client.RESTMapper()); err == nil && !namespaced {
		return ""
	}
	return namespace
}
