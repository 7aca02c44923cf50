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
const Group = "network.fcp.m.crossplane.io"

// GroupVersion of the kinds in this package.
var GroupVersion = schema.GroupVersion{Group: Group, Version: "v1alpha3"}

// Kind metadata of Network (A70).
var (
	NetworkKind             = reflect.TypeOf(Network{}).Name()
	NetworkKindAPIVersion   = NetworkKind + "." + GroupVersion.String()
	NetworkGroupVersionKind = GroupVersion.WithKind(NetworkKind)
)

// Kind metadata of Subnet (A70).
var (
	SubnetKind             = reflect.TypeOf(Subnet{}).Name()
	SubnetKindAPIVersion   = SubnetKind + "." + GroupVersion.String()
	SubnetGroupVersionKind = GroupVersion.WithKind(SubnetKind)
)

// AddToScheme adds the kinds of this package to a scheme (A72).
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion,
		&Network{}, &NetworkList{},
		&Subnet{}, &SubnetList{},
	)
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}
