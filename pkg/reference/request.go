// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"errors"

	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// To is the kind of the targets. Both fields are examples of their types.
type To struct {
	// Managed is an object of the kind.
	Managed resource.Managed
	// List is a list of the kind. Required for selectors only.
	List client.ObjectList
}

// A Request is to resolve one field; R and S are the types of its reference and its selector.
type Request[R, S any] struct {
	// CurrentValue of the field, empty if there is none.
	CurrentValue string
	// Reference beside the field, if any.
	Reference *R
	// Selector beside the field, if any.
	Selector *S
	// To is the kind of the target.
	To To
	// Extract takes the value from the target. Default: ExternalName.
	Extract ExtractValueFn
	// Namespace of the target if neither reference nor selector has one. Default: that of the referring object. Ignored for a
	// cluster-scoped target (R172).
	Namespace string
	// FieldPath names the field in error messages, such as spec.forProvider.networkId.
	FieldPath string
}

// A Response has the value to store in the field, and the reference to store beside it (R165).
type Response[R any] struct {
	// ResolvedValue of the field; empty if there is none, and none is needed.
	ResolvedValue string
	// ResolvedReference is the given reference, or the one that was selected.
	ResolvedReference *R
}

// A MultiRequest is to resolve a field that is a list (R170).
type MultiRequest[R, S any] struct {
	// CurrentValues of the field. If there are any they are kept as they are, unless a policy is Always.
	CurrentValues []string
	// References beside the field, resolved in their order.
	References []R
	// Selector beside the field, if any. It selects all matches, sorted by name: once, or, with policy Always, in every pass; then
	// the object is enqueued when the matches change.
	Selector *S
	// To is the kind of the target.
	To To
	// Extract takes the value from each target. Default: ExternalName.
	Extract ExtractValueFn
	// Namespace is as in Request.
	Namespace string
	// FieldPath is as in Request.
	FieldPath string
}

// A MultiResponse has the values to store in a list, and the references to store beside it.
type MultiResponse[R any] struct {
	// ResolvedValues of the field, without those of optional references without a target.
	ResolvedValues []string
	// ResolvedReferences are the given references, or those that were selected.
	ResolvedReferences []R
}

// Requests and responses for references within a namespace, or between cluster-scoped objects.
type (
	// A ResolutionRequest is to resolve one field.
	ResolutionRequest = Request[xpv1.Reference, xpv1.Selector]
	// A ResolutionResponse answers a ResolutionRequest.
	ResolutionResponse = Response[xpv1.Reference]
	// A MultiResolutionRequest is to resolve a field that is a list.
	MultiResolutionRequest = MultiRequest[xpv1.Reference, xpv1.Selector]
	// A MultiResolutionResponse answers a MultiResolutionRequest.
	MultiResolutionResponse = MultiResponse[xpv1.Reference]
)

// Requests and responses for references that may name a namespace.
type (
	// A NamespacedResolutionRequest is to resolve one field.
	NamespacedResolutionRequest = Request[xpv1.NamespacedReference, xpv1.NamespacedSelector]
	// A NamespacedResolutionResponse answers a NamespacedResolutionRequest.
	NamespacedResolutionResponse = Response[xpv1.NamespacedReference]
	// A MultiNamespacedResolutionRequest is to resolve a field that is a list.
	MultiNamespacedResolutionRequest = MultiRequest[xpv1.NamespacedReference, xpv1.NamespacedSelector]
	// A MultiNamespacedResolutionResponse answers a MultiNamespacedResolutionRequest.
	MultiNamespacedResolutionResponse = MultiResponse[xpv1.NamespacedReference]
)

// Validate returns an error if there is no value, for callers that need one even with policy Optional.
func (r Response[R]) Validate() error {
	if r.ResolvedValue == "" {
		return errNoValue
	}
	return nil
}

// Validate returns an error if there are no values, or one of them is empty.
func (r MultiResponse[R]) Validate() error {
	if len(r.ResolvedValues) == 0 {
		return errNoValue
	}
	for _, value := range r.ResolvedValues {
		if value == "" {
			return errNoValue
		}
	}
	return nil
}

var errNoValue = errors.New("the field has no value: set it, or refer to an object with a value")
