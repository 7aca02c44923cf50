// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/connection"
	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/internal/flow"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// A rotation replaces the credentials in the connection Secret (N50).
type rotation struct {
	pending  ConnectionDetails // that the Secret has and the external resource is to get; nil for none
	began    time.Time         // when they were stored; zero for none
	given    *time.Time        // when the credentials were rotated that the client was given; nil for none
	finished time.Time         // when the last rotation began that is complete
	overlap  time.Duration     // how long the former credentials are to work beside those of a rotation that is due
	refused  error             // why what was requested cannot be done
}

// beginRotation stores new credentials as pending, if they are due, before the external system gets them. Those that an earlier pass
// stored are used again, since the external system may have them.
func (r *Reconciler) beginRotation(ctx context.Context, p *pass) outcome {
	rotator, can := optional[CredentialRotator](p.external)
	if !p.observation.ResourceExists || !can && len(meta.RotationRequests(p.managed)) == 0 && p.rotateEvery() == 0 {
		return flow.Next()
	}
	if !can {
		p.rotation.refused = r.checkRotation(p)
		return flow.Next()
	}
	secret, err := r.ownSecret(ctx, p)
	if err == nil && !r.rotates(p, secret) {
		p.rotation.finished = rotatedAt(secret)
		return flow.Next()
	}
	if secret, err = r.secrets.Get(ctx, r.live, p.managed); err != nil { // the cache may be behind
		return failed(ReasonCannotPublish, fmt.Errorf("reading stored credentials: %w", err))
	}
	if !r.rotates(p, secret) {
		p.rotation.finished = rotatedAt(secret)
		return flow.Next()
	}
	if p.rotation.refused = r.checkRotation(p); p.rotation.refused != nil {
		return flow.Next()
	}
	begun := len(connection.Pending(secret)) > 0
	switch fresh, refused := rotator.NewCredentials(); {
	case refused != nil && begun:
		secret, err = r.secrets.EndRotation(ctx, p.managed, secret, false)
	case refused != nil:
		p.rotation.refused = refused
		return flow.Next()
	case !begun:
		secret, err = r.secrets.BeginRotation(ctx, p.managed, secret, fresh, connection.RotationMarks(r.now(), p.rotation.overlap))
	}
	if err != nil {
		return failed(ReasonCannotPublish, fmt.Errorf("storing new credentials: %w", err))
	}
	p.published = secret
	if len(connection.Pending(secret)) == 0 { // the user chooses the credentials by now
		return flow.Next()
	}
	p.rotation.pending, p.rotation.began = connection.Pending(secret), meta.GetCredentialsRotatedAt(secret)
	return flow.Next()
}

// rotates is true if a rotation is due, or not complete. What was created since a request is as new as requested.
func (r *Reconciler) rotates(p *pass, secret *corev1.Secret) bool {
	if len(connection.Pending(secret)) > 0 {
		return true
	}
	var last time.Time
	for _, at := range []time.Time{rotatedAt(secret), p.memory.stored.rotated, meta.GetExternalCreateSucceeded(p.managed)} {
		if at.After(last) {
			last = at
		}
	}
	due := func(at time.Time) bool {
		wait := at.Sub(r.now())
		if wait > 0 {
			p.poll = min(p.poll, wait)
		}
		return wait <= 0 && at.After(last)
	}
	requested, aged := false, false
	for _, at := range meta.RotationRequests(p.managed) {
		requested = due(at) || requested
	}
	if every := p.rotateEvery(); every > 0 {
		aged = due(cmp.Or(last, p.managed.GetCreationTimestamp().Time).Add(every))
	}
	p.rotation.overlap = 0
	if !requested { // a request may follow a leak (N59)
		p.rotation.overlap = p.overlap()
	}
	return requested || aged
}

// defaultOverlap is enough for kubelet to update a volume and for a Deployment to restart.
const defaultOverlap = 10 * time.Minute

// overlap is how long former credentials work after a rotation by age, zero where no others can work (N59).
func (p *pass) overlap() time.Duration {
	rotator, can := optional[CredentialRotator](p.client)
	if !can || !rotator.Overlaps() {
		return 0
	}
	if chosen := p.credentials().Overlap; chosen != nil {
		return max(chosen.Duration, 0)
	}
	return min(defaultOverlap, p.rotateEvery()/2)
}

// ignoredOverlap describes an overlap that the external system cannot have, empty if there is none.
func (p *pass) ignoredOverlap() string {
	chosen := p.credentials().Overlap
	if chosen == nil || chosen.Duration <= 0 || p.client == nil || p.overlap() > 0 {
		return ""
	}
	return "Setting spec.credentials.overlap has no effect: the external system does not accept former credentials beside new ones."
}

// credentials is the policy for credentials, empty for an object without one.
func (p *pass) credentials() (policy xpv1.CredentialsPolicy) {
	if o, ok := p.managed.(resource.CredentialRotating); ok {
		policy = o.GetCredentialsPolicy()
	}
	return policy
}

// rotateEvery is the age at which credentials are replaced, zero for none.
func (p *pass) rotateEvery() (age time.Duration) {
	if every := p.credentials().RotateEvery; every != nil {
		age = every.Duration
	}
	return age
}

// checkRotation returns why there can be no rotation, if there can be none.
func (r *Reconciler) checkRotation(p *pass) error {
	_, can := optional[CredentialRotator](p.external)
	_, wanted := resource.ConnectionSecretReference(p.managed)
	switch {
	case !can:
		return fmt.Errorf("a %s has no credentials that can be rotated: remove the annotation %s, also of its claim, and spec.credentials",
			r.kind.Kind, meta.AnnotationKeyRotateCredentialsAt)
	case !wanted:
		return errors.New("the credentials cannot be rotated without a connection Secret: name one in spec.writeConnectionSecretToRef")
	case !p.allows(xpv1.ManagementActionUpdate):
		return errors.New("the credentials cannot be rotated because managementPolicies lack Update: add Update")
	}
	return nil
}

// rotatable is true if new credentials replace all of the keys.
func (p *pass) rotatable(keys []string) bool {
	rotator, can := optional[CredentialRotator](p.external)
	if !can {
		return false
	}
	fresh, err := rotator.NewCredentials()
	return err == nil && len(connection.Missing(&corev1.Secret{Data: fresh}, keys)) == 0
}

// mustSend is true until an update gave the external resource the pending credentials.
func (p *pass) mustSend() bool { return p.rotation.began.After(p.memory.sent) }

// endRotation replaces the credentials in the connection Secret once the external resource has the pending ones.
func (r *Reconciler) endRotation(ctx context.Context, p *pass) outcome {
	rotator, can := optional[CredentialRotator](p.external)
	if !can || p.rotation.began.IsZero() || p.mustSend() || p.observation.Failed != nil {
		return flow.Next()
	}
	if !rotator.HasPending() {
		return flow.Await(shortestPoll, "Waiting until the external system has applied the new credentials.")
	}
	secret, err := r.secrets.EndRotation(ctx, p.managed, p.published, true)
	if err != nil {
		return failed(ReasonCannotPublish, fmt.Errorf("publishing new credentials: %w", err))
	}
	p.published, p.rotation.finished = secret, p.rotation.began
	if r.rotates(p, secret) { // requested meanwhile
		p.poll = shortestPoll
	}
	return flow.Next()
}

const credentialsStatus, lastRotation = "credentials", "lastRotationTime"

// recordRotation records in the status when the last rotation began that is complete, and reports it once. It returns the time that is
// recorded then.
func (p *pass) recordRotation() (time.Time, error) {
	at := p.rotation.finished
	if !at.After(p.memory.stored.rotated) || !at.After(p.memory.recorded) {
		return p.memory.recorded, nil
	}
	p.note(event.Normal(ReasonRotated, "Rotated the credentials in the connection Secret."))
	handled := ""
	if met := slices.DeleteFunc(meta.RotationRequests(p.managed), at.Before); len(met) > 0 {
		handled = slices.MaxFunc(met, time.Time.Compare).Format(time.RFC3339)
	}
	return at, p.setStatus(credentialsStatus, tree{lastRotation: at.UTC().Format(time.RFC3339), "lastHandledRequest": handled})
}

// rotatedAt returns when the last rotation of a connection Secret began, which may not exist, or the zero time.
func rotatedAt(secret *corev1.Secret) time.Time {
	if secret == nil {
		return time.Time{}
	}
	return meta.GetCredentialsRotatedAt(secret)
}
