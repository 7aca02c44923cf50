// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package copies gives claims and targets copies of the connection Secrets of managed resources, and keeps the copies in step.
// No other package writes the data of a copy or deletes one.
//
// A copy follows from declared state: a claim that is bound, or a target that the managed resource allows; the name that claim
// or target gives in its spec; and the connection Secret of the managed resource, the source. The controllers of claims and
// targets call a Copier. The Reconciler is the controller of Secrets: it carries each change of a source to its copies, and reverts
// edits of a copy. A copy stays as it is while the source lacks a key of it that only the creation of the external resource returned.
//
// A copy names its source, and the source names the copy, by UID (see package meta); otherwise nothing is copied. Consent is revoked
// on the source before a copy is deleted, so that a process that stops in between leaves nothing that still receives content. Only
// data is copied, and a Secret that the owner does not control is neither read nor written.
package copies

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/connection"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/internal/objects"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// A Copier serves the owners of copies.
type Copier struct {
	client client.Client // its cache holds connection Secrets only
	live   client.Reader // not cached
}

// New returns a Copier. The cache of the client should hold connection Secrets only, see managed.CacheOptions.
func New(c client.Client, live client.Reader) *Copier { return &Copier{client: c, live: live} }

// A Confirmation asks the API server for what the caller knows from a cache, before a write. It returns a conflict if the cache is
// behind.
type Confirmation func(context.Context) error

// Certain confirms what the caller knows from the API server.
func Certain(context.Context) error { return nil }

// A Result describes a copy after Copy.
type Result struct {
	Exists  bool   // from this managed resource, whether that still has a connection Secret or not
	Created bool   // by this call
	Kept    string // why it stays as it is, for the team: what the source lost
	Problem error  // with the content, for the team: mistakes in the templates of a claim, or what it lacks because the source lost it
}

// Copy gives the owner the copy that it declares, and removes others that it has. While there is no source, or one
// without keys that only the creation of the external resource returned, existing copies stay as they are (R293, N42).
// IsBlocked is true for the error where the team has to change something.
func (c *Copier) Copy(ctx context.Context, o Owner, mg resource.BindableManaged, confirm Confirmation) (r Result, err error) {
	source, err := c.Source(ctx, mg)
	if err != nil {
		return r, err
	}
	lost := connection.Missing(source, connection.CreatedKeys(mg))
	own, foreign, err := c.find(ctx, o)
	if err == nil && source != nil {
		err = c.tidy(ctx, o, source, own, len(lost) > 0, foreign != nil)
	}
	if err == nil && foreign != nil {
		err = o.foreign(foreign)
	}
	if err != nil || o.key().Name == "" {
		return r, err
	}
	var have *corev1.Secret
	if i := slices.IndexFunc(own, o.declares); i >= 0 {
		have = &own[i]
	}
	origin, err := c.origin(ctx, have, mg)
	if err != nil {
		return r, err
	}
	r.Exists = origin == named || origin == former || origin == gone && o.isClaim() // a bound claim has no other managed resource
	switch {
	case source == nil && (!r.Exists || origin == former):
		return r, nil
	case source == nil:
		r.Kept = fmt.Sprintf("The %s is gone. Secret %q stays as it is until it is published again.", o.source(mg), o.key().Name)
		return r, nil
	case (r.Exists || origin == gone) && len(lost) > 0 && (!isFrom(have, source) || len(connection.Missing(have, lost)) < len(lost)):
		r.Exists = true
		if missing := connection.Missing(have, lost); len(missing) > 0 {
			r.Problem = o.loss(mg, missing, nil)
			return r, nil
		}
		r.Kept = fmt.Sprintf("The %s lost %s. Secret %q stays as it is until your platform team adds what is missing; to do without, name "+
			"another Secret in %s.", o.source(mg), connection.Describe(lost), o.key().Name, o.field)
		return r, nil
	}
	data, mistake := o.content(source)
	r.Exists, r.Problem = true, mistake
	if len(lost) > 0 {
		r.Problem = o.loss(mg, lost, mistake)
	}
	if have != nil && isFrom(have, source) && agrees(source, have) && (!isImmutable(have) || equal(have.Data, data)) {
		return r, nil
	}
	if err := confirm(ctx); err != nil {
		return r, err
	}
	if have, r.Created, err = c.write(ctx, o, have, source, data); err == nil {
		err = c.annotate(ctx, source, agreed(source, have))
	}
	return r, err
}

// loss describes for the team what its copy lacks because the source lost it, and another mistake, if there is one.
func (o Owner) loss(mg resource.BindableManaged, keys []string, mistake error) error {
	message := fmt.Sprintf("the %s lost %s: ask your platform team; the conditions of the managed resource contain instructions",
		o.source(mg), connection.Describe(keys))
	if mistake != nil {
		message += "; " + mistake.Error()
	}
	return &failure.Error{Reason: failure.ConnectionDetailsLost, Message: message}
}

// Withdraw removes what a target has of a managed resource that does not allow it, and reports whether there was anything. The copy of
// a claim stays as it is, since a managed resource may be given to another claim by mistake: it only gets no more
// changes. Where the namespace is not allowed at all, consent is revoked for every Secret in it, whatever controls that by now.
func (c *Copier) Withdraw(ctx context.Context, o Owner, mg resource.BindableManaged, confirm Confirmation) (bool, error) {
	source, err := c.Source(ctx, mg)
	if err != nil {
		return false, err
	}
	own, _, err := c.find(ctx, o)
	if err != nil {
		return false, err
	}
	forbidden := !connection.Allowed(mg, o.key().Namespace)
	from := destinations(source, func(uid types.UID, at types.NamespacedName) bool {
		return isOneOf(own, uid) || forbidden && at.Namespace == o.key().Namespace
	})
	if o.isClaim() {
		own = nil
	}
	if len(from)+len(own) == 0 {
		return false, nil
	}
	if err := confirm(ctx); err != nil {
		return false, err
	}
	return true, c.remove(ctx, o, source, from, own)
}

// Revoke takes back the consent of a managed resource to all Secrets, or to those of one namespace. It asks the API server, since
// nothing looks again. Owners that still may have a copy get consent again in their next pass.
func (c *Copier) Revoke(ctx context.Context, mg resource.BindableManaged, namespace string) error {
	source, err := readSource(ctx, c.live, mg)
	if err != nil {
		return err
	}
	return c.revoke(ctx, source, destinations(source, func(_ types.UID, at types.NamespacedName) bool {
		return namespace == "" || at.Namespace == namespace
	}))
}

// Discard removes the copies of an owner that is being deleted, also those that the garbage collector orphaned. The managed
// resource is nil if there is none. It asks the API server, since nothing looks again.
func (c *Copier) Discard(ctx context.Context, o Owner, mg resource.BindableManaged) error {
	list := &corev1.SecretList{}
	err := c.live.List(ctx, list, client.InNamespace(o.key().Namespace),
		client.MatchingFieldsSelector{Selector: fields.OneTermEqualSelector("type", string(xpv1.SecretTypeConnection))})
	if err != nil {
		return fmt.Errorf("listing the connection Secrets of the %s: %w", o.noun, err)
	}
	own := slices.DeleteFunc(list.Items, func(s corev1.Secret) bool { return !o.owns(&s) && !o.abandoned(&s, mg) })
	return c.remove(ctx, o, nil, nil, own)
}

// tidy removes copies that the owner no longer declares, or only revokes consent to them where they keep what the source lost. It also
// revokes consent to a foreign Secret of the declared name that nothing controls, which the team may have taken from the owner; for a
// claim, to which the managed resource is bound, to everything but the copies of targets, since another claim may have had it before or
// the team may have given the Secret to another object.
func (c *Copier) tidy(ctx context.Context, o Owner, source *corev1.Secret, own []corev1.Secret, keep, foreign bool) error {
	own = slices.DeleteFunc(slices.Clone(own), o.declares)
	var from []types.UID
	for uid, at := range meta.PropagatesTo(source) {
		owner, err := c.controllerAt(ctx, uid, at)
		if err != nil {
			return err
		}
		taken := at == o.key() && foreign
		revoked := taken && owner.Empty() || (taken || at != o.key()) && o.isClaim() && owner != targetKind()
		if revoked || isOneOf(own, uid) {
			from = append(from, uid)
		}
	}
	if keep {
		own = nil
	}
	return c.remove(ctx, o, source, from, own)
}

// controllerAt returns the kind that controls a connection Secret, empty if it is another Secret or nothing controls it.
func (c *Copier) controllerAt(ctx context.Context, uid types.UID, at types.NamespacedName) (kind schema.GroupKind, err error) {
	secret := &corev1.Secret{}
	if err := c.client.Get(ctx, at, secret); client.IgnoreNotFound(err) != nil {
		return kind, fmt.Errorf("reading a copy of the connection Secret: %w", err)
	}
	if owner := metav1.GetControllerOf(secret); owner != nil && secret.UID == uid {
		kind = schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind).GroupKind()
	}
	return kind, nil
}

func targetKind() schema.GroupKind {
	return schema.GroupKind{Group: "workload.crossplane.io", Kind: "KubernetesTarget"}
}

// find returns the copies of the owner that the cache has, and whether another connection Secret has the declared name. Secrets of
// other types are not cached: they show when the copy is created.
func (c *Copier) find(ctx context.Context, o Owner) (own []corev1.Secret, foreign *corev1.Secret, err error) {
	list := &corev1.SecretList{}
	if err := c.client.List(ctx, list, client.InNamespace(o.key().Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, nil, fmt.Errorf("listing connection Secrets: %w", err)
	}
	for i := range list.Items {
		if secret := &list.Items[i]; o.owns(secret) {
			own = append(own, *secret.DeepCopy())
		} else if o.declares(*secret) {
			foreign = secret
		}
	}
	return own, foreign, nil
}

// remove revokes the consent of the source and then deletes copies, unless another Secret has the name by now.
func (c *Copier) remove(ctx context.Context, o Owner, source *corev1.Secret, from []types.UID, copies []corev1.Secret) error {
	if err := c.revoke(ctx, source, from); err != nil {
		return err
	}
	for _, secret := range copies {
		if err := c.client.Delete(ctx, &secret, client.Preconditions{UID: &secret.UID}); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("deleting a connection Secret of the %s: %w", o.noun, err)
		}
	}
	return nil
}

// write creates the copy, or has it follow another source, in one write that names owner and source. Changes of the same source
// are for the Reconciler, except for a copy that is immutable: it is created again.
func (c *Copier) write(ctx context.Context, o Owner, have, source *corev1.Secret,
	data map[string][]byte) (secret *corev1.Secret, created bool, err error) {
	if have != nil && isImmutable(have) && !equal(have.Data, data) {
		if err := c.remove(ctx, o, nil, nil, []corev1.Secret{*have}); err != nil {
			return nil, false, err
		}
		have = nil
	}
	if have == nil {
		have = o.newCopy(source, data)
		if err := c.client.Create(ctx, have); !apierrors.IsAlreadyExists(err) {
			return have, err == nil, o.refused(err)
		}
		if have, err = c.findLive(ctx, o); err != nil {
			return nil, false, err
		}
	}
	if isFrom(have, source) {
		return have, false, nil
	}
	have, err = objects.Patch(ctx, c.client, have, func(s *corev1.Secret) {
		meta.AllowPropagationFrom(s, source)
		s.Data = data
	})
	return have, false, err
}

// findLive returns the declared copy of which the cache does not know yet. The content of another Secret is not read.
func (c *Copier) findLive(ctx context.Context, o Owner) (*corev1.Secret, error) {
	found, secret := objects.Metadata(corev1.SchemeGroupVersion.WithKind("Secret")), &corev1.Secret{}
	err := c.live.Get(ctx, o.key(), found)
	if err == nil && metav1.IsControlledBy(found, o.object) {
		err = c.live.Get(ctx, o.key(), secret)
	}
	if err == nil && !o.owns(secret) {
		err = o.foreign(found)
	}
	return secret, err
}

func isImmutable(secret *corev1.Secret) bool { return ptr.Deref(secret.Immutable, false) }

func equal(a, b map[string][]byte) bool { return maps.EqualFunc(a, b, bytes.Equal) }

func isOneOf(secrets []corev1.Secret, uid types.UID) bool {
	return slices.ContainsFunc(secrets, func(s corev1.Secret) bool { return s.UID == uid })
}
