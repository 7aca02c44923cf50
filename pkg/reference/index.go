// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bowline-dev/bowline/pkg/meta"
)

// record notes that a dependent reads a target. change combines the mode so far in this pass, which record returns, with m.
func (t *Tracker) record(
	d Dependent, pass uint64, kind schema.GroupVersionKind, name types.NamespacedName, m mode, change func(before, m mode) mode,
) (before mode) {
	if m > holds {
		defer t.noteKind(kind) // after the record, by which Waiting finds the dependent
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	r, at := t.recordOf(d), target{kind.GroupKind(), name}
	if last := r.targets[at]; last.pass == pass {
		before = last.mode
	}
	r.targets[at] = interest{mode: change(before, m), pass: pass}
	if t.targets[at] == nil {
		t.targets[at] = map[*record]struct{}{}
	}
	t.targets[at][r] = struct{}{}
	return before
}

// recordChoice notes that a dependent selects objects.
func (t *Tracker) recordChoice(d Dependent, pass uint64, kind schema.GroupVersionKind, namespace string, s labels.Selector) {
	defer t.noteKind(kind)
	t.mu.Lock()
	defer t.mu.Unlock()
	r, in := t.recordOf(d), scope{kind.GroupKind(), namespace}
	text := s.String()
	r.choices[choice{in, text}] = pass
	if t.choices[in] == nil {
		t.choices[in] = map[string]*choosers{}
	}
	if t.choices[in][text] == nil {
		t.choices[in][text] = &choosers{selector: s, records: map[*record]struct{}{}}
	}
	t.choices[in][text].records[r] = struct{}{}
}

// noteKind calls watch without the lock, since it may call the tracker.
func (t *Tracker) noteKind(kind schema.GroupVersionKind) {
	t.mu.Lock()
	_, known := t.kinds[kind.GroupKind()]
	t.kinds[kind.GroupKind()] = struct{}{}
	t.mu.Unlock()
	if known || t.watch(kind) {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.kinds, kind.GroupKind())
}

// prune removes what a dependent did not read in its last pass.
func (t *Tracker) prune(d Dependent, pass uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r, ok := t.dependents[d]
	if !ok {
		return
	}
	t.keep(r, func(last uint64) bool { return last == pass })
	if len(r.targets) == 0 && len(r.choices) == 0 {
		delete(t.dependents, d)
	}
}

// keep removes what a dependent read in passes that the condition rejects.
func (t *Tracker) keep(r *record, condition func(pass uint64) bool) {
	for at, i := range r.targets {
		if condition(i.pass) {
			continue
		}
		delete(r.targets, at)
		delete(t.targets[at], r)
		if len(t.targets[at]) == 0 {
			delete(t.targets, at)
		}
	}
	for c, pass := range r.choices {
		if condition(pass) {
			continue
		}
		delete(r.choices, c)
		delete(t.choices[c.scope][c.labels].records, r)
		if len(t.choices[c.scope][c.labels].records) == 0 {
			delete(t.choices[c.scope], c.labels)
		}
		if len(t.choices[c.scope]) == 0 {
			delete(t.choices, c.scope)
		}
	}
}

func (t *Tracker) recordOf(d Dependent) *record {
	r, ok := t.dependents[d]
	if !ok {
		r = &record{dependent: d, targets: map[target]interest{}, choices: map[choice]uint64{}}
		t.dependents[d] = r
	}
	return r
}

// extent is the least mode that an event concerns: ignores if nothing changed, awaits if the change may decide whether the object is
// a usable target or is selected, follows otherwise.
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

// obstacleMarks are the annotations that obstacle depends on.
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
