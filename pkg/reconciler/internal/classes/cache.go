// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package classes

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bowline-dev/bowline/pkg/meta"
)

// CacheDefinitions has a cache hold of custom resource definitions only those of classes, and of these only which claims they
// are for.
func CacheDefinitions(o *cache.Options) {
	ofClasses, err := labels.NewRequirement(meta.LabelKeyClaimKind, selection.Exists, nil)
	if err != nil {
		panic(err) // the label is no label
	}
	if o.ByObject == nil {
		o.ByObject = map[client.Object]cache.ByObject{}
	}
	o.ByObject[metadata(definitions)] = cache.ByObject{Label: labels.NewSelector().Add(*ofClasses), Transform: strip}
}

// strip leaves of a definition what seeDefinition reads.
func strip(o any) (any, error) {
	if crd, ok := o.(*metav1.PartialObjectMetadata); ok {
		crd.ObjectMeta = metav1.ObjectMeta{
			Name:              crd.Name,
			UID:               crd.UID,
			ResourceVersion:   crd.ResourceVersion,
			DeletionTimestamp: crd.DeletionTimestamp,
			Labels:            crd.Labels,
			Annotations:       map[string]string{meta.AnnotationKeyClaimKinds: crd.Annotations[meta.AnnotationKeyClaimKinds]},
		}
	}
	return o, nil
}
