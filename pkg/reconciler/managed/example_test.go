// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// A Vendor is the SDK of the external system.
type Vendor interface {
	Get(ctx context.Context, name string) (VendorBucket, error)
	Put(ctx context.Context, name string, b VendorBucket) error
	Delete(ctx context.Context, name string) error
}

// A VendorBucket is a bucket as the external system knows it.
type VendorBucket struct {
	Versions int64
	Labels   map[string]string
	URL      string
}

// ErrNoBucket is what the external system answers when there is no such bucket.
var ErrNoBucket = errors.New("no such bucket")

// A Bucket is the managed kind. Its other methods, which each do nothing but set or return a field, are generated.
type Bucket struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec struct {
		xpv1.ResourceSpec `json:",inline"`
		ForProvider       struct {
			// Versions is how many versions of each file are kept.
			Versions int64 `json:"versions"`
		} `json:"forProvider"`
	} `json:"spec"`
	Status xpv1.ResourceStatus `json:"status,omitempty"`
}

var bucketKind = schema.GroupVersionKind{Group: "storage.example.org", Version: "v1", Kind: "Bucket"}

func (b *Bucket) SetConditions(c ...xpv1.Condition)                 { b.Status.SetConditions(c...) }
func (b *Bucket) GetCondition(ct xpv1.ConditionType) xpv1.Condition { return b.Status.GetCondition(ct) }
func (b *Bucket) SetManagementPolicies(p xpv1.ManagementPolicies)   { b.Spec.ManagementPolicies = p }
func (b *Bucket) GetManagementPolicies() xpv1.ManagementPolicies    { return b.Spec.ManagementPolicies }
func (b *Bucket) SetWriteConnectionSecretToReference(r *xpv1.SecretReference) {
	b.Spec.WriteConnectionSecretToReference = r
}
func (b *Bucket) GetWriteConnectionSecretToReference() *xpv1.SecretReference {
	return b.Spec.WriteConnectionSecretToReference
}

func (b *Bucket) DeepCopyObject() runtime.Object {
	c := &Bucket{TypeMeta: b.TypeMeta, ObjectMeta: *b.ObjectMeta.DeepCopy(), Status: *b.Status.DeepCopy()}
	c.Spec.ResourceSpec, c.Spec.ForProvider = *b.Spec.DeepCopy(), b.Spec.ForProvider
	return c
}

// A connecter makes a client for the ProviderConfig that a bucket names.
type connecter struct {
	dial func(ctx context.Context, providerConfig string) (Vendor, error)
}

func (c connecter) Connect(ctx context.Context, b *Bucket) (managed.TypedExternalClient[*Bucket], error) {
	vendor, err := c.dial(ctx, resource.ProviderConfigName(b))
	if err != nil {
		return nil, err
	}
	return external{vendor}, nil
}

// An external client does what only the author knows; the reconciler does the rest.
type external struct{ vendor Vendor }

func (e external) Observe(ctx context.Context, b *Bucket) (managed.ExternalObservation, error) {
	have, err := e.vendor.Get(ctx, meta.GetExternalName(b))
	if errors.Is(err, ErrNoBucket) {
		return managed.ExternalObservation{}, nil
	}
	if err != nil {
		return managed.ExternalObservation{}, err
	}
	b.SetConditions(xpv1.Available())
	owner := types.UID(have.Labels[meta.ExternalLabelUID])
	return managed.ExternalObservation{
		ResourceExists:    true,
		ResourceUpToDate:  have.Versions == b.Spec.ForProvider.Versions,
		Owner:             &owner,
		ConnectionDetails: managed.ConnectionDetails{xpv1.ResourceCredentialsSecretEndpointKey: []byte(have.URL)},
	}, nil
}

func (e external) Create(ctx context.Context, b *Bucket) (managed.ExternalCreation, error) {
	return managed.ExternalCreation{}, e.put(ctx, b)
}

func (e external) Update(ctx context.Context, b *Bucket) (managed.ExternalUpdate, error) {
	return managed.ExternalUpdate{}, e.put(ctx, b)
}

func (e external) Delete(ctx context.Context, b *Bucket) error {
	return resource.Ignore(func(err error) bool { return errors.Is(err, ErrNoBucket) }, e.vendor.Delete(ctx, meta.GetExternalName(b)))
}

func (e external) put(ctx context.Context, b *Bucket) error {
	labels := meta.GetExternalLabels(b, bucketKind.GroupKind(), resource.ProviderConfigName(b))
	return e.vendor.Put(ctx, meta.GetExternalName(b), VendorBucket{Versions: b.Spec.ForProvider.Versions, Labels: labels})
}

// All that a provider writes for a kind: its type, a connecter, a client, and this.
func Example() {
	setup := func(mgr ctrl.Manager, c connecter) error {
		r := managed.NewReconciler(mgr, resource.ManagedKind(bucketKind),
			managed.WithTypedExternalConnecter(c),
			managed.WithPollInterval(10*time.Minute))
		return ctrl.NewControllerManagedBy(mgr).
			Named(managed.ControllerName(bucketKind.GroupKind())).
			For(&Bucket{}).
			WatchesRawSource(r.Wakeups()).
			Complete(r)
	}
	_ = setup
	fmt.Println(managed.ControllerName(bucketKind.GroupKind()))
	// Output: bucket.storage.example.org
}
