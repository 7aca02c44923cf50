// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1

import "slices"

// A ManagementAction is something that the reconciler may do for a managed resource.
// +kubebuilder:validation:Enum=*;Create;Delete;LateInitialize;Observe;Update
type ManagementAction string

// Management actions.
const (
	ManagementActionAll    ManagementAction = "*"      // stands for all actions (R117)
	ManagementActionCreate ManagementAction = "Create" // creates the external resource where it is missing (R110)
	ManagementActionDelete ManagementAction = "Delete" // deletes the external resource when the object is deleted (R111)
	// ManagementActionLateInitialize fills unset settings of the object from the external resource (R112).
	ManagementActionLateInitialize ManagementAction = "LateInitialize"
	ManagementActionObserve        ManagementAction = "Observe" // observes the external resource; all others need it (R113)
	ManagementActionUpdate         ManagementAction = "Update"  // changes the external resource to match the object (R114)
)

// ManagementPolicies list what the reconciler may do. Absent means everything, empty means nothing: the object is
// paused (R104, R118).
// +kubebuilder:validation:MaxItems=16
type ManagementPolicies []ManagementAction

// Allow is true if the policies let the reconciler do the action. Order and repetitions do not matter (R117).
func (p ManagementPolicies) Allow(a ManagementAction) bool {
	return p == nil || slices.Contains(p, a) || slices.Contains(p, ManagementActionAll)
}

// AllowAny is true if the policies let the reconciler do at least one of the actions.
func (p ManagementPolicies) AllowAny(actions ...ManagementAction) bool {
	return slices.ContainsFunc(actions, p.Allow)
}

// Empty is true for policies that are present and empty, which pauses the object (R104).
func (p ManagementPolicies) Empty() bool { return p != nil && len(p) == 0 }

// A DeletionPolicy is what happens to the external resource when its managed resource is deleted.
// +kubebuilder:validation:Enum=Delete;Orphan
type DeletionPolicy string

// Deletion policies. An unset one means DeletionDelete.
const (
	DeletionDelete DeletionPolicy = "Delete" // deletes the external resource too
	DeletionOrphan DeletionPolicy = "Orphan" // leaves the external resource untouched
)

// A RecreatePolicy is what happens if an external resource that was created or adopted is gone (N38).
// +kubebuilder:validation:Enum=OnRequest;Always
type RecreatePolicy string

// Recreate policies. An unset one means that of the kind: RecreateOnRequest where external resources hold data.
const (
	RecreateOnRequest RecreatePolicy = "OnRequest" // it is created again only once a person permits it
	RecreateAlways    RecreatePolicy = "Always"    // it is created again
)

// An AdoptionPolicy decides which external resources that exist already the users of a provider configuration may adopt, provided that
// an object asks for it (N24, N48).
// +kubebuilder:validation:Enum=None;Owned;Any
type AdoptionPolicy string

// Adoption policies. An unset one means AdoptAny.
const (
	AdoptNone  AdoptionPolicy = "None"  // none
	AdoptOwned AdoptionPolicy = "Owned" // those with the ownership label of a managed resource
	AdoptAny   AdoptionPolicy = "Any"   // also those without an ownership label
)

// A ReclaimPolicy is what happens to the external resource when its managed resource is deleted, and to the managed
// resource when its claim is (N4).
// +kubebuilder:validation:Enum=Retain;Delete
type ReclaimPolicy string

// Reclaim policies.
const (
	ReclaimRetain ReclaimPolicy = "Retain" // keeps it
	ReclaimDelete ReclaimPolicy = "Delete" // deletes it
)

// A BindingPhase is how far a managed resource and a claim are bound to each other (K40).
// +kubebuilder:validation:Enum=Unbindable;Unbound;Bound;Released
type BindingPhase string

// Binding phases. An unset one means that it is not known yet.
const (
	BindingPhaseUnbindable BindingPhase = "Unbindable" // objects cannot be bound yet
	BindingPhaseUnbound    BindingPhase = "Unbound"    // objects can be bound
	BindingPhaseBound      BindingPhase = "Bound"      // objects are bound to each other
	BindingPhaseReleased   BindingPhase = "Released"   // managed resources were bound to a claim that was deleted
)
