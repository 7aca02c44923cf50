// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// A Recorder is the reader for one resolution of one object. It records each read in its Tracker before it reads, so that no event
// is missed between the two.
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

// expect raises the mode for a target, and returns the mode so far in this resolution. An unknown kind is reported by the following
// read. A nil recorder does nothing.
func (r *Recorder) expect(o client.Object, key types.NamespacedName, m mode) mode {
	if r == nil {
		return ignores
	}
	before, _ := r.record(o, key, m, true)
	return before
}

// settle sets the mode for a target. A nil recorder does nothing.
func (r *Recorder) settle(o client.Object, key types.NamespacedName, m mode) {
	if r != nil {
		_, _ = r.record(o, key, m, false)
	}
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
