// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
)

// A KubernetesApplicationResourceState is how far an object of an application has come.
type KubernetesApplicationResourceState string

// States of an object of an application (9.1).
const (
	ResourcePending   KubernetesApplicationResourceState = "Pending"   // it has no target
	ResourceScheduled KubernetesApplicationResourceState = "Scheduled" // it has a target, and is not in the cluster as declared yet
	ResourceSubmitted KubernetesApplicationResourceState = "Submitted" // it is
	ResourceFailed    KubernetesApplicationResourceState = "Failed"    // something has to be corrected
)

// A KubernetesApplicationResourceTemplateSpec is an object, and the Secrets that it needs.
type KubernetesApplicationResourceTemplateSpec struct {
	// Template is the object as it is to be in the cluster. Fields that it does not have are left to others. A namespaced object
	// without a namespace gets that of the kubeconfig, else default.
	// +kubebuilder:validation:EmbeddedResource
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:XValidation:rule="has(self.metadata.name) && size(self.metadata.name) > 0",message="the object needs a metadata.name"
	Template runtime.RawExtension `json:"template"`
	// Secrets of this namespace that are copied to the namespace of the object, under their names, and kept up to date there. Whoever names
	// Secrets here must be allowed to get those of the namespace.
	// +kubebuilder:validation:MaxItems=20
	// +listType=map
	// +listMapKey=name
	// +optional
	Secrets []SecretReference `json:"secrets,omitempty"`
}

// A KubernetesApplicationResourceSpec is an object, and where it is to be.
type KubernetesApplicationResourceSpec struct {
	KubernetesApplicationResourceTemplateSpec `json:",inline"`
	// TargetReference is the KubernetesTarget of the cluster. Its application sets it.
	// +optional
	TargetReference *KubernetesTargetReference `json:"targetRef,omitempty"`
}

// A RemoteObject is an object in the cluster of a target that may have been created here.
type RemoteObject struct {
	// Target is the name of the KubernetesTarget.
	Target string `json:"target"`
	// APIVersion of the object.
	APIVersion string `json:"apiVersion"`
	// Kind of the object.
	Kind string `json:"kind"`
	// Namespace of the object, empty for cluster-scoped ones.
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// Name of the object.
	Name string `json:"name"`
	// UID of the object, once it was seen there.
	// +optional
	UID types.UID `json:"uid,omitempty"`
	// Copy is true for the copy of a Secret.
	// +optional
	Copy bool `json:"copy,omitempty"`
}

// A KubernetesApplicationResourceStatus is the observed state of an object of an application.
type KubernetesApplicationResourceStatus struct {
	xpv1.ConditionedStatus `json:",inline"`
	// State is how far the object has come.
	// +optional
	State KubernetesApplicationResourceState `json:"state,omitempty"`
	// AppliedGeneration is the generation of this resource that was last applied in the cluster.
	// +optional
	AppliedGeneration int64 `json:"appliedGeneration,omitempty"`
	// CurrentGeneration is the generation of this resource whose object was last found to work in the cluster.
	// +optional
	CurrentGeneration int64 `json:"currentGeneration,omitempty"`
	// Remote is the status of the object in the cluster.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	Remote *runtime.RawExtension `json:"remote,omitempty"`
	// Inventory lists the objects that may be in clusters because of this resource. Each is in the list before it is created, and until
	// it is deleted.
	// +listType=atomic
	// +optional
	Inventory []RemoteObject `json:"inventory,omitempty"`
}

// A KubernetesApplicationResource is one object in the Kubernetes cluster of a KubernetesTarget, usually of a KubernetesApplication, which
// then writes it. Deleting it deletes the object.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=kar
// +kubebuilder:printcolumn:name="KIND",type="string",JSONPath=".spec.template.kind"
// +kubebuilder:printcolumn:name="NAMESPACE",type="string",JSONPath=".spec.template.metadata.namespace",priority=1
// +kubebuilder:printcolumn:name="OBJECT",type="string",JSONPath=".spec.template.metadata.name"
// +bowline:workload
type KubernetesApplicationResource struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the object, and where it is to be.
	Spec KubernetesApplicationResourceSpec `json:"spec"`

	// Status is the observed state.
	Status KubernetesApplicationResourceStatus `json:"status,omitempty"`
}
