// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/pkg/connection"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/internal/flow"
	"github.com/bowline-dev/bowline/pkg/internal/objects"
	"github.com/bowline-dev/bowline/pkg/internal/redact"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// AnnotationKeyCreatedKeys is that of package connection.
const AnnotationKeyCreatedKeys = connection.AnnotationKeyCreatedKeys

// AnyKey is that of package connection.
const AnyKey = connection.AnyKey

// carry completes the connection Secret of an object that named another one before, and records it, before anything else needs it or
// writes to it. publish reports an error, after the observation.
func (r *Reconciler) carry(ctx context.Context, p *pass) outcome {
	at, current := connection.Recorded(p.managed)
	began := at.Name != "" || !meta.GetExternalCreatePending(p.managed).IsZero() || HadExternalResource(p.managed)
	if current || !began {
		return flow.Next()
	}
	var complete bool
	if complete, p.uncarried = r.secrets.Carry(ctx, p.managed); !complete {
		return flow.Next()
	}
	return written("recording the connection Secret", r.writeMetadata(ctx, p, func(o metav1.Object) { connection.Record(o, p.managed) }))
}

// publish adds to the connection Secret what Observe reported, and what could not be stored before (R206, N22).
func (r *Reconciler) publish(ctx context.Context, p *pass) outcome {
	if o := r.noteLost(ctx, p); o.End != flow.Continue {
		return o
	}
	details := objects.Union(p.memory.unpublished, p.observation.ConnectionDetails)
	err := p.uncarried
	if err == nil && len(details) > 0 {
		err = r.write(ctx, p, details, nil)
	}
	if errors.Is(err, connection.ErrRotated) { // the details may be former ones
		return flow.Conflicted()
	}
	if err != nil {
		p.withhold(failure.ConnectionSecretUnavailable, "The connection Secret cannot be written.")
		return failed(ReasonCannotPublish, fmt.Errorf("publishing connection details: %w", err))
	}
	p.memory.unpublished = nil
	return flow.Next()
}

// noteLost notes the keys that the connection Secret is about to lose.
func (r *Reconciler) noteLost(ctx context.Context, p *pass) outcome {
	known := connection.CreatedKeys(p.managed)
	lost := slices.DeleteFunc(slices.Clone(p.observation.LostKeys), func(key string) bool { return slices.Contains(known, key) })
	if len(lost) == 0 {
		return flow.Next()
	}
	return written("noting what the connection Secret loses", r.writeMetadata(ctx, p, func(o metav1.Object) {
		connection.SetCreatedKeys(o, slices.Concat(known, lost))
	}))
}

// write writes the connection Secret, and remembers it for the rest of the pass. It returns
// connection.ErrRotated if another process rotated the credentials since they were given to the client, lest it restore the former ones.
func (r *Reconciler) write(ctx context.Context, p *pass, details ConnectionDetails, annotations map[string]string) error {
	secret, err := r.ownSecret(ctx, p)
	if err != nil {
		return err
	}
	if given := p.rotation.given; p.published == nil && given != nil && rotatedAt(secret).After(*given) {
		return connection.ErrRotated
	}
	secret, err = r.secrets.Publish(ctx, p.managed, secret, details, annotations)
	if err == nil {
		p.published = secret
	}
	return err
}

// rememberKeys remembers for connection.AnnotationKeyCreatedKeys which keys the creation returns, if they are published at all.
func (p *pass) rememberKeys(details ConnectionDetails) {
	if _, wanted := resource.ConnectionSecretReference(p.managed); wanted {
		p.memory.oneTimeKeys = slices.AppendSeq(p.memory.oneTimeKeys, maps.Keys(details))
	}
}

// recordFound is recordCreated for a creation whose answer was lost and cannot be had again: what it contained is missing from then on,
// until a person adds it or does without (N22).
func (r *Reconciler) recordFound(ctx context.Context, p *pass, name string) outcome {
	if meta.ExternalCreateIncomplete(p.managed) && !p.nothingCreated() {
		keys, err := r.keysOfLostAnswer(ctx, p)
		if err != nil {
			return failed(ReasonCannotPublish, fmt.Errorf("looking for the details of an earlier creation: %w", err))
		}
		p.memory.oneTimeKeys = append(p.memory.oneTimeKeys, keys...)
	}
	return r.recordCreated(ctx, p, name)
}

// keysOfLostAnswer returns the keys that the answer may have contained: those that the client knows, or any. A client that chooses
// credentials stored them before.
func (r *Reconciler) keysOfLostAnswer(ctx context.Context, p *pass) ([]string, error) {
	client, knows := optional[OneTimeAnswerer](p.external)
	_, chooses := optional[CredentialChooser](p.external)
	_, wanted := resource.ConnectionSecretReference(p.managed)
	switch {
	case !wanted || chooses && !knows:
		return nil, nil
	case !knows:
		return []string{AnyKey}, nil
	}
	keys := client.OneTimeKeys()
	secret, err := r.secrets.Get(ctx, r.live, p.managed)
	if len(connection.Missing(secret, keys)) < len(keys) { // the values in the Secret are those of an earlier resource
		keys = append(keys, AnyKey)
	}
	return keys, resource.Ignore(connection.IsForeign, err)
}

// giveDetails gives the stored connection details to a client before Observe and Update, but not for a deletion. It costs no request,
// since connection Secrets are cached. Only an update because of drift, which may be that of a password, reads past the cache: one that is
// behind would restore a former password (N53).
func (r *Reconciler) giveDetails(ctx context.Context, p *pass) outcome {
	user, uses := optional[ConnectionDetailsUser](p.external)
	rotator, rotates := optional[CredentialRotator](p.external)
	if !uses && !rotates || meta.WasDeleted(p.managed) {
		return flow.Next()
	}
	secret, err := r.ownSecret(ctx, p)
	if drifted := p.observed && p.synced.ObservedGeneration == p.managed.GetGeneration(); uses && drifted && p.published == nil {
		secret, err = r.secrets.Get(ctx, r.live, p.managed)
		p.published, err = secret, resource.Ignore(connection.IsForeign, err)
	}
	if err != nil {
		return failed(ReasonCannotPublish, fmt.Errorf("reading stored credentials: %w", err))
	}
	p.rotation.given = new(rotatedAt(secret))
	stored := p.memory.unpublished
	if secret = secret.DeepCopy(); secret != nil { // the provider's code may change it
		stored = objects.Union(secret.Data, stored)
	}
	p.ended.secrets = append(p.ended.secrets, redact.Details(stored)...)
	if uses {
		user.UseConnectionDetails(connection.InUse(stored))
	}
	if rotates {
		rotator.UsePending(connection.Pending(secret), connection.Overlap(secret))
	}
	return flow.Next()
}

// ownSecret returns the connection Secret as the pass knows it, nil if there is none of the object. A cache that is behind the last rotation
// would show former credentials.
func (r *Reconciler) ownSecret(ctx context.Context, p *pass) (*corev1.Secret, error) {
	if p.published != nil {
		return p.published, nil
	}
	secret, err := r.secrets.Get(ctx, r.client, p.managed)
	if err == nil && secret != nil && meta.GetCredentialsRotatedAt(secret).Before(p.memory.stored.rotated) {
		secret, err = r.secrets.Get(ctx, r.live, p.managed)
	}
	return secret, resource.Ignore(connection.IsForeign, err)
}
