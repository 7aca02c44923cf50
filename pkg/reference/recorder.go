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
	if _, err := r.record(o, key, awaits, raise); err != nil {
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
	r.tracker.recordChoice(r.dependent, r.pass, kind, r.namespace(kind, o.Namespace), selector)
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
	before, _ := r.record(o, key, m, raise)
	return before
}

// settle sets the mode for a target. A nil recorder does nothing.
func (r *Recorder) settle(o client.Object, key types.NamespacedName, m mode) {
	if r != nil {
		_, _ = r.record(o, key, m, replace)
	}
}

func (r *Recorder) record(o client.Object, key types.NamespacedName, m mode, change func(before, m mode) mode) (mode, error) {
	kind, err := r.client.GroupVersionKindFor(o)
	if err != nil {
		return ignores, fmt.Errorf("finding the kind of %T: %w", o, err)
	}
	key.Namespace = r.namespace(kind, key.Namespace)
	return r.tracker.record(r.dependent, r.pass, kind, key, m, change), nil
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

// mode is the set of changes of a target that a dependent reacts to.
type mode int

const (
	ignores mode = iota
	holds        // none, but its deletion has to wait: the dependent has its value
	awaits       // whether it exists and can be referred to
	follows      // all
)

func raise(before, m mode) mode { return max(before, m) }

func replace(_, m mode) mode { return m }
