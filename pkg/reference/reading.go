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

// A question is a request in its widest form: a field with one value is a list of at most one.
type question struct {
	values     []string
	references []xpv1.NamespacedReference
	selector   *xpv1.NamespacedSelector
	many       bool // a selector chooses all matches
	to         To
	extract    ExtractValueFn
	namespace  string
	field      string
}

// An answer is kept if the field stays as it is. Else it has one reference or more, and at least one value.
type answer struct {
	kept       bool
	values     []string
	references []xpv1.NamespacedReference
}

// A reading answers the questions of one object.
type reading struct {
	client client.Reader
	from   resource.Managed
}

func (r reading) resolve(ctx context.Context, q question) (answer, error) {
	if q.to.Managed == nil {
		return answer{}, fmt.Errorf("resolving %s: the request does not say which kind is referred to", q.field)
	}
	if q.extract == nil {
		q.extract = ExternalName()
	}
	if !q.asks() {
		r.hold(q)
		return answer{kept: true}, nil
	}
	references := q.references
	if len(references) == 0 || q.selectsAlways() {
		chosen, err := r.choose(ctx, q)
		if err != nil {
			return answer{kept: true}, q.unforgiven(err, q.selector.Policy)
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
		if fatal := q.unforgiven(err, q.policy(reference)); fatal != nil || q.outlives(err) {
			return answer{kept: true}, fatal
		}
	}
	return answer{values: values, references: references, kept: len(values) == 0}, nil
}

// asks is true if there is something to find out: a value is missing, or is to be had afresh in every pass.
func (q question) asks() bool {
	if len(q.references) == 0 && q.selector == nil {
		return false
	}
	return len(q.values) == 0 || q.selectsAlways() || slices.ContainsFunc(q.references, followed)
}

func (q question) selectsAlways() bool {
	return q.selector != nil && q.selector.Policy.IsResolvePolicyAlways()
}

func followed(r xpv1.NamespacedReference) bool { return r.Policy.IsResolvePolicyAlways() }

// policy of a reference: its own, else that of the selector that may have chosen it.
func (q question) policy(r xpv1.NamespacedReference) *xpv1.Policy {
	if r.Policy == nil && q.selector != nil {
		return q.selector.Policy
	}
	return r.Policy
}

// unforgiven returns the error unless the field can do without the target.
func (q question) unforgiven(err error, p *xpv1.Policy) error {
	if IsUnresolved(err) && (p.IsResolutionPolicyOptional() || q.outlives(err)) {
		return nil
	}
	return err
}

// outlives is true if the field goes on with the values it has, since their target is being deleted.
func (q question) outlives(err error) bool { return isLeaving(err) && len(q.values) > 0 }

// hold tells the recorder what the kept values refer to.
func (r reading) hold(q question) {
	recorder, ok := r.client.(*Recorder)
	if !ok {
		return
	}
	for _, reference := range q.references {
		recorder.expect(q.to.Managed, types.NamespacedName{Namespace: r.namespace(q, reference.Namespace), Name: reference.Name}, holds)
	}
}

// value reads the target of a reference.
func (r reading) value(ctx context.Context, q question, reference xpv1.NamespacedReference) (string, error) {
	namespace, ok := r.scope(q.to.Managed, r.namespace(q, reference.Namespace))
	key := types.NamespacedName{Namespace: namespace, Name: reference.Name}
	unresolved := &UnresolvedError{FieldPath: q.field, Kind: kindOf(q.to.Managed), Namespace: namespace, Name: key.Name}
	if !ok {
		unresolved.Problem = "needs a namespace: say in the reference in which one it is"
		return "", unresolved
	}
	target, ok := q.to.Managed.DeepCopyObject().(resource.Managed)
	if !ok {
		return "", fmt.Errorf("%T does not copy to its own type", q.to.Managed)
	}
	recorder, _ := r.client.(*Recorder)
	before := recorder.expect(target, key, follows) // the value may depend on anything, so until it is there miss nothing
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
		unresolved.Problem = "exists, but does not have the value of this field yet"
		return "", unresolved
	}
	relax(holds)
	return value, nil
}

// advise adds what to do about a kind that is not installed.
func advise(err error) error {
	if apimeta.IsNoMatchError(err) {
		return fmt.Errorf("%w: install the provider that has this kind", err)
	}
	return err
}

// obstacle says why an object does not count as a target, if it does not (N36).
func obstacle(target resource.Managed) (problem string, leaving bool) {
	switch {
	case meta.WasDeleted(target):
		return "is being deleted: refer to another one, or wait until there is a new one", true
	case meta.ExternalCreateIncomplete(target):
		return "has no external name yet: it is still being created", false
	case meta.ExternalCreateUnacknowledged(target):
		return "has no external name yet: its creation failed, see its conditions", false
	case meta.GetExternalName(target) == "":
		return "has no external name yet: it is still being created", false
	}
	return "", false
}

// choose returns references to what the selector selects: the oldest match, or all (R162 to R164, R169, R170).
func (r reading) choose(ctx context.Context, q question) ([]xpv1.NamespacedReference, error) {
	if q.to.List == nil {
		return nil, fmt.Errorf("resolving %s: the request does not say how to list the kind that is referred to", q.field)
	}
	namespace, ok := r.scope(q.to.Managed, r.namespace(q, q.selector.Namespace))
	unresolved := &UnresolvedError{FieldPath: q.field, Kind: kindOf(q.to.Managed), Namespace: namespace}
	if !ok {
		unresolved.Problem = "can be chosen without a namespace: say in the selector in which one it is"
		return nil, unresolved
	}
	matches, leaving, err := r.matches(ctx, q, namespace)
	if err != nil {
		return nil, fmt.Errorf("listing objects of kind %s: %w", unresolved.Kind, advise(err))
	}
	if len(matches) == 0 {
		unresolved.Problem, unresolved.leaving = describe(q.selector), leaving
		if leaving {
			unresolved.Problem += ", apart from what is being deleted"
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

// namespace in which a target is: the named one, else that of the request, else that of the referring object (R172).
func (r reading) namespace(q question, named string) string {
	return cmp.Or(named, q.namespace, r.from.GetNamespace())
}

// scope returns the namespace that an object of a kind has. It is not ok if the object needs one and none is given: a
// read would then find nothing, or everything. If the scope of the kind is unknown it trusts what is given.
func (r reading) scope(kind client.Object, namespace string) (string, bool) {
	scoped, ok := r.client.(interface {
		IsObjectNamespaced(runtime.Object) (bool, error)
	})
	if !ok {
		return namespace, true
	}
	namespaced, err := scoped.IsObjectNamespaced(kind)
	if err != nil {
		return namespace, true // the read that follows fails for the same reason, and says so
	}
	if !namespaced {
		return "", true
	}
	return namespace, namespace != ""
}
