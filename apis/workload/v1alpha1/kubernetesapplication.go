// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
)

// A KubernetesApplicationState is how far an application has come.
type KubernetesApplicationState string

// States of an application (9.1).
const (
	ApplicationPending            KubernetesApplicationState = "Pending"            // it has no target
	ApplicationScheduled          KubernetesApplicationState = "Scheduled"          // it has a target, and no object there yet
	ApplicationPartiallySubmitted KubernetesApplicationState = "PartiallySubmitted" // some objects are in the cluster as declared
	ApplicationSubmitted          KubernetesApplicationState = "Submitted"          // all are
	ApplicationFailed             KubernetesApplicationState = "Failed"             // something has to be corrected
)

// A KubernetesTargetReference names a KubernetesTarget of the same namespace.
type KubernetesTargetReference struct {
	// Name of the target.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// A SecretReference names a Secret of the same namespace.
type SecretReference struct {
	// Name of the Secret.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// A KubernetesApplicationResourceTemplateMetadata is the metadata of a KubernetesApplicationResource.
type KubernetesApplicationResourceTemplateMetadata struct {
	// Name of the KubernetesApplicationResource, in the namespace of the application.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	Name string `json:"name"`
	// Labels of the KubernetesApplicationResource.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
	// Annotations of the KubernetesApplicationResource.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
}

// A KubernetesApplicationResourceTemplate describes a KubernetesApplicationResource of an application.
type KubernetesApplicationResourceTemplate struct {
	// Metadata of the KubernetesApplicationResource.
	Metadata KubernetesApplicationResourceTemplateMetadata `json:"metadata"`
	// Spec of the KubernetesApplicationResource, which gets the target of the application.
	Spec KubernetesApplicationResourceTemplateSpec `json:"spec"`
}

// A KubernetesApplicationSpec is what an application consists of, and where it may run.
// +kubebuilder:validation:XValidation:rule="self.resourceTemplates.all(t, self.resourceTemplates.exists_one(o, o.metadata.name == t.metadata.name))",message="each template needs a metadata.name of its own",fieldPath=".resourceTemplates"
type KubernetesApplicationSpec struct {
	// ResourceSelector selects the KubernetesApplicationResources of this application. The labels of each template must match it.
	// Default: none is compared.
	// +optional
	ResourceSelector *metav1.LabelSelector `json:"resourceSelector,omitempty"`
	// TargetSelector selects the KubernetesTargets of this namespace on which the application may run. One that is ready is chosen and
	// stored in targetRef; another one only if that target is deleted. Default: all, unless targetRef is set.
	// +optional
	TargetSelector *metav1.LabelSelector `json:"targetSelector,omitempty"`
	// TargetReference is the target of the application. You may set it yourself, instead of targetSelector. If you change it, the
	// application moves: its objects are first applied in the new cluster, then deleted in the former one.
	// +optional
	TargetReference *KubernetesTargetReference `json:"targetRef,omitempty"`
	// ResourceTemplates describe the objects of the application. Namespaces and custom resource definitions are applied before the
	// objects that need them, and deleted after them.
	// +kubebuilder:validation:MaxItems=250
	// +listType=atomic
	ResourceTemplates []KubernetesApplicationResourceTemplate `json:"resourceTemplates"`
}

// A KubernetesApplicationStatus is the observed state of an application.
type KubernetesApplicationStatus struct {
	xpv1.ConditionedStatus `json:",inline"`
	// State is how far the application has come.
	// +optional
	State KubernetesApplicationState `json:"state,omitempty"`
	// DesiredResources is how many objects the application declares.
	// +optional
	DesiredResources int `json:"desiredResources,omitempty"`
	// SubmittedResources is how many of them are in the cluster as declared.
	// +optional
	SubmittedResources int `json:"submittedResources,omitempty"`
}

// A KubernetesApplication is a set of objects that belong together and run in the Kubernetes cluster of one KubernetesTarget. They are
// kept as declared: what is changed there is changed back, and what you remove here is deleted there. Deleting the application deletes
// its objects.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=kapp
// +kubebuilder:printcolumn:name="DESIRED",type="integer",JSONPath=".status.desiredResources"
// +kubebuilder:printcolumn:name="SUBMITTED",type="integer",JSONPath=".status.submittedResources"
// +bowline:workload
type KubernetesApplication struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what the application consists of, and where it may run.
	Spec KubernetesApplicationSpec `json:"spec"`

	// Status is the observed state.
	Status KubernetesApplicationStatus `json:"status,omitempty"`
}
