// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package reference resolves fields of managed resources that refer to other managed resources.
//
// Such a field is a triple: a plain value, a reference by name and a selector (R158, R159).
//
//	networkId: net-0123            # the value that is sent
//	networkIdRef: {name: net-a}    # or: the external name of Network net-a
//	networkIdSelector:             # or: the external name of a Network with these labels
//	  matchLabels: {app: shop}
//
// The one idea: a selector resolves to a reference, a reference to a value, and both results are stored in the spec. A value that
// is set is kept and nothing is read (R165, R168). Only with resolve policy Always the field is resolved in every pass.
// The generator implements resource.ReferenceResolver with an APIResolver, or an APINamespacedResolver across namespaces.
//
// # Targets
//
// An object can be referred to once its external name is final: recorded by a creation that succeeded, or set by a user (N36).
// Until then, and while it does not exist or is being deleted, resolution fails with an *UnresolvedError. A selector selects the
// oldest match, then the first by name, and waits for it; objects that are being deleted do not match.
//
// # Dependents
//
// Dependents do not poll. The reconciler resolves through a Recorder of its Tracker and passes events about targets to the
// Tracker, which returns the dependents to enqueue.
//
//	recorder := tracker.Recorder(dependent, mgr.GetClient())
//	err := subnet.ResolveReferences(ctx, recorder)
//	recorder.Done(err)
//
// A kind that is not installed yet cannot be watched. Package installation reports when it can; Tracker.Waiting returns the
// dependents to enqueue then.
package reference

import (
	"context"
	"errors"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// To is the kind of the targets. Both fields are examples of their types.
type To struct {
	Managed resource.Managed  // an object of the kind
	List    client.ObjectList // a list of the kind. Required for selectors only.
}

// A Request is to resolve one field; R and S are the types of its reference and its selector.
type Request[R, S any] struct {
	CurrentValue string         // of the field, empty if there is none
	Reference    *R             // beside the field, if any
	Selector     *S             // beside the field, if any
	To           To             // the kind of the target
	Extract      ExtractValueFn // takes the value from the target. Default: ExternalName.
	// Namespace of the target if neither reference nor selector has one. Default: that of the referring object. Ignored for a
	// cluster-scoped target (R172).
	Namespace string
	FieldPath string // names the field in error messages, such as spec.forProvider.networkId
}

// A Response has the value to store in the field, and the reference to store beside it (R165).
type Response[R any] struct {
	ResolvedValue     string // of the field; empty if there is none, and none is needed
	ResolvedReference *R     // the given reference, or the one that was selected
}

// A MultiRequest is to resolve a field that is a list (R170).
type MultiRequest[R, S any] struct {
	CurrentValues []string // of the field. If there are any they are kept as they are, unless a policy is Always.
	References    []R      // beside the field, resolved in their order
	// Selector beside the field, if any. It selects all matches, sorted by name: once, or, with policy Always, in every pass; then
	// the object is enqueued when the matches change.
	Selector  *S
	To        To // this and the following are as in Request
	Extract   ExtractValueFn
	Namespace string
	FieldPath string
}

// A MultiResponse has the values to store in a list, and the references to store beside it.
type MultiResponse[R any] struct {
	ResolvedValues     []string // of the field, without those of optional references without a target
	ResolvedReferences []R      // the given references, or those that were selected
}

// Requests and responses for references within a namespace, or between cluster-scoped objects, and for references that may name a
// namespace.
type (
	ResolutionRequest                 = Request[xpv1.Reference, xpv1.Selector]
	ResolutionResponse                = Response[xpv1.Reference]
	MultiResolutionRequest            = MultiRequest[xpv1.Reference, xpv1.Selector]
	MultiResolutionResponse           = MultiResponse[xpv1.Reference]
	NamespacedResolutionRequest       = Request[xpv1.NamespacedReference, xpv1.NamespacedSelector]
	NamespacedResolutionResponse      = Response[xpv1.NamespacedReference]
	MultiNamespacedResolutionRequest  = MultiRequest[xpv1.NamespacedReference, xpv1.NamespacedSelector]
	MultiNamespacedResolutionResponse = MultiResponse[xpv1.NamespacedReference]
)

// Validate returns an error if there is no value, for callers that need one even with policy Optional.
func (r Response[R]) Validate() error {
	return MultiResponse[R]{ResolvedValues: []string{r.ResolvedValue}}.Validate()
}

// Validate returns an error if there are no values, or one of them is empty.
func (r MultiResponse[R]) Validate() error {
	if len(r.ResolvedValues) == 0 || slices.Contains(r.ResolvedValues, "") {
		return errors.New("the field has no value: set it, or refer to an object with a value")
	}
	return nil
}

// A Resolver resolves the references of one object; R and S are the types of its references and selectors. It does not change the
// object.
type Resolver[R, S any] struct{ reader objectReader }

// An APIResolver resolves references within a namespace, or between cluster-scoped objects.
type APIResolver = Resolver[xpv1.Reference, xpv1.Selector]

// An APINamespacedResolver resolves references that may name a namespace.
type APINamespacedResolver = Resolver[xpv1.NamespacedReference, xpv1.NamespacedSelector]

// NewAPIResolver returns a resolver of references of the given object, which reads through the given reader.
func NewAPIResolver(c client.Reader, from resource.Managed) *APIResolver {
	return &APIResolver{objectReader{client: c, from: from}}
}

// NewAPINamespacedResolver returns a resolver of references of the given object, which reads through the given reader.
func NewAPINamespacedResolver(c client.Reader, from resource.Managed) *APINamespacedResolver {
	return &APINamespacedResolver{objectReader{client: c, from: from}}
}

// Resolve resolves a field. A value that is set is kept, and nothing is read, unless the policy of the reference or the selector is
// Always (R168). If there is no target the error is an *UnresolvedError; with resolution policy Optional there is no error, and
// value and reference are unchanged.
func (r *Resolver[R, S]) Resolve(ctx context.Context, req Request[R, S]) (Response[R], error) {
	all := MultiRequest[R, S]{
		Selector: req.Selector, To: req.To, Extract: req.Extract, Namespace: req.Namespace, FieldPath: req.FieldPath,
	}
	if req.CurrentValue != "" {
		all.CurrentValues = []string{req.CurrentValue}
	}
	if req.Reference != nil {
		all.References = []R{*req.Reference}
	}
	found, err := r.reader.resolve(ctx, queryOf(all, false))
	if found == nil || err != nil {
		return Response[R]{ResolvedValue: req.CurrentValue, ResolvedReference: req.Reference}, err
	}
	return Response[R]{ResolvedValue: found.ResolvedValues[0], ResolvedReference: new(narrow[R](found.ResolvedReferences[0]))}, nil
}

// ResolveMultiple resolves a field that is a list (R170). All targets must exist before it returns values, except those of optional
// references. The value of an optional target that appears later is added only with policy Always.
func (r *Resolver[R, S]) ResolveMultiple(ctx context.Context, req MultiRequest[R, S]) (MultiResponse[R], error) {
	found, err := r.reader.resolve(ctx, queryOf(req, true))
	if found == nil || err != nil {
		return MultiResponse[R]{ResolvedValues: req.CurrentValues, ResolvedReferences: req.References}, err
	}
	return MultiResponse[R]{ResolvedValues: found.ResolvedValues, ResolvedReferences: each(found.ResolvedReferences, narrow[R])}, nil
}

// queryOf returns a request with namespaced references, in which form all are resolved.
func queryOf[R, S any](req MultiRequest[R, S], many bool) query {
	return query{
		MultiNamespacedResolutionRequest{
			CurrentValues: req.CurrentValues, References: each(req.References, widen[R]), Selector: widenSelector(req.Selector),
			To: req.To, Extract: req.Extract, Namespace: req.Namespace, FieldPath: req.FieldPath,
		}, many,
	}
}

func widen[R any](r R) (wide xpv1.NamespacedReference) {
	switch r := any(r).(type) {
	case xpv1.Reference:
		wide.Name, wide.Policy = r.Name, r.Policy
	case xpv1.NamespacedReference:
		wide = r
	}
	return wide
}

func narrow[R any](wide xpv1.NamespacedReference) (r R) {
	switch r := any(&r).(type) {
	case *xpv1.Reference:
		r.Name, r.Policy = wide.Name, wide.Policy
	case *xpv1.NamespacedReference:
		*r = wide
	}
	return r
}

func widenSelector[S any](s *S) *xpv1.NamespacedSelector {
	wide, _ := any(s).(*xpv1.NamespacedSelector)
	if s, ok := any(s).(*xpv1.Selector); ok && s != nil {
		wide = &xpv1.NamespacedSelector{MatchLabels: s.MatchLabels, MatchControllerRef: s.MatchControllerRef, Policy: s.Policy}
	}
	return wide
}

// FromPtrValue returns the value of an optional field, empty if it is unset.
func FromPtrValue(v *string) string {
	if v == nil {
		return ""
	}
	return *v
}

// ToPtrValue returns the value for an optional field, nil if it is empty.
func ToPtrValue(v string) *string {
	if v == "" {
		return nil
	}
	return &v
}

// FromPtrValues returns the values of a list, empty where one is nil.
func FromPtrValues(v []*string) []string { return each(v, FromPtrValue) }

// ToPtrValues returns the values for a list, nil where one is empty.
func ToPtrValues(v []string) []*string { return each(v, ToPtrValue) }

// each keeps nil nil, so that an unset list stays unset.
func each[A, B any](all []A, convert func(A) B) []B {
	if all == nil {
		return nil
	}
	converted := make([]B, len(all))
	for i := range all {
		converted[i] = convert(all[i])
	}
	return converted
}
