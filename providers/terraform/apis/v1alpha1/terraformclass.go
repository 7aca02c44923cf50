// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
)

// A TerraformClassSpecTemplate is the template of the managed resource that is created for a claim.
// +kubebuilder:validation:XValidation:rule="self.claimKind == oldSelf.claimKind && self.apiVersion == oldSelf.apiVersion && self.kind == oldSelf.kind",message="claimKind, apiVersion and kind cannot change: create another class"
type TerraformClassSpecTemplate struct {
	xpv1.ClassSpecTemplate `json:",inline"`

	// ClaimKind is the kind of the claims that may use the class.
	// +kubebuilder:validation:Enum=PostgreSQLInstance;MySQLInstance;FancySQLInstance;RedisCluster;Bucket;KubernetesCluster
	ClaimKind string `json:"claimKind"`
	// APIVersion of the managed resources, such as postgresql.tf.bowline.dev/v1alpha1: that of cluster-scoped kinds of a TerraformProvider.
	// +kubebuilder:validation:Pattern=`^[a-z][a-z0-9-]{0,30}[.]tf[.]bowline[.]dev/v1alpha1$`
	// +kubebuilder:validation:MaxLength=63
	APIVersion string `json:"apiVersion"`
	// Kind of the managed resources, such as Database.
	// +kubebuilder:validation:Pattern=`^[A-Z][A-Za-z0-9]*$`
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`
	// ForProvider are the desired settings of each managed resource. In texts $(claim.namespace), $(claim.name) and $(claim.uid) are those of
	// the claim, $(claim.spec.FIELD) is a setting of it such as engineVersion, and $$ is a dollar sign. A field that is only a setting which
	// the claim leaves out is left out.
	// +kubebuilder:pruning:PreserveUnknownFields
	ForProvider runtime.RawExtension `json:"forProvider"`
}

// A TerraformClass is a template: each claim that uses it gets a managed resource of its own, of a resource type of a Terraform provider, with
// these settings. Changes to the class only apply to claims that are bound later.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=tfc
// +kubebuilder:printcolumn:name="KIND",type="string",JSONPath=".specTemplate.kind"
// +bowline:claims=PostgreSQLInstance.database.crossplane.io,MySQLInstance.database.crossplane.io,FancySQLInstance.database.crossplane.io,RedisCluster.cache.crossplane.io,Bucket.storage.crossplane.io,KubernetesCluster.compute.crossplane.io
type TerraformClass struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// SpecTemplate is the template of the spec of each managed resource.
	SpecTemplate TerraformClassSpecTemplate `json:"specTemplate"`

	// Status shows whether claims can get anything from the class.
	// +optional
	Status xpv1.ClassStatus `json:"status,omitzero"`
}

// GetManagedKind satisfies resource.KindedClass.
func (c *TerraformClass) GetManagedKind() schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(c.SpecTemplate.APIVersion, c.SpecTemplate.Kind)
}

// GetClaimKind satisfies resource.KindedClass.
func (c *TerraformClass) GetClaimKind() string { return c.SpecTemplate.ClaimKind }
