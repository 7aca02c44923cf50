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

// A Recorder is the reader through which one object resolves its references once. It passes every read on, and tells
// its Tracker of it beforehand: what changes after the read is then known to concern the object, so that no event falls
// between reading and recording.
type Recorder struct {
	client    client.Client
	tracker   *Tracker
	dependent Dependent
	pass      uint64
}

// Get satisfies client.Reader.
func (r *Recorder) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if _, err := r.record(o, key, awaits, raise); err != nil {
		return err
	}
	return r.client.Get(ctx, key, o, opts...)
}

// List satisfies client.Reader. Options other than the namespace and labels to select are not recorded, so that more
// events than necessary concern the object.
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

// IsObjectNamespaced tells resolvers the scope of a kind.
func (r *Recorder) IsObjectNamespaced(o runtime.Object) (bool, error) {
	return r.client.IsObjectNamespaced(o)
}

// Done ends the resolution. Events about what only earlier ones looked at no longer concern the object, unless this
// one ended early in an error: what it did not come to is still as it was.
func (r *Recorder) Done(err error) {
	if err == nil {
		r.tracker.prune(r.dependent, r.pass)
	}
}

// expect records that at least the given mode is wanted, and returns what was wanted before in this resolution. Kinds
// that the client does not know are left to the read that follows, which says so. A nil recorder does nothing.
func (r *Recorder) expect(o client.Object, key types.NamespacedName, m mode) mode {
	if r == nil {
		return ignores
	}
	before, _ := r.record(o, key, m, raise)
	return before
}

// settle records that exactly the given mode is wanted. A nil recorder does nothing.
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

// namespace drops the namespace of a cluster-scoped kind, since its events have none.
func (r *Recorder) namespace(kind schema.GroupVersionKind, namespace string) string {
	if namespace == "" {
		return ""
	}
	if namespaced, err := apiutil.IsGVKNamespaced(kind, r.client.RESTMapper()); err == nil && !namespaced {
		return ""
	}
	return namespace
}

// mode is what of a target concerns a dependent.
type mode int

const (
	ignores mode = iota
	holds        // has a value of it; nothing, but its deletion has to wait
	awaits       // whether it is there and can be used
	follows      // everything
)

func raise(before, m mode) mode { return max(before, m) }

func replace(_, m mode) mode { return m }
