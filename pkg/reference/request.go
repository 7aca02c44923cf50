// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"errors"

	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// To says which kind is referred to. Both are examples of their type and stay as they are.
type To struct {
	// Managed is an object of the kind.
	Managed resource.Managed
	// List is a list of the kind. Only selectors need it.
	List client.ObjectList
}

// A Request asks what one field refers to; R and S are the types of its reference and its selector.
type Request[R, S any] struct {
	// CurrentValue of the field, empty if there is none.
	CurrentValue string
	// Reference beside the field, if any.
	Reference *R
	// Selector beside the field, if any.
	Selector *S
	// To says which kind is referred to.
	To To
	// Extract takes the value from the target. Default: ExternalName.
	Extract ExtractValueFn
	// Namespace of the target where neither reference nor selector names one. Default: that of the referring object.
	// The namespace of a cluster-scoped target is ignored (R172).
	Namespace string
	// FieldPath names the field in error messages, such as spec.forProvider.networkId.
	FieldPath string
}

// A Response says what the field refers to. It holds what to store in the field and in the reference beside it (R165).
type Response[R any] struct {
	// ResolvedValue of the field; empty if there is none, and none is needed.
	ResolvedValue string
	// ResolvedReference is the reference that was given, or the choice of the selector.
	ResolvedReference *R
}

// A MultiRequest asks what a field refers to that is a list (R170).
type MultiRequest[R, S any] struct {
	// CurrentValues of the field. If there are any they are kept as they are, unless a policy is Always.
	CurrentValues []string
	// References beside the field, resolved in their order.
	References []R
	// Selector beside the field, if any. It chooses every match, sorted by name: once, and what matches later is not
	// added, unless its policy is Always. Then it chooses anew in every pass, and whoever comes to match or ceases to
	// wakes the object.
	Selector *S
	// To says which kind is referred to.
	To To
	// Extract takes the value from each target. Default: ExternalName.
	Extract ExtractValueFn
	// Namespace is as in Request.
	Namespace string
	// FieldPath is as in Request.
	FieldPath string
}

// A MultiResponse says what a field refers to that is a list. It holds what to store in the field and in the references
// beside it.
type MultiResponse[R any] struct {
	// ResolvedValues of the field, without those that cannot be had and whose reference is optional.
	ResolvedValues []string
	// ResolvedReferences are the references that were given, or the choices of the selector.
	ResolvedReferences []R
}

// Requests and responses for references within a namespace, or between cluster-scoped objects.
type (
	// A ResolutionRequest asks what one field refers to.
	ResolutionRequest = Request[xpv1.Reference, xpv1.Selector]
	// A ResolutionResponse answers a ResolutionRequest.
	ResolutionResponse = Response[xpv1.Reference]
	// A MultiResolutionRequest asks what a field refers to that is a list.
	MultiResolutionRequest = MultiRequest[xpv1.Reference, xpv1.Selector]
	// A MultiResolutionResponse answers a MultiResolutionRequest.
	MultiResolutionResponse = MultiResponse[xpv1.Reference]
)

// Requests and responses for references that may name a namespace.
type (
	// A NamespacedResolutionRequest asks what one field refers to.
	NamespacedResolutionRequest = Request[xpv1.NamespacedReference, xpv1.NamespacedSelector]
	// A NamespacedResolutionResponse answers a NamespacedResolutionRequest.
	NamespacedResolutionResponse = Response[xpv1.NamespacedReference]
	// A MultiNamespacedResolutionRequest asks what a field refers to that is a list.
	MultiNamespacedResolutionRequest = MultiRequest[xpv1.NamespacedReference, xpv1.NamespacedSelector]
	// A MultiNamespacedResolutionResponse answers a MultiNamespacedResolutionRequest.
	MultiNamespacedResolutionResponse = MultiResponse[xpv1.NamespacedReference]
)

// Validate returns an error if there is no value, for callers that cannot do without even where the policy is Optional.
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

var errNoValue = errors.New("the field has no value: set it, or refer to an object that has one")
