// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// A query is a request for any field: a single value is a list of at most one.
type query struct {
	MultiNamespacedResolutionRequest
	many bool // a selector selects all matches
}

type objectReader struct {
	client client.Reader
	from   resource.Managed
}

// resolve returns nil if the field is unchanged, otherwise at least one reference and one value.
func (r objectReader) resolve(ctx context.Context, q query) (*MultiNamespacedResolutionResponse, error) {
	switch {
	case len(q.References) == 0 && q.Selector == nil:
		return nil, nil
	case q.To.Managed == nil:
		return nil, fmt.Errorf("resolving %s: the request has no kind", q.FieldPath)
	}
	if q.Extract == nil {
		q.Extract = ExternalName()
	}
	if !q.unresolved() {
		r.hold(q)
		return nil, nil
	}
	found := &MultiNamespacedResolutionResponse{ResolvedReferences: q.References}
	if len(q.References) == 0 || q.selectsAlways() {
		chosen, err := r.choose(ctx, q)
		if err != nil {
			return nil, q.fatal(err, q.Selector.Policy)
		}
		found.ResolvedReferences = chosen
	}
	for _, reference := range found.ResolvedReferences {
		value, err := r.value(ctx, q, reference)
		if err == nil {
			found.ResolvedValues = append(found.ResolvedValues, value)
			continue
		}
		if failed := q.fatal(err, q.policy(reference)); failed != nil || q.outlives(err) {
			return nil, failed
		}
	}
	if len(found.ResolvedValues) == 0 {
		return nil, nil
	}
	return found, nil
}

func (q query) unresolved() bool {
	return len(q.CurrentValues) == 0 || q.selectsAlways() || slices.ContainsFunc(q.References, followed)
}

func (q query) selectsAlways() bool {
	return q.Selector != nil && q.Selector.Policy.IsResolvePolicyAlways()
}

func followed(r xpv1.NamespacedReference) bool { return r.Policy.IsResolvePolicyAlways() }

func (q query) policy(r xpv1.NamespacedReference) *xpv1.Policy {
	if r.Policy == nil && q.Selector != nil {
		return q.Selector.Policy
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
func (q query) outlives(err error) bool {
	unresolved, ok := errors.AsType[*UnresolvedError](err)
	return ok && unresolved.leaving && len(q.CurrentValues) > 0
}

func (r objectReader) hold(q query) {
	recorder, _ := r.client.(*Recorder)
	for _, reference := range q.References {
		key := types.NamespacedName{Namespace: r.namespace(q, reference.Namespace), Name: reference.Name}
		recorder.expect(q.To.Managed, key, holds, true)
	}
}

func (r objectReader) value(ctx context.Context, q query, reference xpv1.NamespacedReference) (string, error) {
	namespace, ok := r.scope(q.To.Managed, r.namespace(q, reference.Namespace))
	key := types.NamespacedName{Namespace: namespace, Name: reference.Name}
	unresolved := &UnresolvedError{FieldPath: q.FieldPath, Kind: kindOf(q.To.Managed), Namespace: namespace, Name: key.Name}
	if !ok {
		unresolved.Problem = "needs a namespace: set it in the reference"
		return "", unresolved
	}
	target, ok := q.To.Managed.DeepCopyObject().(resource.Managed)
	if !ok {
		return "", fmt.Errorf("%T does not copy to its own type", q.To.Managed)
	}
	recorder, _ := r.client.(*Recorder)
	before := recorder.expect(target, key, follows, true) // until the value exists any change may produce it
	if err := r.client.Get(ctx, key, target); err != nil {
		if apierrors.IsNotFound(err) {
			unresolved.Problem = "does not exist yet"
			return "", unresolved
		}
		return "", fmt.Errorf("reading %s %q: %w", unresolved.Kind, key.Name, advise(err))
	}
	relax := func(m mode) {
		if !q.policy(reference).IsResolvePolicyAlways() {
			recorder.expect(target, key, max(before, m), false)
		}
	}
	if unresolved.Problem, unresolved.leaving = obstacle(target); unresolved.Problem != "" {
		relax(awaits)
		return "", unresolved
	}
	value := q.Extract(target)
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

func (r objectReader) choose(ctx context.Context, q query) ([]xpv1.NamespacedReference, error) {
	if q.To.List == nil {
		return nil, fmt.Errorf("resolving %s: the request has no list of the kind", q.FieldPath)
	}
	namespace, ok := r.scope(q.To.Managed, r.namespace(q, q.Selector.Namespace))
	unresolved := &UnresolvedError{FieldPath: q.FieldPath, Kind: kindOf(q.To.Managed), Namespace: namespace}
	if !ok {
		unresolved.Problem = "can be selected without a namespace: set it in the selector"
		return nil, unresolved
	}
	matches, leaving, err := r.matches(ctx, q, namespace)
	if err != nil {
		return nil, fmt.Errorf("listing objects of kind %s: %w", unresolved.Kind, advise(err))
	}
	if len(matches) == 0 {
		unresolved.Problem, unresolved.leaving = describe(q.Selector), leaving
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
	return cmp.Or(named, q.Namespace, r.from.GetNamespace())
}

// scope returns the namespace to read in. It is not ok if a namespaced kind has none, which would find nothing, or everything.
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

// matches leaves out the object itself and those that are being deleted; leaving is true if there are such.
func (r objectReader) matches(ctx context.Context, q query, namespace string) (found []client.Object, leaving bool, err error) {
	list, ok := q.To.List.DeepCopyObject().(client.ObjectList)
	if !ok {
		return nil, false, fmt.Errorf("%T does not copy to its own type", q.To.List)
	}
	err = r.client.List(ctx, list, client.InNamespace(namespace), client.MatchingLabels(q.Selector.MatchLabels))
	if err != nil {
		return nil, false, err
	}
	err = apimeta.EachListItem(list, func(item runtime.Object) error {
		o, ok := item.(client.Object)
		switch {
		case !ok:
			return fmt.Errorf("%T has items that are no objects", list)
		case o.GetUID() == r.from.GetUID(), sameController(q.Selector) && !meta.HaveSameController(r.from, o):
		case meta.WasDeleted(o):
			leaving = true
		default:
			found = append(found, o)
		}
		return nil
	})
	return found, leaving, err
}

func sameController(s *xpv1.NamespacedSelector) bool {
	return s.MatchControllerRef != nil && *s.MatchControllerRef
}

// describe completes "no Network ..." for a selector that selects nothing.
func describe(s *xpv1.NamespacedSelector) string {
	switch chosen := labels.Set(s.MatchLabels).String(); {
	case chosen == "" && sameController(s):
		return "has the same controller"
	case chosen == "":
		return "exists yet"
	case sameController(s):
		return "matches labels " + chosen + " and has the same controller"
	default:
		return "matches labels " + chosen
	}
}

func older(a, b client.Object) int {
	first, second := a.GetCreationTimestamp(), b.GetCreationTimestamp()
	return cmp.Or(first.Compare(second.Time), byName(a, b))
}

func byName(a, b client.Object) int { return cmp.Compare(a.GetName(), b.GetName()) }

// kindOf names the kind of an object in messages. Typed objects often have no type metadata.
func kindOf(o runtime.Object) string {
	if kind := o.GetObjectKind().GroupVersionKind().Kind; kind != "" {
		return kind
	}
	return reflect.Indirect(reflect.ValueOf(o)).Type().Name()
}

// An UnresolvedError reports a reference without a usable target (R167). Reconciliation resumes when the target or the reference
// changes. The text is for users and has no times or counts, so that it does not change while the state is the same.
type UnresolvedError struct {
	FieldPath string // of the referring field; empty if the request has none
	Kind      string // of the target
	Namespace string // of the target; empty if it has none
	Name      string // of the target; empty if a selector found none
	Problem   string // predicate of the message, whose subject is the target, or "no <Kind>" if a selector found none

	leaving bool // the target is being deleted. Fields that have its value keep it
}

// Error returns, for example: spec.forProvider.networkId: Network "net-a" does not exist yet.
func (e *UnresolvedError) Error() string {
	subject := "no " + e.Kind
	if e.Name != "" {
		subject = fmt.Sprintf("%s %q", e.Kind, e.Name)
	}
	if e.Namespace != "" {
		subject += fmt.Sprintf(" in namespace %q", e.Namespace)
	}
	if e.FieldPath != "" {
		subject = e.FieldPath + ": " + subject
	}
	return subject + " " + e.Problem
}

// IsUnresolved is true for a reference without a usable target. Retry only after an event about the target or the object.
func IsUnresolved(err error) bool {
	_, ok := errors.AsType[*UnresolvedError](err)
	return ok
}

// An ExtractValueFn returns the value of a field from its target, empty if the target does not have it yet.
type ExtractValueFn func(resource.Managed) string

// ExternalName extracts the external name (R161).
func ExternalName() ExtractValueFn {
	return func(mg resource.Managed) string { return meta.GetExternalName(mg) }
}
