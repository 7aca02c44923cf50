// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A ConditionType names one aspect of an object's state. An object has at most one condition of each type.
type ConditionType string

// Condition types that the runtime itself sets. Providers may add their own (R193).
const (
	TypeReady  ConditionType = "Ready"  // whether the external resource can be used
	TypeSynced ConditionType = "Synced" // whether the last pass over the object succeeded
	// TypeInSync is whether the external resource is as declared after the last pass did what it may (P81).
	TypeInSync ConditionType = "InSync"
	// TypeUnknown is False when something unexpected happened. The reconciler itself never sets it (R187).
	TypeUnknown        ConditionType = "Unknown"
	TypeAsyncOperation ConditionType = "AsyncOperation" // whether an operation runs in the background (R188, R189)
	// TypeLastAsyncOperation is whether the last operation in the background succeeded (R190 to R192).
	TypeLastAsyncOperation ConditionType = "LastAsyncOperation"
	// TypeInUse is True while provider configurations that have users use the connection Secret of a managed resource, which is then not
	// deleted (N39).
	TypeInUse ConditionType = "InUse"
	// TypeDeletionsPaused is True on a ProviderConfig while a mass deletion of external resources is paused. Its transition time is
	// when the pause began (N39).
	TypeDeletionsPaused ConditionType = "DeletionsPaused"
	// TypeStalled is True while reconciliation cannot succeed before something changes: the spec, another object or the
	// external system. Absent or False otherwise, as in the kstatus convention. See CurrentFailure.
	TypeStalled ConditionType = "Stalled"
	// TypeReconciling is True while the last pass failed or waits for another object, and is retried. Absent or False
	// otherwise, as in the kstatus convention. See CurrentFailure.
	TypeReconciling ConditionType = "Reconciling"
)

// A ConditionReason is a CamelCase code for why a condition has its status (N17).
type ConditionReason string

// Reasons of condition Ready (R180 to R183).
const (
	ReasonAvailable   ConditionReason = "Available"
	ReasonUnavailable ConditionReason = "Unavailable"
	ReasonCreating    ConditionReason = "Creating"
	ReasonDeleting    ConditionReason = "Deleting"
	// ReasonCannotObserve is of status Unknown: the external resource was usable when it was last observed (N44).
	ReasonCannotObserve ConditionReason = "CannotObserve"
)

// Reasons of condition Synced (R184 to R186).
const (
	ReasonReconcileSuccess ConditionReason = "ReconcileSuccess"
	ReasonReconcileError   ConditionReason = "ReconcileError"
	ReasonReconcilePaused  ConditionReason = "ReconcilePaused"
)

// Reasons of the other conditions (R187 to R192, P81).
const (
	ReasonUnknown        ConditionReason = "Unknown"
	ReasonFinished       ConditionReason = "Finished"
	ReasonOngoing        ConditionReason = "Ongoing"
	ReasonSuccess        ConditionReason = "Success"
	ReasonApplyFailure   ConditionReason = "ApplyFailure"
	ReasonDestroyFailure ConditionReason = "DestroyFailure"
	ReasonAsDeclared     ConditionReason = "AsDeclared"
	ReasonDrifted        ConditionReason = "Drifted"
	ReasonResolved       ConditionReason = "Resolved"
	ReasonInUse          ConditionReason = "InUse"
	ReasonNotInUse       ConditionReason = "NotInUse"
	ReasonResourceInUse  ConditionReason = "ResourceInUse"
	ReasonProtected      ConditionReason = "ResourceProtected"
	ReasonMassDeletion   ConditionReason = "MassDeletion"
	ReasonResumed        ConditionReason = "Resumed"
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
	// Reason is a CamelCase code for why the condition has its status.
	Reason ConditionReason `json:"reason"`
	// Message is the reason in words, and what to do about it.
	// +optional
	Message string `json:"message,omitempty"`
	// ObservedGeneration is the metadata.generation that the condition was set for.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
}

// Equal is true for conditions that differ in their transition time at most. The observed generation counts where both have one:
// it does not in GetCondition(TypeReady).Equal(Available()).
func (c Condition) Equal(other Condition) bool {
	c.LastTransitionTime = other.LastTransitionTime
	if c.ObservedGeneration == 0 || other.ObservedGeneration == 0 {
		c.ObservedGeneration = other.ObservedGeneration
	}
	return c == other
}

// maxMessage is the longest message that the conditions of Kubernetes may have, in bytes. A status with a much longer one cannot be stored.
const maxMessage = 32768

// WithMessage returns a copy of the condition with the given message, of which it keeps the first 32768 bytes.
func (c Condition) WithMessage(msg string) Condition {
	c.Message = msg
	if len(msg) > maxMessage {
		const more = " ..."
		c.Message = strings.ToValidUTF8(msg[:maxMessage-len(more)], "") + more
	}
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

// NewConditionedStatus returns a status with the given conditions.
func NewConditionedStatus(c ...Condition) *ConditionedStatus {
	s := &ConditionedStatus{}
	s.SetConditions(c...)
	return s
}

// Equal is true for statuses with equal conditions, in any order.
func (s *ConditionedStatus) Equal(other *ConditionedStatus) bool {
	if s == nil || other == nil {
		return s == other
	}
	return len(s.Conditions) == len(other.Conditions) && !slices.ContainsFunc(s.Conditions, func(c Condition) bool {
		return !c.Equal(other.GetCondition(c.Type))
	})
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
// that has the same content already is no change; its transition time moves only with status, reason or message (R195).
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

// Available reports that the external resource exists and can be used (R180).
func Available() Condition { return newCondition(TypeReady, corev1.ConditionTrue, ReasonAvailable) }

// Unavailable reports that the external resource should be usable but is not (R183).
func Unavailable() Condition {
	return newCondition(TypeReady, corev1.ConditionFalse, ReasonUnavailable)
}

// CannotObserve reports that it is not known whether the external resource can still be used, and why (N44).
func CannotObserve(cause ConditionReason) Condition {
	return newCondition(TypeReady, corev1.ConditionUnknown, ReasonCannotObserve).
		WithMessage("The external resource cannot be observed (" + string(cause) + "): see condition Synced.")
}

// Creating reports that the external resource is being created (R181).
func Creating() Condition { return newCondition(TypeReady, corev1.ConditionFalse, ReasonCreating) }

// ResourceLost reports that the external resource is gone, with its data (N38).
func ResourceLost() Condition {
	return newCondition(TypeReady, corev1.ConditionFalse, ReasonResourceLost)
}

// Deleting reports that the external resource is being deleted (R182).
func Deleting() Condition { return newCondition(TypeReady, corev1.ConditionFalse, ReasonDeleting) }

// ReconcileSuccess reports that the last pass over the object succeeded (R184).
func ReconcileSuccess() Condition {
	return newCondition(TypeSynced, corev1.ConditionTrue, ReasonReconcileSuccess)
}

// ReconcileError reports that the last pass over the object failed, and why (R185).
func ReconcileError(err error) Condition {
	return newCondition(TypeSynced, corev1.ConditionFalse, ReasonReconcileError).WithMessage(err.Error())
}

// ReconcilePaused reports that the object is not reconciled because it is paused (R186).
func ReconcilePaused() Condition {
	return newCondition(TypeSynced, corev1.ConditionFalse, ReasonReconcilePaused)
}

// InSync reports that the external resource is as declared (P81).
func InSync() Condition { return newCondition(TypeInSync, corev1.ConditionTrue, ReasonAsDeclared) }

// Drifted reports that the external resource is not as declared, and that the last pass could or may not change it; the
// message names the fields (P81, N8).
func Drifted(message string) Condition {
	return newCondition(TypeInSync, corev1.ConditionFalse, ReasonDrifted).WithMessage(message)
}

// InSyncUnknown reports that the last pass failed, so that it is not known whether the external resource is as declared.
func InSyncUnknown() Condition {
	return newCondition(TypeInSync, corev1.ConditionUnknown, ReasonReconcileError).WithMessage("The last pass failed: see condition Synced.")
}

// InUse reports what uses a managed resource, or that nothing does: without users (N39).
func InUse(users ...string) Condition {
	if len(users) == 0 {
		return newCondition(TypeInUse, corev1.ConditionFalse, ReasonNotInUse)
	}
	return newCondition(TypeInUse, corev1.ConditionTrue, ReasonInUse).
		WithMessage("Its connection Secret is used by " + strings.Join(users, ", ") + ".")
}

// DeletionsPaused reports that deletions of external resources are paused, and why (N39).
func DeletionsPaused(message string) Condition {
	return newCondition(TypeDeletionsPaused, corev1.ConditionTrue, ReasonMassDeletion).WithMessage(message)
}

// DeletionsResumed reports that deletions of external resources are not paused any more (N39).
func DeletionsResumed() Condition {
	return newCondition(TypeDeletionsPaused, corev1.ConditionFalse, ReasonResumed)
}

// Unknown reports something that a provider did not expect (R187).
func Unknown(err error) Condition {
	return newCondition(TypeUnknown, corev1.ConditionFalse, ReasonUnknown).WithMessage(err.Error())
}

// AsyncOperationOngoing reports that an operation runs in the background (R189).
func AsyncOperationOngoing() Condition {
	return newCondition(TypeAsyncOperation, corev1.ConditionTrue, ReasonOngoing)
}

// AsyncOperationFinished reports that the operation in the background ended, whether it succeeded or failed (R188).
func AsyncOperationFinished() Condition {
	return newCondition(TypeAsyncOperation, corev1.ConditionTrue, ReasonFinished)
}

// LastAsyncOperationSuccess reports that the last operation in the background succeeded (R190).
func LastAsyncOperationSuccess() Condition {
	return newCondition(TypeLastAsyncOperation, corev1.ConditionTrue, ReasonSuccess)
}

// LastAsyncOperationApplyFailure reports that creating or updating in the background failed, and why (R191).
func LastAsyncOperationApplyFailure(err error) Condition {
	return newCondition(TypeLastAsyncOperation, corev1.ConditionFalse, ReasonApplyFailure).WithMessage(err.Error())
}

// LastAsyncOperationDestroyFailure reports that deleting in the background failed, and why (R192).
func LastAsyncOperationDestroyFailure(err error) Condition {
	return newCondition(TypeLastAsyncOperation, corev1.ConditionFalse, ReasonDestroyFailure).WithMessage(err.Error())
}

// Stalled reports that reconciliation cannot succeed before something changes. For the reason see CurrentFailure; the message is
// what an application team may read, empty if the failure is for the platform team only.
func Stalled(reason ConditionReason, message string) Condition {
	return newCondition(TypeStalled, corev1.ConditionTrue, reason).WithMessage(message)
}

// Reconciling reports that the last pass failed or waits for another object, and is retried. For reason and message see Stalled.
func Reconciling(reason ConditionReason, message string) Condition {
	return newCondition(TypeReconciling, corev1.ConditionTrue, reason).WithMessage(message)
}

// Resolved reports that a condition of type Stalled or Reconciling no longer holds.
func Resolved(t ConditionType) Condition {
	return newCondition(t, corev1.ConditionFalse, ReasonResolved)
}

// A CurrentFailure is why an object is not reconciled at present.
type CurrentFailure struct {
	// Reason is one of package failure, or that of condition Ready of a claim or target; empty if there is no failure.
	Reason ConditionReason
	// Message is what an application team may read, empty if the failure is for the platform team only.
	Message string
	// Stalled is true if something has to change, false if reconciliation is retried.
	Stalled bool
}

// FailureOf returns the current failure of an object from its conditions Stalled and Reconciling, the zero value if
// there is none.
func FailureOf(o interface {
	GetCondition(t ConditionType) Condition
}) CurrentFailure {
	for _, t := range []ConditionType{TypeStalled, TypeReconciling} {
		if c := o.GetCondition(t); c.Status == corev1.ConditionTrue {
			return CurrentFailure{Reason: c.Reason, Message: c.Message, Stalled: t == TypeStalled}
		}
	}
	return CurrentFailure{}
}

func newCondition(t ConditionType, s corev1.ConditionStatus, r ConditionReason) Condition {
	return Condition{Type: t, Status: s, LastTransitionTime: metav1.Now(), Reason: r}
}
