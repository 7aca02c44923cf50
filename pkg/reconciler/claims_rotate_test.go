// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/testkit/shop"
	"github.com/bowline-dev/bowline/pkg/meta"
)

// The managed resource shows the request of its claim for new credentials, or that there is none.
func TestRotationOfClaims(t *testing.T) {
	t.Parallel()
	s := newClaimStage(t)
	monthly := xpv1.CredentialsPolicy{RotateEvery: &metav1.Duration{Duration: 720 * time.Hour}}
	s.create(s.newClass(func(c *shop.ItemClass) { c.SpecTemplate.Credentials = monthly }), s.newClaim(s.claim, nil))
	s.pass()
	t.Run("the policy comes from the class (N50)", func(t *testing.T) {
		if diff := cmp.Diff(monthly, s.item().Spec.Credentials); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
	s.ready(s.item())
	s.pass()
	const now, earlier, planned = "2026-01-02T15:04:05Z", "2025-01-02T15:04:05Z", "2099-01-02T15:04:05Z"
	for name, step := range map[string]struct{ own, passed, at, want, says string }{
		"a new one (N50)":                        {"", "", now, now, ""},
		"one for now replaces a plan (N50)":      {"", planned, now, now, ""},
		"an older one replaces a later (N50)":    {"", now, earlier, earlier, ""},
		"one that is withdrawn ends (N50)":       {"", planned, "", "", ""},
		"beside that of the resource (N50)":      {planned, "", now, now, ""},
		"what is no time (N50)":                  {"", planned, "tonight", "", "set it to a time"},
		"what nobody wants is not there (N50)":   {"", "", "", "", ""},
		"what is passed on is not written (N50)": {planned, now, now, now, ""},
	} {
		t.Run(name, func(t *testing.T) {
			item, claim := s.item(), s.claimOf("orders")
			s.edit(item, func() {
				item.Annotations[meta.AnnotationKeyRotateCredentialsAt] = step.own
				meta.SetClaimRotatesCredentialsAt(item, step.passed)
			})
			s.edit(claim, func() { claim.Annotations[meta.AnnotationKeyRotateCredentialsAt] = step.at })
			before := s.item().ResourceVersion
			s.pass()
			s.isBound("orders")
			got, message := s.item(), s.claimOf("orders").GetCondition(xpv1.TypeReady).Message
			passed := got.Annotations[meta.AnnotationKeyClaimRotatesCredentialsAt]
			if passed != step.want || got.Annotations[meta.AnnotationKeyRotateCredentialsAt] != step.own || !strings.Contains(message, step.says) {
				t.Errorf("the managed resource has %q and %q, want %+v; the claim shows %q", got.Annotations, passed, step, message)
			}
			if written := got.ResourceVersion != before; written != (step.passed != step.want) {
				t.Errorf("the pass wrote: %t", written)
			}
		})
	}
}
