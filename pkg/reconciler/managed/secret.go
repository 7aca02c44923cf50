// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// connectionSecrets reads and writes the connection secrets of one managed kind.
type connectionSecrets struct {
	client client.Client
	live   client.Reader
	owner  schema.GroupVersionKind
	memory *memory
}

// foreignSecretError reports that the connection secret an object names belongs to somebody else.
type foreignSecretError struct{ namespace, name string }

func (e *foreignSecretError) Error() string {
	return fmt.Sprintf("secret %s/%s exists and does not belong to this object: name another one in "+
		"writeConnectionSecretToRef, or remove it", e.namespace, e.name)
}

func isForeign(err error) bool {
	_, ok := errors.AsType[*foreignSecretError](err)
	return ok
}

// creationMarks are the annotations by which the connection secret tells the result of the creation that is pending on
// the object: the external name, and which creation it was (N22).
func creationMarks(mg resource.Managed) map[string]string {
	return map[string]string{
		meta.AnnotationKeyExternalName:          meta.GetExternalName(mg),
		meta.AnnotationKeyExternalCreatePending: mg.GetAnnotations()[meta.AnnotationKeyExternalCreatePending],
	}
}

// recall returns the external name that the connection secret recorded for the creation now pending on the object, empty if
// none, and what the secret holds. It asks the API server itself: this happens only after a crash, and the cache may not have
// caught up.
func (s connectionSecrets) recall(ctx context.Context, mg resource.Managed) (name string, details ConnectionDetails, err error) {
	have, err := s.get(ctx, s.live, mg)
	if have == nil || err != nil {
		return "", nil, resource.Ignore(isForeign, err) // somebody else's secret tells nothing of our creation
	}
	marks := creationMarks(mg)
	if have.Annotations[meta.AnnotationKeyExternalCreatePending] != marks[meta.AnnotationKeyExternalCreatePending] {
		return "", nil, nil
	}
	return have.Annotations[meta.AnnotationKeyExternalName], have.Data, nil
}

// stored returns the connection details stored so far.
func (s connectionSecrets) stored(ctx context.Context, p *pass) (ConnectionDetails, error) {
	have, err := s.get(ctx, s.live, p.managed)
	if err != nil {
		return nil, err
	}
	return s.withRemembered(ctx, p, have)
}

// get returns the object's connection secret, or nil if it names none, or there is none. A secret that somebody else
// controls is an error (R214).
func (s connectionSecrets) get(ctx context.Context, from client.Reader, mg resource.Managed) (*corev1.Secret, error) {
	return s.read(ctx, from, mg, connectionSecret(mg))
}

func (s connectionSecrets) read(ctx context.Context, from client.Reader, mg resource.Managed,
	key types.NamespacedName) (*corev1.Secret, error) {
	if key.Name == "" {
		return nil, nil
	}
	have := &corev1.Secret{}
	err := from.Get(ctx, key, have)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if !metav1.IsControlledBy(have, mg) {
		return nil, &foreignSecretError{namespace: key.Namespace, name: key.Name}
	}
	return have, nil
}

// apply adds details and annotations to the object's connection secret, if it names one (R206 to R210), and what it lacks of
// what is remembered. It writes nothing if all are there already (R220).
func (s connectionSecrets) apply(ctx context.Context, p *pass, details ConnectionDetails, annotations map[string]string) (err error) {
	if _, wanted := resource.ConnectionSecretReference(p.managed); !wanted {
		return nil
	}
	have := p.published
	if have == nil {
		if have, err = s.get(ctx, s.client, p.managed); err != nil {
			return err
		}
	}
	written, err := s.write(ctx, p, have, details, annotations)
	if apierrors.IsAlreadyExists(err) || apierrors.IsConflict(err) || apierrors.IsNotFound(err) && have != nil {
		was := have
		if have, err = s.get(ctx, s.live, p.managed); err != nil { // the cache was behind
			return err
		}
		if was != nil && (have == nil || have.UID != was.UID) { // somebody deleted it, and the watch may tell too late
			s.memory.keep(p.managed, was.Data)
		}
		written, err = s.write(ctx, p, have, details, annotations)
	}
	if err != nil {
		return err
	}
	p.published = written
	return nil
}

// withRemembered returns what a secret of the object holds, and what it lacks of what somebody took away, and of the one that the
// object was published to before: a one-time credential is nowhere else. Copies of it are not asked, nor others that say
// they belong to the object: teams may write to theirs, and others trust what is published here. It costs a request only while the
// object names another secret than it was published to, or none any more: then the cache may not have caught up.
func (s connectionSecrets) withRemembered(ctx context.Context, p *pass, have *corev1.Secret) (ConnectionDetails, error) {
	details := s.memory.kept(p.memory)
	if moved(p.managed) {
		earlier, err := s.read(ctx, s.live, p.managed, publishedTo(p.managed))
		if resource.Ignore(isForeign, err) != nil {
			return nil, fmt.Errorf("looking for an earlier connection secret: %w", err)
		}
		if earlier != nil {
			details = union(earlier.Data, details)
		}
	}
	if have != nil {
		details = union(details, have.Data)
	}
	return details, nil
}

func (s connectionSecrets) write(ctx context.Context, p *pass, have *corev1.Secret, details ConnectionDetails,
	annotations map[string]string) (*corev1.Secret, error) {
	remembered, err := s.withRemembered(ctx, p, have)
	if err != nil {
		return nil, err
	}
	details = union(remembered, details)
	if have == nil && len(details) == 0 && annotations == nil {
		return nil, nil
	}
	if have == nil {
		ref := connectionSecret(p.managed)
		created := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{
				Namespace:       ref.Namespace,
				Name:            ref.Name,
				Annotations:     annotations,
				OwnerReferences: []metav1.OwnerReference{meta.AsController(p.managed, s.owner)},
			},
			Type: xpv1.SecretTypeConnection,
			Data: details,
		}
		return created, s.client.Create(ctx, created)
	}
	changed := have.DeepCopy()
	if !addTo(changed, details, annotations) {
		return have, nil
	}
	patch := client.MergeFromWithOptions(have, client.MergeFromWithOptimisticLock{})
	return changed, s.client.Patch(ctx, changed, patch)
}

// addTo adds details and annotations and reports whether that changed the secret.
func addTo(secret *corev1.Secret, details ConnectionDetails, annotations map[string]string) (changed bool) {
	for key, value := range details {
		if have, ok := secret.Data[key]; ok && bytes.Equal(have, value) {
			continue
		}
		if secret.Data == nil {
			secret.Data = map[string][]byte{}
		}
		secret.Data[key], changed = value, true
	}
	for key, value := range annotations {
		if have, ok := secret.Annotations[key]; ok && have == value {
			continue
		}
		if secret.Annotations == nil {
			secret.Annotations = map[string]string{}
		}
		secret.Annotations[key], changed = value, true
	}
	return changed
}
