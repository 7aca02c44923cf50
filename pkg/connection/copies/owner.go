// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package copies

import (
	"context"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/connection"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/internal/objects"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// LabelTargetUID on a copy is the UID of the target that it was created for.
const LabelTargetUID = "bowline.dev/target-uid"

// An Owner is the claim or the target that a copy is for.
type Owner struct {
	object object
	kind   schema.GroupVersionKind
	noun   string // in messages
	from   string // the kind of the managed resource, in messages
	field  string // that names the copy
	labels map[string]string
}

// object is what claims and targets have in common.
type object interface {
	client.Object
	resource.LocalConnectionSecretWriterTo
}

// Claim returns a claim as the owner of copies of the connection Secret of a managed resource of some kind, to which it is bound.
func Claim(claim resource.Claim, kind schema.GroupVersionKind, managedKind string) Owner {
	return Owner{object: claim, kind: kind, noun: "claim", from: managedKind, field: "spec.writeConnectionSecretToRef"}
}

// Target returns a target as the owner of copies of the connection Secret of the managed resource that it names.
func Target(target resource.Target, kind schema.GroupVersionKind) Owner {
	return Owner{object: target, kind: kind, noun: "target", from: target.GetResourceReference().Kind, field: "spec.connectionSecretRef",
		labels: map[string]string{LabelTargetUID: string(target.GetUID())}}
}

func (o Owner) isClaim() bool { return o.labels == nil }

// key is the name of the declared copy, without a name where none is declared.
func (o Owner) key() types.NamespacedName {
	key := types.NamespacedName{Namespace: o.object.GetNamespace()}
	if to := o.object.GetWriteConnectionSecretToReference(); to != nil {
		key.Name = to.Name
	}
	return key
}

func (o Owner) declares(secret corev1.Secret) bool { return secret.Name == o.key().Name }

// owns is true for a Secret that can only be a copy of this owner.
func (o Owner) owns(secret *corev1.Secret) bool {
	return secret.Type == xpv1.SecretTypeConnection && metav1.IsControlledBy(secret, o.object)
}

// abandoned is true for a copy of this owner that the garbage collector orphaned.
func (o Owner) abandoned(secret *corev1.Secret, mg resource.BindableManaged) bool {
	if metav1.GetControllerOf(secret) != nil {
		return false
	}
	if !o.isClaim() {
		return secret.Labels[LabelTargetUID] == string(o.object.GetUID())
	}
	return secret.Name == o.key().Name && isFromManaged(secret, mg)
}

// content returns the data of the copy. The error describes mistakes in the templates of a claim.
func (o Owner) content(source *corev1.Secret) (map[string][]byte, error) {
	if o.isClaim() {
		return connection.Content(o.object, source.Data)
	}
	return connection.InUse(source.Data), nil
}

func (o Owner) newCopy(source *corev1.Secret, data map[string][]byte) *corev1.Secret {
	secret := &corev1.Secret{Type: xpv1.SecretTypeConnection, Data: data}
	secret.Namespace, secret.Name, secret.Labels = o.key().Namespace, o.key().Name, o.labels
	secret.OwnerReferences = []metav1.OwnerReference{meta.AsController(o.object, o.kind)}
	meta.AllowPropagationFrom(secret, source)
	return secret
}

// IsBlocked reports whether a copy cannot be created before the team changes something.
func IsBlocked(err error) bool { return failure.Of(err).Reason == failure.ConnectionSecretUnavailable }

// foreign reports the Secret that has the name of the copy. Only one that no object controls may be without use.
func (o Owner) foreign(secret metav1.Object) error {
	owner, otherwise := "", ", or ask your platform team to delete it"
	if c := metav1.GetControllerOf(secret); c != nil && c.UID != o.object.GetUID() {
		owner, otherwise = fmt.Sprintf(", but to %s %q", c.Kind, c.Name), ""
	}
	return &failure.Error{Reason: failure.ConnectionSecretUnavailable, Message: fmt.Sprintf("secret %q exists and does not belong to this "+
		"%s%s: name another one in %s%s", o.key().Name, o.noun, owner, o.field, otherwise)}
}

// refused classifies a refused creation as blocked, unless the namespace is being deleted. No field of the error shows that a quota
// is the cause.
func (o Owner) refused(err error) error {
	if !apierrors.IsForbidden(err) || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return err
	}
	message := fmt.Sprintf("secret %q cannot be created in namespace %q: if a resource quota is used up (kubectl describe resourcequota), "+
		"remove Secrets that you do not need or ask for a larger quota; otherwise ask your platform team", o.key().Name, o.key().Namespace)
	return failure.ForTeam(failure.ConnectionSecretUnavailable, message, err)
}

// source describes the source for the team.
func (o Owner) source(mg resource.BindableManaged) string {
	return fmt.Sprintf("connection Secret of managed resource %s %q", o.from, mg.GetName())
}

// Source returns the connection Secret of a managed resource, nil if it has none. One that the managed resource does not control
// does not count.
func (c *Copier) Source(ctx context.Context, mg resource.BindableManaged) (*corev1.Secret, error) {
	return readSource(ctx, c.client, mg)
}

func readSource(ctx context.Context, from client.Reader, mg resource.BindableManaged) (*corev1.Secret, error) {
	secret, err := connection.Publisher{}.Get(ctx, from, mg)
	if err = resource.Ignore(connection.IsForeign, err); err != nil {
		return nil, fmt.Errorf("reading the connection Secret of the managed resource: %w", err)
	}
	if secret == nil || secret.Type != xpv1.SecretTypeConnection {
		return nil, nil
	}
	return secret, nil
}

// isFrom is true for a copy that names the source.
func isFrom(secret, source *corev1.Secret) bool {
	from, known := meta.PropagatedFrom(secret)
	return known && from.UID == source.UID && from.NamespacedName == client.ObjectKeyFromObject(source)
}

// isFromManaged is true for a copy that names the connection Secret of the managed resource, whether that exists or not.
func isFromManaged(secret *corev1.Secret, mg resource.BindableManaged) bool {
	if secret == nil || mg == nil {
		return false
	}
	ref, declared := resource.ConnectionSecretReference(mg)
	from, known := meta.PropagatedFrom(secret)
	return declared && known && from.Namespace == ref.Namespace && from.Name == ref.Name
}

// An origin is what the source of a copy is to a managed resource.
type origin int

const (
	unrelated origin = iota // another object's, or there is no copy
	named                   // its connection Secret, whether that exists or not
	former                  // one that it named before, and still controls
	gone                    // a Secret that does not exist, so that nothing shows whose it was
)

func (c *Copier) origin(ctx context.Context, have *corev1.Secret, mg resource.BindableManaged) (origin, error) {
	if isFromManaged(have, mg) {
		return named, nil
	} else if have == nil {
		return unrelated, nil
	}
	from, known := meta.PropagatedFrom(have)
	if !known {
		return unrelated, nil
	}
	source := &corev1.Secret{}
	err := c.client.Get(ctx, from.NamespacedName, source)
	switch {
	case apierrors.IsNotFound(err):
		return gone, nil
	case err != nil:
		return unrelated, fmt.Errorf("reading the source of a copy: %w", err)
	case metav1.IsControlledBy(source, mg):
		return former, nil
	}
	return unrelated, nil
}

// destinations returns the accepted ones of the Secrets that the source consents to. A source that is nil consents to none.
func destinations(source *corev1.Secret, accept func(types.UID, types.NamespacedName) bool) (uids []types.UID) {
	if source == nil {
		return nil
	}
	for uid, at := range meta.PropagatesTo(source) {
		if accept(uid, at) {
			uids = append(uids, uid)
		}
	}
	return uids
}

// agreed returns the annotations of a source that consents to the copy, and to no earlier copy of that name.
func agreed(source, to *corev1.Secret) map[string]string {
	wanted := source.DeepCopy()
	for uid, at := range meta.PropagatesTo(source) {
		if at == client.ObjectKeyFromObject(to) && uid != to.UID {
			meta.ForbidPropagationTo(wanted, uid)
		}
	}
	meta.AllowPropagationTo(wanted, to)
	return wanted.Annotations
}

func agrees(source, to *corev1.Secret) bool {
	return maps.Equal(agreed(source, to), source.Annotations)
}

// revoke takes back the consent of the source to some Secrets.
func (c *Copier) revoke(ctx context.Context, source *corev1.Secret, from []types.UID) error {
	if len(from) == 0 {
		return nil
	}
	wanted := source.DeepCopy()
	for _, uid := range from {
		meta.ForbidPropagationTo(wanted, uid)
	}
	return c.annotate(ctx, source, wanted.Annotations)
}

// annotate stores annotations of the source, and updates source to what is stored then. One that is gone consents to nothing.
func (c *Copier) annotate(ctx context.Context, source *corev1.Secret, annotations map[string]string) error {
	if maps.Equal(annotations, source.Annotations) {
		return nil
	}
	changed, err := objects.Patch(ctx, c.client, source, func(s *corev1.Secret) { s.Annotations = annotations })
	if err == nil {
		*source = *changed
	}
	return client.IgnoreNotFound(err)
}
