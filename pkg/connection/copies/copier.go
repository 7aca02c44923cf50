// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package copies

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
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

// A Confirmation asks the API server for what the caller knows from a cache, before something is written because of it. It returns
// a conflict if the cache is behind.
type Confirmation func(context.Context) error

// Certain confirms what the caller knows from the API server.
func Certain(context.Context) error { return nil }

// A Result describes a copy after Copy.
type Result struct {
	Exists  bool  // from this managed resource, whether that still has a connection Secret or not
	Created bool  // by this call
	Problem error // with the content, for the team: mistakes in the templates of a claim, or what the source lost
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
	have, err := c.find(ctx, o)
	if source != nil && (err == nil || IsBlocked(err)) {
		err = cmp.Or(c.tidy(ctx, o, source, len(lost) > 0, IsBlocked(err)), err)
	}
	if err != nil || o.key().Name == "" {
		return r, err
	}
	r.Exists = isFromManaged(have, mg)
	switch {
	case source == nil && !r.Exists:
		return r, nil
	case source == nil:
		r.Problem = o.problem(mg, "is gone", fmt.Sprintf("Secret %q stays as it is until it is published again", o.key().Name))
		return r, nil
	case r.Exists && len(lost) > 0 && (!isFrom(have, source) || len(connection.Missing(have, lost)) < len(lost)):
		r.Problem = o.problem(mg, "lost "+strings.Join(lost, ", "), fmt.Sprintf("Secret %q stays as it is until your platform team adds what "+
			"is missing; to do without, delete it, and it is created again", o.key().Name))
		return r, nil
	}
	data, mistake := o.content(source)
	r.Exists, r.Problem = true, mistake
	if len(lost) > 0 {
		r.Problem = o.problem(mg, "lost "+strings.Join(lost, ", "), "ask your platform team, who sees in its conditions what to do")
		if mistake != nil {
			r.Problem = failure.ForTeam(failure.BadConnectionKeys, fmt.Sprintf("%v; %v", mistake, r.Problem), mistake)
		}
	}
	if have != nil && isFrom(have, source) && agrees(source, have) && (!isImmutable(have) || equal(have.Data, data)) {
		return r, nil
	}
	if err := confirm(ctx); err != nil {
		return r, err
	}
	if have, r.Created, err = c.write(ctx, o, have, source, data); err == nil {
		err = c.annotate(ctx, source, agreed(source, have).Annotations)
	}
	return r, err
}

// Withdraw removes what a target has of a managed resource that does not allow it, and reports whether there was anything. The copy of
// a claim stays as it is, since whoever gives a managed resource to another claim may have done so by mistake: it only gets no more
// changes. Where the namespace is not allowed at all, consent is revoked for every Secret in it, whatever controls that by now.
func (c *Copier) Withdraw(ctx context.Context, o Owner, mg resource.BindableManaged, confirm Confirmation) (bool, error) {
	source, err := c.Source(ctx, mg)
	if err != nil {
		return false, err
	}
	own, err := c.all(ctx, o)
	if err != nil {
		return false, err
	}
	from := uids(own)
	if !connection.Allowed(mg, o.key().Namespace) {
		from = from.Union(destinations(source, inNamespace(o.key().Namespace)))
	}
	if o.isClaim() {
		own, from = nil, from.Intersection(destinations(source, inNamespace("")))
	}
	if len(from) == 0 {
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
	return c.revoke(ctx, source, destinations(source, inNamespace(namespace)))
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
func (c *Copier) tidy(ctx context.Context, o Owner, source *corev1.Secret, keep, foreign bool) error {
	own, err := c.all(ctx, o)
	if err != nil {
		return err
	}
	own = slices.DeleteFunc(own, func(s corev1.Secret) bool { return s.Name == o.key().Name })
	from := uids(own)
	for uid, at := range meta.PropagatesTo(source) {
		if owner, err := c.controllerAt(ctx, uid, at); err != nil {
			return err
		} else if (at != o.key() || foreign) && o.isClaim() && owner != targetKind() || at == o.key() && foreign && owner.Empty() {
			from.Insert(uid)
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

// find returns the declared copy as the cache has it, nil for none. Only connection Secrets are cached, so that another Secret of
// the name shows when the copy is created.
func (c *Copier) find(ctx context.Context, o Owner) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	if o.key().Name == "" {
		return nil, nil
	}
	err := c.client.Get(ctx, o.key(), secret)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading the connection Secret of the %s: %w", o.noun, err)
	case !o.owns(secret):
		return nil, o.foreign()
	}
	return secret, nil
}

// all returns the copies of the owner that the cache has.
func (c *Copier) all(ctx context.Context, o Owner) (own []corev1.Secret, err error) {
	list := &corev1.SecretList{}
	if err := c.client.List(ctx, list, client.InNamespace(o.key().Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing connection Secrets: %w", err)
	}
	for i := range list.Items {
		if secret := &list.Items[i]; o.owns(secret) {
			own = append(own, *secret.DeepCopy())
		}
	}
	return own, nil
}

// remove revokes the consent of the source and then deletes copies, unless another Secret has the name by now.
func (c *Copier) remove(ctx context.Context, o Owner, source *corev1.Secret, from sets.Set[types.UID], copies []corev1.Secret) error {
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
		err := c.client.Create(ctx, have)
		switch {
		case err == nil:
			return have, true, nil
		case !apierrors.IsAlreadyExists(err):
			return nil, false, o.refused(err)
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
		err = o.foreign()
	}
	return secret, err
}

func isImmutable(secret *corev1.Secret) bool { return ptr.Deref(secret.Immutable, false) }

func equal(a, b map[string][]byte) bool { return maps.EqualFunc(a, b, bytes.Equal) }

func uids(of []corev1.Secret) sets.Set[types.UID] {
	all := sets.New[types.UID]()
	for _, secret := range of {
		all.Insert(secret.UID)
	}
	return all
}
