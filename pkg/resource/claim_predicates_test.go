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
		"with a selector (A37, R309)":            {selector, (&order{}).with(some), true},
		"with an empty selector (R309)":          {selector, (&order{}).with(empty), true},
		"with none (R309)":                       {selector, &order{}, false},
		"without, with a selector (A37, R309)":   {noSelector, (&order{}).with(some), false},
		"without, with an empty selector (R309)": {noSelector, (&order{}).with(empty), false},
		"without, with none (R309)":              {noSelector, &order{}, true},
		"without class (A37, R310)":              {noClass, &order{}, true},
		"without class, with one (R310)":         {noClass, (&order{}).with(ofClass(bucketClassKind)), false},
		"without class, with a resource (R310)":  {noClass, (&order{}).with(ofResource(bucketKind)), true},
		"without resource (A37, R310)":           {noResource, &order{}, true},
		"without resource, with one (R310)":      {noResource, (&order{}).with(ofResource(bucketKind)), false},
		"without resource, with a class (R310)":  {noResource, (&order{}).with(ofClass(bucketClassKind)), true},
		"selector of no claim (R311)":            {selector, &foreign{}, false},
		"no selector of no claim (R311)":         {noSelector, &foreign{}, false},
		"no class of no claim (R311)":            {noClass, &foreign{}, false},
		"no resource of no claim (R311)":         {noResource, &foreign{}, false},
		"no class of a target (R311)":            {noClass, &target{}, false},
		"class of the kind (A38, R312)":          {ofBuckets, (&order{}).with(ofClass(bucketClassKind)), true},
		"class of another version (R312)":        {ofBuckets, (&order{}).with(ofClass(nextVersion)), false},
		"class of another group (R312)":          {ofBuckets, (&order{}).with(ofClass(otherGroup)), false},
		"class of another kind (R312)":           {ofBuckets, (&order{}).with(ofClass(bucketKind)), false},
		"without class (R312)":                   {ofBuckets, &order{}, false},
		"resource of the kind (A38, R313)":       {hasBucket, (&order{}).with(ofResource(bucketKind)), true},
		"resource of another kind (R313)":        {hasBucket, (&order{}).with(ofResource(bucketClassKind)), false},
		"without resource (R313)":                {hasBucket, &order{}, false},
		"resource of a target (R313)":            {hasBucket, &target{}, true},
		"resource of what refers to none (R313)": {hasBucket, &foreign{}, false},
		"selector of nil (R320)":                 {selector, nil, false},
		"no selector of nil (R320)":              {noSelector, nil, false},
		"no class of nil (R320)":                 {noClass, nil, false},
		"no resource of nil (R320)":              {noResource, nil, false},
		"class of nil (R320)":                    {ofBuckets, nil, false},
		"resource of nil (R320)":                 {hasBucket, nil, false},
		"no selector of a nil pointer (R320)":    {noSelector, none, false},
		"no class of a nil pointer (R320)":       {noClass, none, false},
		"no resource of a nil pointer (R320)":    {noResource, none, false},
		"class of a nil pointer (R320)":          {ofBuckets, none, false},
		"resource of a nil pointer (R320)":       {hasBucket, none, false},
		"class of a foreign type (R320)":         {ofBuckets, &foreign{}, false},
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
		"source propagates (A41, R316)":             {does, from, true},
		"copy propagates (R316)":                    {does, to, false},
		"plain propagates (R316)":                   {does, &corev1.Secret{}, false},
		"propagates to what has no name (R316)":     {does, mangled, false},
		"copy is propagated (A41, R316)":            {is, to, true},
		"source is propagated (R316)":               {is, from, false},
		"plain is propagated (R316)":                {is, &corev1.Secret{}, false},
		"propagated, without the source UID (R316)": {is, half, false},
		"nil propagates (R320)":                     {does, nil, false},
		"nil is propagated (R320)":                  {is, nil, false},
		"a nil pointer propagates (R320)":           {does, none, false},
		"a nil pointer is propagated (R320)":        {is, none, false},
		"a foreign type propagates (R320)":          {does, &foreign{}, false},
		"a foreign type is propagated (R320)":       {is, &foreign{}, false},
	})
}

func TestAPIOfClaimPredicates(t *testing.T) {
	t.Parallel()
	t.Run("as the documents call them (A37, A38)", func(t *testing.T) {
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
