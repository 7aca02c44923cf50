// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package resource_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
)

var bucketClassKind = schema.GroupVersionKind{Group: "storage.example.org", Version: "v1", Kind: "BucketClass"}

// order is what all claims have in common.
type order struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	xpv1.ResourceClaimSpec
}

func (o *order) DeepCopyObject() runtime.Object {
	return &order{ObjectMeta: *o.ObjectMeta.DeepCopy(), ResourceClaimSpec: *o.ResourceClaimSpec.DeepCopy()}
}

func (o *order) SetClassSelector(s *metav1.LabelSelector)       { o.ClassSelector = s }
func (o *order) GetClassSelector() *metav1.LabelSelector        { return o.ClassSelector }
func (o *order) SetClassReference(r *corev1.ObjectReference)    { o.ClassReference = r }
func (o *order) GetClassReference() *corev1.ObjectReference     { return o.ClassReference }
func (o *order) SetResourceReference(r *corev1.ObjectReference) { o.ResourceReference = r }
func (o *order) GetResourceReference() *corev1.ObjectReference  { return o.ResourceReference }
func (o *order) with(change func(*xpv1.ResourceClaimSpec)) *order {
	change(&o.ResourceClaimSpec)
	return o
}
func selecting(s *metav1.LabelSelector) func(*xpv1.ResourceClaimSpec) {
	return func(c *xpv1.ResourceClaimSpec) { c.ClassSelector = s }
}
func ofClass(kind schema.GroupVersionKind) func(*xpv1.ResourceClaimSpec) {
	return func(c *xpv1.ResourceClaimSpec) { c.ClassReference = reference(kind) }
}
func ofResource(kind schema.GroupVersionKind) func(*xpv1.ResourceClaimSpec) {
	return func(c *xpv1.ResourceClaimSpec) { c.ResourceReference = reference(kind) }
}

func reference(kind schema.GroupVersionKind) *corev1.ObjectReference {
	apiVersion, k := kind.ToAPIVersionAndKind()
	return &corev1.ObjectReference{APIVersion: apiVersion, Kind: k, Name: "some"}
}

// target refers to a managed resource and chooses no class.
type target struct{ foreign }

func (*target) SetResourceReference(*corev1.ObjectReference)  {}
func (*target) GetResourceReference() *corev1.ObjectReference { return reference(bucketKind) }

func TestClaimPredicates(t *testing.T) {
	t.Parallel()
	var (
		selector    = resource.HasClassSelector()
		noSelector  = resource.HasNoClassSelector()
		noClass     = resource.HasNoClassReference()
		noResource  = resource.HasNoManagedResourceReference()
		ofBuckets   = resource.HasClassReferenceKind(resource.ClassKind(bucketClassKind))
		hasBucket   = resource.HasManagedResourceReferenceKind(resource.ManagedKind(bucketKind))
		some        = selecting(&metav1.LabelSelector{MatchLabels: map[string]string{"size": "small"}})
		empty       = selecting(&metav1.LabelSelector{})
		nextVersion = bucketClassKind.GroupKind().WithVersion("v2")
		otherGroup  = schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "BucketClass"}
		none        *order
	)
	checkPredicates(t, map[string]predicateCase{
		"A37 R309 with a selector":             {selector, (&order{}).with(some), true},
		"R309 with an empty selector":          {selector, (&order{}).with(empty), true},
		"R309 with none":                       {selector, &order{}, false},
		"A37 R309 without, with a selector":    {noSelector, (&order{}).with(some), false},
		"R309 without, with an empty selector": {noSelector, (&order{}).with(empty), false},
		"R309 without, with none":              {noSelector, &order{}, true},
		"A37 R310 without class":               {noClass, &order{}, true},
		"R310 without class, with one":         {noClass, (&order{}).with(ofClass(bucketClassKind)), false},
		"R310 without class, with a resource":  {noClass, (&order{}).with(ofResource(bucketKind)), true},
		"A37 R310 without resource":            {noResource, &order{}, true},
		"R310 without resource, with one":      {noResource, (&order{}).with(ofResource(bucketKind)), false},
		"R310 without resource, with a class":  {noResource, (&order{}).with(ofClass(bucketClassKind)), true},
		"R311 selector of no claim":            {selector, &foreign{}, false},
		"R311 no selector of no claim":         {noSelector, &foreign{}, false},
		"R311 no class of no claim":            {noClass, &foreign{}, false},
		"R311 no resource of no claim":         {noResource, &foreign{}, false},
		"R311 no class of a target":            {noClass, &target{}, false},
		"A38 R312 class of the kind":           {ofBuckets, (&order{}).with(ofClass(bucketClassKind)), true},
		"R312 class of another version":        {ofBuckets, (&order{}).with(ofClass(nextVersion)), false},
		"R312 class of another group":          {ofBuckets, (&order{}).with(ofClass(otherGroup)), false},
		"R312 class of another kind":           {ofBuckets, (&order{}).with(ofClass(bucketKind)), false},
		"R312 without class":                   {ofBuckets, &order{}, false},
		"A38 R313 resource of the kind":        {hasBucket, (&order{}).with(ofResource(bucketKind)), true},
		"R313 resource of another kind":        {hasBucket, (&order{}).with(ofResource(bucketClassKind)), false},
		"R313 without resource":                {hasBucket, &order{}, false},
		"R313 resource of a target":            {hasBucket, &target{}, true},
		"R313 resource of what refers to none": {hasBucket, &foreign{}, false},
		"R320 selector of nil":                 {selector, nil, false},
		"R320 no selector of nil":              {noSelector, nil, false},
		"R320 no class of nil":                 {noClass, nil, false},
		"R320 no resource of nil":              {noResource, nil, false},
		"R320 class of nil":                    {ofBuckets, nil, false},
		"R320 resource of nil":                 {hasBucket, nil, false},
		"R320 no selector of a nil pointer":    {noSelector, none, false},
		"R320 no class of a nil pointer":       {noClass, none, false},
		"R320 no resource of a nil pointer":    {noResource, none, false},
		"R320 class of a nil pointer":          {ofBuckets, none, false},
		"R320 resource of a nil pointer":       {hasBucket, none, false},
		"R320 class of a foreign type":         {ofBuckets, &foreign{}, false},
	})
}

func TestPropagationPredicates(t *testing.T) {
	t.Parallel()
	from, to := &corev1.Secret{}, &corev1.Secret{}
	from.Namespace, from.Name, from.UID = "vault", "source", types.UID("1")
	to.Namespace, to.Name, to.UID = "team", "copy", types.UID("2")
	meta.AllowPropagation(from, to)
	half := to.DeepCopy()
	delete(half.Annotations, meta.AnnotationKeyPropagateFromUID)
	mangled := &corev1.Secret{}
	mangled.Annotations = map[string]string{meta.AnnotationPrefixPropagateTo + "2": "no namespace"}
	is, does := resource.IsPropagated(), resource.IsPropagator()
	var none *corev1.Secret
	checkPredicates(t, map[string]predicateCase{
		"A41 R316 source propagates":              {does, from, true},
		"R316 copy propagates":                    {does, to, false},
		"R316 plain propagates":                   {does, &corev1.Secret{}, false},
		"R316 propagates to what has no name":     {does, mangled, false},
		"A41 R316 copy is propagated":             {is, to, true},
		"R316 source is propagated":               {is, from, false},
		"R316 plain is propagated":                {is, &corev1.Secret{}, false},
		"R316 propagated, without the source UID": {is, half, false},
		"R320 nil propagates":                     {does, nil, false},
		"R320 nil is propagated":                  {is, nil, false},
		"R320 a nil pointer propagates":           {does, none, false},
		"R320 a nil pointer is propagated":        {is, none, false},
		"R320 a foreign type propagates":          {does, &foreign{}, false},
		"R320 a foreign type is propagated":       {is, &foreign{}, false},
	})
}

func TestAPIOfClaimPredicates(t *testing.T) {
	t.Parallel()
	t.Run("A37 A38 as the documents call them", func(t *testing.T) {
		var scheduling predicate.Funcs = resource.NewPredicates(resource.AllOf(
			resource.HasClassSelector(),
			resource.HasNoClassReference(),
			resource.HasNoManagedResourceReference(),
		))
		binding := resource.NewPredicates(resource.AnyOf(
			resource.HasClassReferenceKind(resource.ClassKind(bucketClassKind)),
			resource.HasManagedResourceReferenceKind(resource.ManagedKind(bucketKind)),
		))
		waits := (&order{}).with(selecting(&metav1.LabelSelector{}))
		chosen := (&order{}).with(ofClass(bucketClassKind))
		if !scheduling.Create(event.CreateEvent{Object: waits}) || scheduling.Create(event.CreateEvent{Object: chosen}) {
			t.Error("scheduling takes the wrong claims")
		}
		if binding.Create(event.CreateEvent{Object: waits}) || !binding.Create(event.CreateEvent{Object: chosen}) {
			t.Error("binding takes the wrong claims")
		}
	})
}
