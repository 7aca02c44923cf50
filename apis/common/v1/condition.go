// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A ConditionType names one aspect of an object's state. An object has at most one condition of each type.
type ConditionType string

// Condition types that the runtime itself sets (section 4.12 of the contract). Providers may add their own (R193).
const (
	// TypeReady says whether the external resource can be used.
	TypeReady ConditionType = "Ready"
	// TypeSynced says whether the last pass over the object succeeded.
	TypeSynced ConditionType = "Synced"
)

// A ConditionReason is a CamelCase identifier that says why a condition has its status (N17).
type ConditionReason string

// Reasons of condition Ready (R180 to R183).
const (
	ReasonAvailable   ConditionReason = "Available"
	ReasonUnavailable ConditionReason = "Unavailable"
	ReasonCreating    ConditionReason = "Creating"
	ReasonDeleting    ConditionReason = "Deleting"
)

// Reasons of condition Synced (R184 to R186).
const (
	ReasonReconcileSuccess ConditionReason = "ReconcileSuccess"
	ReasonReconcileError   ConditionReason = "ReconcileError"
	ReasonReconcilePaused  ConditionReason = "ReconcilePaused"
)

// A Condition is one observed aspect of an object's state.
type Condition struct {
	// Type of this condition. At most one condition of each type applies to an object.
	Type ConditionType `json:"type"`

	// Status of this condition: True, False or Unknown.
	// +kubebuilder:validation:Enum=True;False;Unknown
	Status corev1.ConditionStatus `json:"status"`

	// LastTransitionTime is when status, reason or message last changed.
	LastTransitionTime metav1.Time `json:"lastTransitionTime"`

	// Reason is a CamelCase identifier that says why the condition has its status.
	Reason ConditionReason `json:"reason"`

	// Message says the same for a person, and what to do about it.
	// +optional
	Message string `json:"message,omitempty"`

	// ObservedGeneration is the metadata.generation that the condition was set for.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
}

// Equal is true where two conditions say the same, whenever they came to say it.
func (c Condition) Equal(other Condition) bool {
	c.LastTransitionTime = other.LastTransitionTime
	return c == other
}

// WithMessage returns a copy of the condition with the given message.
func (c Condition) WithMessage(msg string) Condition {
	c.Message = msg
	return c
}

// WithObservedGeneration returns a copy of the condition for the given metadata.generation.
func (c Condition) WithObservedGeneration(generation int64) Condition {
	c.ObservedGeneration = generation
	return c
}

// A ConditionedStatus is the part of a status that holds conditions.
type ConditionedStatus struct {
	// Conditions of the object.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []Condition `json:"conditions,omitempty"`
}

// GetCondition returns the condition of the given type, or one of status Unknown if there is none.
func (s *ConditionedStatus) GetCondition(ct ConditionType) Condition {
	for _, c := range s.Conditions {
		if c.Type == ct {
			return c
		}
	}
	return Condition{Type: ct, Status: corev1.ConditionUnknown}
}

// SetConditions replaces the conditions of the given types and leaves all others alone (R194). Setting a condition
// that already says the same is no change; its transition time moves only with status, reason or message (R195).
func (s *ConditionedStatus) SetConditions(conditions ...Condition) {
	for _, c := range conditions {
		i := slices.IndexFunc(s.Conditions, func(have Condition) bool { return have.Type == c.Type })
		if i < 0 {
			s.Conditions = append(s.Conditions, c)
			continue
		}
		have := s.Conditions[i]
		if c.WithObservedGeneration(have.ObservedGeneration).Equal(have) {
			c.LastTransitionTime = have.LastTransitionTime
		}
		s.Conditions[i] = c
	}
}

// Available says that the external resource exists and can be used (R180).
func Available() Condition {
	return newCondition(TypeReady, corev1.ConditionTrue, ReasonAvailable)
}

// Unavailable says that the external resource should be usable but is not (R183).
func Unavailable() Condition {
	return newCondition(TypeReady, corev1.ConditionFalse, ReasonUnavailable)
}

// Creating says that the external resource is being created (R181).
func Creating() Condition {
	return newCondition(TypeReady, corev1.ConditionFalse, ReasonCreating)
}

// Deleting says that the external resource is being deleted (R182).
func Deleting() Condition {
	return newCondition(TypeReady, corev1.ConditionFalse, ReasonDeleting)
}

// ReconcileSuccess says that the last pass over the object succeeded (R184).
func ReconcileSuccess() Condition {
	return newCondition(TypeSynced, corev1.ConditionTrue, ReasonReconcileSuccess)
}

// ReconcileError says that the last pass over the object failed, and how (R185).
func ReconcileError(err error) Condition {
	return newCondition(TypeSynced, corev1.ConditionFalse, ReasonReconcileError).WithMessage(err.Error())
}

// ReconcilePaused says that nobody looks after the object because it is paused (R186).
func ReconcilePaused() Condition {
	return newCondition(TypeSynced, corev1.ConditionFalse, ReasonReconcilePaused)
}

func newCondition(t ConditionType, s corev1.ConditionStatus, r ConditionReason) Condition {
	return Condition{Type: t, Status: s, LastTransitionTime: metav1.Now(), Reason: r}
}
