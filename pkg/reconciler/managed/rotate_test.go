// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/testkit/thing"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
)

// rotateAt requests new credentials at a time from now.
func rotateAt(d time.Duration) act {
	return func(s *stage) {
		s.play(annotate(meta.AnnotationKeyRotateCredentialsAt, s.clock.Add(d).Format(time.RFC3339)))
	}
}

// claimRotatesAt requests new credentials for the claim.
func claimRotatesAt(d time.Duration) act {
	return func(s *stage) {
		s.play(annotate(meta.AnnotationKeyClaimRotatesCredentialsAt, s.clock.Add(d).Format(time.RFC3339)))
	}
}

// every replaces the credentials at an age.
func every(age time.Duration) act {
	return edit(func(mg *thing.Thing) { mg.Spec.Credentials.RotateEvery = &metav1.Duration{Duration: age} })
}

// stores checks the passwords in the connection Secret, and that of the resource.
func stores(inUse, pending, has string) act {
	return holds("the Secret has "+inUse+" and "+pending+" pending, the resource "+has, func(s *stage) bool {
		return s.connection()["password"] == inUse && s.connection()["password.pending"] == pending && s.has().Password == has
	})
}

// refuseSecrets refuses writes to the connection Secret.
func refuseSecrets(s *stage) {
	s.fault = func(request string) (refuse, lose error) {
		if strings.Contains(request, "/secrets") {
			return errors.New("no quota"), nil
		}
		return nil, nil
	}
}

// A process that was frozen while another one rotated the credentials knows the former ones.
func TestRotatedMeanwhile(t *testing.T) {
	theirs := func(s *stage) { // another process finishes a rotation
		s.editSecret(func(secret *corev1.Secret) {
			secret.Data["password"] = []byte("theirs")
			metav1.SetMetaDataAnnotation(&secret.ObjectMeta, meta.AnnotationKeyCredentialsRotatedAt, s.clock.Format(time.RFC3339))
		})
		resource := s.system.Resources[s.key.Name]
		resource.Password = "theirs"
		s.system.Resources[s.key.Name] = resource
	}
	play(t, scripts{
		"former credentials are not restored (N50, N87)": {chooses, pass, later(time.Minute), forget, observed(func(_ *thing.Thing, o *managed.ExternalObservation) {
			o.ConnectionDetails = managed.ConnectionDetails{"password": []byte("chosen")}
		}), during("Observe", theirs), pass, stores("theirs", "", "theirs"), calls("Update", 0)},
	})
}

func TestRotation(t *testing.T) {
	created := then(chooses, pass, later(time.Minute), stores("chosen", "", "chosen"), forget)
	requested := then(created, rotateAt(0))
	claimWithdraws := annotate(meta.AnnotationKeyClaimRotatesCredentialsAt, "")
	kept := then(stores("chosen", "", "chosen"), calls("Update", 0))
	rotated := then(sees(ready), stores("rotated-1", "", "rotated-1"), emitted(managed.ReasonRotated),
		holds("the status has time and request", func(s *stage) bool {
			now, have := s.clock.Format(time.RFC3339), s.thing().Status.Credentials
			return have.LastRotationTime.UTC().Format(time.RFC3339) == now && have.LastHandledRequest != ""
		}))
	cannot := func(words string) act {
		return then(sees(notSynced), reports(words), emitted(managed.ReasonCannotRotate), calls("Update", 0),
			object("the failure is typed", func(mg *thing.Thing) bool { return xpv1.FailureOf(mg).Reason == failure.RotationImpossible }))
	}
	unmarked := holds("the Secret records no rotation and no overlap", func(s *stage) bool {
		secret := &corev1.Secret{}
		s.must(s.env.Client.Get(s.t.Context(), s.secret, secret))
		return secret.Annotations[meta.AnnotationKeyCredentialsRotatedAt]+secret.Annotations[meta.AnnotationKeyCredentialsOverlap] == ""
	})
	play(t, scripts{
		"on request, once (N50)":      {requested, pass, rotated, nothingNew, restarted, nothingNew},
		"on each later request (N50)": {requested, pass, rotated, later(time.Hour), rotateAt(0), pass, stores("rotated-2", "", "rotated-2")},
		"for its claim, whatever is planned (N50)": {created, rotateAt(time.Hour), claimRotatesAt(0), pass, rotated, nothingNew, later(time.Hour),
			forget, pass, stores("rotated-2", "", "rotated-2")},
		"whatever is planned for its claim (N50)":   {created, claimRotatesAt(time.Hour), rotateAt(0), pass, rotated, nothingNew},
		"once for a request of both (N50)":          {requested, claimRotatesAt(0), pass, rotated, nothingNew},
		"not when the claim withdraws a plan (N50)": {created, claimRotatesAt(time.Hour), pass, claimWithdraws, later(time.Hour), pass, kept},
		"also if the claim withdraws what is in progress (N50)": {created, claimRotatesAt(0), refuseAll("Update", errors.New("not now")), try,
			claimWithdraws, mended, pass, stores("rotated-1", "", "rotated-1")},
		"not for a request that is older than the last rotation (N50)":     {requested, pass, rotated, later(time.Hour), rotateAt(-2 * time.Hour), nothingNew},
		"not for a request that is older than the external resource (N50)": {created, rotateAt(-time.Hour), pass, kept, nothingNew},
		"not for a request that was handled, if the status is lost (N50)": {requested, pass, rotated, func(s *stage) {
			s.editStatus(s.key, func(mg *thing.Thing) { mg.Status.Credentials = xpv1.CredentialsStatus{} })
		}, pass, stores("rotated-1", "", "rotated-1")},
		"when they are too old (N50)": {every(24 * time.Hour), created, nothingNew, polled, later(24*time.Hour - 70*time.Second), pass, kept,
			requeued(0, 12*time.Second), later(10 * time.Second), forget, pass, stores("rotated-1", "", "rotated-1"), emitted(managed.ReasonRotated),
			later(time.Hour), nothingNew, restarted, later(23 * time.Hour), pass, stores("rotated-2", "", "rotated-2")},
		"a request counts as one by age (N50)": {every(24 * time.Hour), created, later(time.Hour), rotateAt(0), forget, pass, rotated,
			later(23 * time.Hour), nothingNew, later(time.Hour), pass, stores("rotated-2", "", "rotated-2")},
		"not of a kind without, by age (N50)": {every(24 * time.Hour), pass, forget, pass, sees(notSynced), reports("no credentials that can be rotated"),
			calls("Update", 0)},
		"at a time in the future (N50)": {created, rotateAt(30 * time.Second), pass, kept, requeued(20*time.Second, 33*time.Second),
			later(30 * time.Second), forget, pass, rotated},
		"not at what is no time (N50, R97)": {created, annotate(meta.AnnotationKeyRotateCredentialsAt, "tonight"), pass, sees(ready), kept,
			reports(meta.AnnotationKeyRotateCredentialsAt, "time such as"), emitted(managed.ReasonIgnored)},
		"a refusal keeps the former ones, and is retried with the same new ones (N50)": {requested, refuseAll("Update", errors.New("not now")), try,
			sees(notSynced), reports("rotating the credentials", "not now"), emitted(managed.ReasonCannotRotate), stores("chosen", "rotated-1", "chosen"),
			try, emitted(), mended, pass, rotated},
		"an answer that was lost is no refusal (N50)": {requested, lose("Update", io.ErrUnexpectedEOF), try, stores("chosen", "rotated-1", "rotated-1"),
			restarted, forget, pass, rotated},
		"nothing changes unless the new ones can be stored (N50)": {requested, refuseSecrets, try, kept, func(s *stage) { s.fault = nil }, pass,
			stores("rotated-2", "", "rotated-2")},
		"they are in use once the external system has applied them (N50)": {requested, system(func(s *thing.System) { s.SlowUpdate = true }), pass,
			stores("chosen", "rotated-1", "rotated-1"), requeued(0, time.Second), pass, calls("Update", 1), stores("chosen", "rotated-1", "rotated-1"),
			system(func(s *thing.System) { s.SlowUpdate = false }), pass, calls("Update", 1), rotated},
		"in the background (N50, R197)": {inBackground, chooses, untilOperation("Finished Success"), pass, later(time.Minute), rotateAt(0), forget,
			until("the rotation ends", func(s *stage) bool { return s.connection()["password"] == "rotated-1" }), rotated},
		"with another difference (N50)": {requested, resize(7), pass, stores("rotated-1", "", "rotated-1"), sized(1),
			emitted(managed.ReasonUpdated, managed.ReasonRotated)},
		"they replace those that were lost (N50)": {created, func(s *stage) { s.editSecret(nil) }, pass,
			reports("request new credentials (bowline rotate)"), rotateAt(0), pass, sees(ready), stores("rotated-2", "", "rotated-2")},
		"not of a kind without (N50)": {pass, later(time.Minute), rotateAt(0), forget, pass, cannot("no credentials that can be rotated"),
			annotate(meta.AnnotationKeyRotateCredentialsAt, ""), pass, sees(ready)},
		"not without a connection Secret (N50)": {edit(func(mg *thing.Thing) { mg.Spec.WriteConnectionSecretToReference = nil }), chooses, pass,
			later(time.Minute), rotateAt(0), forget, pass, cannot("writeConnectionSecretToRef")},
		"not without permission to update (N50)": {allow("Observe", "Create"), chooses, pass, later(time.Minute), rotateAt(0), forget, pass,
			cannot("add Update")},
		"not where users choose them (N50)": {requested, system(func(s *thing.System) { s.UsersChoose = true }), pass, cannot("users choose")},
		"what is pending ends where users choose them (N50)": {requested, refuseAll("Update", errors.New("not now")), try, mended,
			system(func(s *thing.System) { s.UsersChoose = true }), pass, stores("chosen", "", "chosen"), unmarked, forget, pass, cannot("users choose")},
		"an immutable Secret (N50)": {requested, func(s *stage) {
			s.editSecret(func(secret *corev1.Secret) { secret.Immutable = new(true) })
		}, try, kept, reports("is immutable", "pause the object", "use by a ProviderConfig", "resourceVersion and uid")},
		"paused (N50, R96)": {requested, annotate(meta.AnnotationKeyReconciliationPaused, "true"), pass, kept},
		"a foreign Secret (N50, R203)": {chooses, func(s *stage) { s.store(s.secret, map[string]string{"password": "theirs"}) }, try, later(time.Minute),
			rotateAt(0), try, stores("theirs", "", ""), calls("Update", 0)},
	})
}

// TestOverlap rotates credentials of a system that can accept former ones beside new ones.
func TestOverlap(t *testing.T) {
	const metric = "bowline_credential_rotations_total"
	overlaps := then(chooses, system(func(s *thing.System) { s.Overlaps = true }))
	overlap := func(d time.Duration) act {
		return edit(func(mg *thing.Thing) { mg.Spec.Credentials.Overlap = &metav1.Duration{Duration: d} })
	}
	// aged has credentials that are older than they may be, with an overlap unless it is 0.
	aged := func(d time.Duration, acts ...act) act {
		if d > 0 {
			acts = append(acts, overlap(d))
		}
		return then(measured, every(24*time.Hour), then(acts...), pass, later(24*time.Hour), forget)
	}
	rotated := func(to string, want time.Duration) act {
		return then(sees(ready), stores(to, "", to), holds("the system was given the overlap", func(s *stage) (given bool) {
			s.system.Do(func(system *thing.System) { given = system.Overlap == want })
			return given
		}))
	}
	refused := then(refuseAll("Update", errors.New("not now")), try, stores("chosen", "rotated-1", "chosen"), mended)
	ineffective := reports("spec.credentials.overlap has no effect")
	play(t, scripts{
		"as the user chooses, by age (N59)":       {aged(time.Hour, overlaps), pass, rotated("rotated-1", time.Hour), counts(metric, "done", 1), nothingNew},
		"ten minutes by default (N59)":            {aged(0, overlaps), pass, rotated("rotated-1", 10*time.Minute)},
		"half of the age at most (N59)":           {aged(0, overlaps, every(4*time.Minute)), pass, rotated("rotated-1", 2*time.Minute)},
		"none if the user wants none (N59)":       {aged(0, overlaps, overlap(0)), pass, rotated("rotated-1", 0)},
		"none on request (N59)":                   {aged(time.Hour, overlaps), rotateAt(0), pass, rotated("rotated-1", 0)},
		"none on request of the claim (N59)":      {aged(time.Hour, overlaps), claimRotatesAt(0), pass, rotated("rotated-1", 0)},
		"a request ends one in progress (N59)":    {aged(time.Hour, overlaps), pass, rotated("rotated-1", time.Hour), later(time.Minute), rotateAt(0), pass, rotated("rotated-2", 0)},
		"an earlier request does not count (N59)": {aged(time.Hour, overlaps), rotateAt(-48 * time.Hour), pass, rotated("rotated-1", time.Hour)},
		"a retry has the same (N59)": {aged(time.Hour, overlaps), refused, counts(metric, "failed", 1), overlap(2 * time.Hour), restarted, pass,
			rotated("rotated-1", time.Hour), counts(metric, "done", 1), restarted, pass, counts(metric, "done", 1)},
		"a retry of a request that is withdrawn has none (N59)": {aged(time.Hour, overlaps), claimRotatesAt(0), refused,
			annotate(meta.AnnotationKeyClaimRotatesCredentialsAt, ""), restarted, pass, rotated("rotated-1", 0)},
		"a request meanwhile is met next, at once (N59)": {aged(time.Hour, overlaps), refused, later(time.Minute), rotateAt(0), pass,
			rotated("rotated-1", time.Hour), requeued(0, time.Second), later(time.Second), pass, rotated("rotated-3", 0), polled},
		"a kind that accepts one password says so (N59)": {chooses, every(24 * time.Hour), overlap(time.Hour), pass, sees(ready), ineffective,
			emitted(managed.ReasonCreated, managed.ReasonIgnored), later(24 * time.Hour), forget, pass, rotated("rotated-1", 0), ineffective},
	})
}

// staleSecrets is a client whose cache shows a Secret as it was.
type staleSecrets struct {
	client.Client
	before *corev1.Secret
}

func (c staleSecrets) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if secret, ok := o.(*corev1.Secret); ok {
		c.before.DeepCopyInto(secret)
		return nil
	}
	return c.Client.Get(ctx, key, o, opts...)
}

func TestRotationBehindTheCache(t *testing.T) {
	play(t, scripts{"an update sends the present credentials (N50)": {chooses, pass, later(time.Minute), func(s *stage) {
		before := &corev1.Secret{}
		s.must(s.env.Client.Get(s.t.Context(), s.secret, before))
		s.play(rotateAt(0), pass, stores("rotated-1", "", "rotated-1"))
		s.wrap = func(c client.Client) client.Client { return staleSecrets{c, before} }
	}, restarted, size(2), pass, stores("rotated-1", "", "rotated-1"), sized(2)}})
}
