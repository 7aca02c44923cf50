// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package connection

import (
	"context"
	"maps"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bowline-dev/bowline/pkg/internal/objects"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// pendingSuffix ends the keys of new credentials that the external system may have already, until they replace those in use (N50).
const pendingSuffix = ".pending"

// Pending returns the new credentials that a connection Secret keeps until they are in use, by the key that they will have.
func Pending(secret *corev1.Secret) map[string][]byte {
	pending := map[string][]byte{}
	if secret != nil {
		for key, value := range secret.Data {
			if name, ok := strings.CutSuffix(key, pendingSuffix); ok {
				pending[name] = value
			}
		}
	}
	return pending
}

// InUse returns the data of a connection Secret without what is pending.
func InUse(data map[string][]byte) map[string][]byte {
	used := objects.Union(data)
	maps.DeleteFunc(used, func(key string, _ []byte) bool { return strings.HasSuffix(key, pendingSuffix) })
	return used
}

// PassRotation has a managed resource show the request of its claim for new credentials, or that there is none any more.
func PassRotation(ctx context.Context, c client.Client, claim metav1.Object, mg resource.Managed) error {
	request := ""
	if !meta.GetRotateCredentialsAt(claim).IsZero() {
		request = claim.GetAnnotations()[meta.AnnotationKeyRotateCredentialsAt]
	}
	if mg.GetAnnotations()[meta.AnnotationKeyClaimRotatesCredentialsAt] == request {
		return nil
	}
	_, err := objects.Patch(ctx, c, mg, func(mg resource.Managed) { meta.SetClaimRotatesCredentialsAt(mg, request) })
	return err
}

// InheritPolicy gives a managed resource the policy of its class for credentials, unless it has one.
func InheritPolicy(mg, class any) {
	to, settable := mg.(resource.CredentialRotating)
	from, ok := class.(resource.CredentialRotating)
	if ok && settable && to.GetCredentialsPolicy().RotateEvery == nil {
		to.SetCredentialsPolicy(from.GetCredentialsPolicy())
	}
}

// RotationMarks are the annotations with which the connection Secret records a rotation: when it began, and how long the former
// credentials are to work beside the new ones, so that each attempt after a crash requests the same.
func RotationMarks(began time.Time, overlap time.Duration) map[string]string {
	return map[string]string{
		meta.AnnotationKeyCredentialsRotatedAt: began.UTC().Format(time.RFC3339),
		meta.AnnotationKeyCredentialsOverlap:   overlap.String(),
	}
}

// Overlap returns how long former credentials are to work beside those that are pending in a connection Secret, which may be nil.
func Overlap(secret *corev1.Secret) time.Duration {
	if secret == nil {
		return 0
	}
	overlap, _ := time.ParseDuration(secret.Annotations[meta.AnnotationKeyCredentialsOverlap])
	return overlap
}

// BeginRotation stores new credentials as pending, with RotationMarks.
func (s Publisher) BeginRotation(
	ctx context.Context, mg resource.Managed, have *corev1.Secret, fresh map[string][]byte, marks map[string]string,
) (*corev1.Secret, error) {
	pending := make(map[string][]byte, len(fresh))
	for key, value := range fresh {
		pending[key+pendingSuffix] = value
	}
	return s.Publish(ctx, mg, have, pending, marks)
}

// EndRotation replaces the credentials in use by those that are pending, in one write, or discards what is pending.
func (s Publisher) EndRotation(ctx context.Context, mg resource.Managed, have *corev1.Secret, use bool) (*corev1.Secret, error) {
	for have != nil {
		changed := have.DeepCopy()
		changed.Data = InUse(have.Data)
		if use {
			maps.Copy(changed.Data, Pending(have))
		} else {
			delete(changed.Annotations, meta.AnnotationKeyCredentialsRotatedAt)
			delete(changed.Annotations, meta.AnnotationKeyCredentialsOverlap)
		}
		err := s.patch(ctx, have, changed)
		if !apierrors.IsConflict(err) {
			return changed, err
		}
		if have, err = s.Get(ctx, s.Live, mg); err != nil {
			return nil, err
		}
	}
	return nil, nil
}
