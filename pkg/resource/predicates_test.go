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

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
	"github.com/bowline-dev/bowline/pkg/resource/unstructured"
)

var (
	bucketKind = schema.GroupVersionKind{Group: "storage.example.org", Version: "v1", Kind: "Bucket"}
	secretKind = corev1.SchemeGroupVersion.WithKind("Secret")
)

func newScheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	return scheme
}

func TestNewPredicates(t *testing.T) {
	t.Parallel()
	wanted, other := named("wanted"), named("other")
	p := resource.NewPredicates(func(obj runtime.Object) bool { return obj.(metav1.Object).GetName() == "wanted" })
	var none *corev1.ConfigMap
	for name, tc := range map[string]struct{ got, want bool }{
		"create (A35, R307)":                      {p.Create(event.CreateEvent{Object: wanted}), true},
		"create of another (R307)":                {p.Create(event.CreateEvent{Object: other}), false},
		"update: the new object counts (R307)":    {p.Update(event.UpdateEvent{ObjectOld: other, ObjectNew: wanted}), true},
		"update: the old object does not (R307)":  {p.Update(event.UpdateEvent{ObjectOld: wanted, ObjectNew: other}), false},
		"delete (R307)":                           {p.Delete(event.DeleteEvent{Object: wanted}), true},
		"delete of another (R307)":                {p.Delete(event.DeleteEvent{Object: other}), false},
		"generic (R307)":                          {p.Generic(event.GenericEvent{Object: wanted}), true},
		"generic of another (R307)":               {p.Generic(event.GenericEvent{Object: other}), false},
		"an event without an object (R320)":       {p.Create(event.CreateEvent{}), false},
		"an update without a new object (R320)":   {p.Update(event.UpdateEvent{ObjectOld: wanted}), false},
		"a generic event of a nil pointer (R320)": {p.Generic(event.GenericEvent{Object: none}), false},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.got != tc.want {
				t.Errorf("interested: %t, want %t", tc.got, tc.want)
			}
		})
	}
}

func named(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

type predicateCase struct {
	fn   resource.PredicateFn
	obj  runtime.Object
	want bool
}

func checkPredicates(t *testing.T, cases map[string]predicateCase) {
	t.Helper()
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := tc.fn(tc.obj); got != tc.want {
				t.Errorf("got %t, want %t", got, tc.want)
			}
		})
	}
}

func TestPredicateFns(t *testing.T) {
	t.Parallel()
	yes, no := func(runtime.Object) bool { return true }, func(runtime.Object) bool { return false }
	scheme, all, some := newScheme(t), resource.AllOf, resource.AnyOf
	isSecret := resource.IsManagedKind(resource.ManagedKind(secretKind), scheme)
	isBucket := resource.IsManagedKind(resource.ManagedKind(bucketKind), scheme)
	byBucket := resource.IsControlledByKind(bucketKind)
	var none *corev1.Secret
	checkPredicates(t, map[string]predicateCase{
		"all of none (A36, R308)":                      {fn: all(), want: true},
		"all of true (R308)":                           {fn: all(yes, yes), want: true},
		"all of true and false (R308)":                 {fn: all(yes, no), want: false},
		"any of none (A36, R308)":                      {fn: some(), want: false},
		"any of false and true (R308)":                 {fn: some(no, yes), want: true},
		"any of false (R308)":                          {fn: some(no, no), want: false},
		"nested (R308)":                                {fn: all(some(no, yes), some(all(yes, no), all())), want: true},
		"typed, without a kind of its own (A39, R314)": {fn: isSecret, obj: &corev1.Secret{}, want: true},
		"typed, of another kind (R314)":                {fn: isSecret, obj: &corev1.ConfigMap{}, want: false},
		"a kind that has no type (R314)":               {fn: isBucket, obj: unstructured.New(bucketKind), want: true},
		"another version (R314)": {
			fn: isBucket, obj: unstructured.New(bucketKind.GroupKind().WithVersion("v2")), want: false},
		"kind of nil (R320)":                     {fn: isSecret, want: false},
		"kind of a nil pointer (R320)":           {fn: isSecret, obj: none, want: false},
		"kind of a foreign type (R320)":          {fn: isSecret, obj: &foreign{}, want: false},
		"controlled by the kind (A40, R315)":     {fn: byBucket, obj: owned("storage.example.org/v1", "Bucket", true), want: true},
		"owned, not controlled (R315)":           {fn: byBucket, obj: owned("storage.example.org/v1", "Bucket", false), want: false},
		"controlled by another kind (R315)":      {fn: byBucket, obj: owned("storage.example.org/v1", "Topic", true), want: false},
		"controlled by another version (R315)":   {fn: byBucket, obj: owned("storage.example.org/v2", "Bucket", true), want: false},
		"controlled by another group (R315)":     {fn: byBucket, obj: owned("example.org/v1", "Bucket", true), want: false},
		"controlled by no object (R315)":         {fn: byBucket, obj: &corev1.Secret{}, want: false},
		"controller of nil (R320)":               {fn: byBucket, want: false},
		"controller of a nil pointer (R320)":     {fn: byBucket, obj: none, want: false},
		"controller of a foreign type (R320)":    {fn: byBucket, obj: &foreign{}, want: false},
		"controller of no proper version (R320)": {fn: byBucket, obj: owned("a/b/c", "Bucket", true), want: false},
	})
}

// owned returns a Secret with an owner.
func owned(apiVersion, kind string, controlled bool) *corev1.Secret {
	ref := metav1.OwnerReference{APIVersion: apiVersion, Kind: kind, Name: "owner", UID: "uid", Controller: &controlled}
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{ref}}}
}

// foreign is an object without metadata that no scheme knows.
type foreign struct{}

func (*foreign) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }
func (*foreign) DeepCopyObject() runtime.Object   { return &foreign{} }

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
	})
}
