// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha3

import (
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Group of the kinds in this package.
const Group = "fcp.m.crossplane.io"

// GroupVersion of the kinds in this package.
var GroupVersion = schema.GroupVersion{Group: Group, Version: "v1alpha3"}

// Kind metadata of ClusterProviderConfig (A70).
var (
	ClusterProviderConfigKind             = reflect.TypeOf(ClusterProviderConfig{}).Name()
	ClusterProviderConfigKindAPIVersion   = ClusterProviderConfigKind + "." + GroupVersion.String()
	ClusterProviderConfigGroupVersionKind = GroupVersion.WithKind(ClusterProviderConfigKind)
)

// Kind metadata of ProviderConfig (A70).
var (
	ProviderConfigKind             = reflect.TypeOf(ProviderConfig{}).Name()
	ProviderConfigKindAPIVersion   = ProviderConfigKind + "." + GroupVersion.String()
	ProviderConfigGroupVersionKind = GroupVersion.WithKind(ProviderConfigKind)
)

// AddToScheme adds the kinds of this package to a scheme (A72).
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion,
		&ClusterProviderConfig{}, &ClusterProviderConfigList{},
		&ProviderConfig{}, &ProviderConfigList{},
	)
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}
