// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// A query is a request for any field: a single value is a list of at most one.
type query struct {
	values     []string
	references []xpv1.NamespacedReference
	selector   *xpv1.NamespacedSelector
	many       bool // a selector selects all matches
	to         To
	extract    ExtractValueFn
	namespace  string
	field      string
}

// A result is kept if the field is unchanged. Otherwise it has at least one reference and one value.
type result struct {
	kept       bool
	values     []string
	references []xpv1.NamespacedReference
}

// An objectReader resolves the fields of one object.
type objectReader struct {
	client client.Reader
	from   resource.Managed
}

func (r objectReader) resolve(ctx context.Context, q query) (result, error) {
	if q.to.Managed == nil {
		return result{}, fmt.Errorf("resolving %s: the request has no kind", q.field)
	}
	if q.extract == nil {
		q.extract = ExternalName()
	}
	if !q.unresolved() {
		r.hold(q)
		return result{kept: true}, nil
	}
	references := q.references
	if len(references) == 0 || q.selectsAlways() {
		chosen, err := r.choose(ctx, q)
		if err != nil {
			return result{kept: true}, q.fatal(err, q.selector.Policy)
		}
		references = chosen
	}
	values := []string{}
	for _, reference := range references {
		value, err := r.value(ctx, q, reference)
		if err == nil {
			values = append(values, value)
			continue
		}
		if failed := q.fatal(err, q.policy(reference)); failed != nil || q.outlives(err) {
			return result{kept: true}, failed
		}
	}
	return result{values: values, references: references, kept: len(values) == 0}, nil
}

// unresolved is true if a value is missing or must be resolved in every pass.
func (q query) unresolved() bool {
	if len(q.references) == 0 && q.selector == nil {
		return false
	}
	return len(q.values) == 0 || q.selectsAlways() || slices.ContainsFunc(q.references, followed)
}

func (q query) selectsAlways() bool {
	return q.selector != nil && q.selector.Policy.IsResolvePolicyAlways()
}

func followed(r xpv1.NamespacedReference) bool { return r.Policy.IsResolvePolicyAlways() }

// policy of a reference: its own, else that of the selector.
func (q query) policy(r xpv1.NamespacedReference) *xpv1.Policy {
	if r.Policy == nil && q.selector != nil {
		return q.selector.Policy
	}
	return r.Policy
}

// fatal returns the error unless the target is optional.
func (q query) fatal(err error, p *xpv1.Policy) error {
	if IsUnresolved(err) && (p.IsResolutionPolicyOptional() || q.outlives(err)) {
		return nil
	}
	return err
}

// outlives is true if the field keeps its values although their target is being deleted.
func (q query) outlives(err error) bool { return isLeaving(err) && len(q.values) > 0 }

// hold records the references of values that are kept.
func (r objectReader) hold(q query) {
	recorder, ok := r.client.(*Recorder)
	if !ok {
		return
	}
	for _, reference := range q.references {
		recorder.expect(q.to.Managed, types.NamespacedName{Namespace: r.namespace(q, reference.Namespace), Name: reference.Name}, holds)
	}
}

// value returns the value of the target of a reference.
func (r objectReader) value(ctx context.Context, q query, reference xpv1.NamespacedReference) (string, error) {
	namespace, ok := r.scope(q.to.Managed, r.namespace(q, reference.Namespace))
	key := types.NamespacedName{Namespace: namespace, Name: reference.Name}
	unresolved := &UnresolvedError{FieldPath: q.field, Kind: kindOf(q.to.Managed), Namespace: namespace, Name: key.Name}
	if !ok {
		unresolved.Problem = "needs a namespace: set it in the reference"
		return "", unresolved
	}
	target, ok := q.to.Managed.DeepCopyObject().(resource.Managed)
	if !ok {
		return "", fmt.Errorf("%T does not copy to its own type", q.to.Managed)
	}
	recorder, _ := r.client.(*Recorder)
	before := recorder.expect(target, key, follows) // until the value exists any change may produce it
	if err := r.client.Get(ctx, key, target); err != nil {
		if apierrors.IsNotFound(err) {
			unresolved.Problem = "does not exist yet"
			return "", unresolved
		}
		return "", fmt.Errorf("reading %s %q: %w", unresolved.Kind, key.Name, advise(err))
	}
	relax := func(m mode) {
		if !q.policy(reference).IsResolvePolicyAlways() {
			recorder.settle(target, key, max(before, m))
		}
	}
	if unresolved.Problem, unresolved.leaving = obstacle(target); unresolved.Problem != "" {
		relax(awaits)
		return "", unresolved
	}
	value := q.extract(target)
	if value == "" {
		unresolved.Problem = "does not have the value of this field yet"
		return "", unresolved
	}
	relax(holds)
	return value, nil
}

// advise adds advice to an error about a kind that is not installed.
func advise(err error) error {
	if apimeta.IsNoMatchError(err) {
		return fmt.Errorf("%w: install the provider of this kind", err)
	}
	return err
}

// obstacle returns why an object cannot be referred to, empty if it can (N36).
func obstacle(target resource.Managed) (problem string, leaving bool) {
	switch {
	case meta.WasDeleted(target):
		return "is being deleted: refer to another object, or create it again after the deletion", true
	case meta.ExternalCreateIncomplete(target):
		return "has no external name yet: it is still being created", false
	case meta.ExternalCreateUnacknowledged(target):
		return "has no external name yet: its creation failed, see its conditions", false
	case meta.GetExternalName(target) == "":
		return "has no external name yet: it is still being created", false
	}
	return "", false
}

// choose returns references to the oldest match of the selector, or to all (R162 to R164, R169, R170).
func (r objectReader) choose(ctx context.Context, q query) ([]xpv1.NamespacedReference, error) {
	if q.to.List == nil {
		return nil, fmt.Errorf("resolving %s: the request has no list of the kind", q.field)
	}
	namespace, ok := r.scope(q.to.Managed, r.namespace(q, q.selector.Namespace))
	unresolved := &UnresolvedError{FieldPath: q.field, Kind: kindOf(q.to.Managed), Namespace: namespace}
	if !ok {
		unresolved.Problem = "can be selected without a namespace: set it in the selector"
		return nil, unresolved
	}
	matches, leaving, err := r.matches(ctx, q, namespace)
	if err != nil {
		return nil, fmt.Errorf("listing objects of kind %s: %w", unresolved.Kind, advise(err))
	}
	if len(matches) == 0 {
		unresolved.Problem, unresolved.leaving = describe(q.selector), leaving
		if leaving {
			unresolved.Problem += ", except objects that are being deleted"
		}
		return nil, unresolved
	}
	if !q.many {
		matches = []client.Object{slices.MinFunc(matches, older)}
	}
	slices.SortFunc(matches, byName)
	return each(matches, func(o client.Object) xpv1.NamespacedReference {
		reference := xpv1.NamespacedReference{Name: o.GetName(), Namespace: o.GetNamespace()}
		if reference.Namespace == r.namespace(q, "") {
			reference.Namespace = ""
		}
		return reference
	}), nil
}

// namespace of a target: the given one, else that of the request, else that of the referring object (R172).
func (r objectReader) namespace(q query, named string) string {
	return cmp.Or(named, q.namespace, r.from.GetNamespace())
}

// scope returns the namespace for reading a kind: none for a cluster-scoped one. It is not ok if a namespaced kind has none, with
// which a read would find nothing, or everything. If the scope is unknown the given namespace is used.
func (r objectReader) scope(kind client.Object, namespace string) (string, bool) {
	scoped, ok := r.client.(interface {
		IsObjectNamespaced(runtime.Object) (bool, error)
	})
	if !ok {
		return namespace, true
	}
	namespaced, err := scoped.IsObjectNamespaced(kind)
	if err != nil {
		return namespace, true // the following read reports the error
	}
	if !namespaced {
		return "", true
	}
	return namespace, namespace != ""
}
