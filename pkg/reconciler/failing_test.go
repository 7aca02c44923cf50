// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
)

func writesSecrets(r *http.Request) bool {
	return r.Method != http.MethodGet && strings.Contains(r.URL.Path, "/secrets")
}

// A ready holder whose passes fail is never ready beside the failure.
func TestFailingPasses_N51(t *testing.T) {
	forClaimsAndTargets(t, map[string]func(*copyStage){
		"that last": func(s *copyStage) {
			s.delete(s.secret("copy"))
			s.refuse(writesSecrets)
			version := s.holder.GetResourceVersion()
			s.Eventually(s.t, "the holder reports it", func(context.Context) error {
				if _, err := s.tryPass("holder"); err == nil {
					return errors.New("the pass succeeded")
				}
				s.get("holder", s.holder)
				ready, synced := s.holder.GetCondition(xpv1.TypeReady), s.holder.GetCondition(xpv1.TypeSynced)
				switch failed := synced.Status == corev1.ConditionFalse; {
				case ready.Status == corev1.ConditionTrue && (failed || s.holder.GetResourceVersion() != version):
					s.t.Fatalf("Ready is True beside %+v", synced)
				case ready.Status != corev1.ConditionUnknown || !failed:
					return fmt.Errorf("Ready is %s, Synced %s", ready.Status, synced.Status)
				}
				return nil
			})
			s.reports(xpv1.ConditionReason(s.cannot), xpv1.ReasonReconcileError, "writing the connection Secret")
			s.wantEvents(s.cannot)
			s.onRequest(nil)
			s.pass()
			s.reports(xpv1.ReasonAvailable, xpv1.ReasonReconcileSuccess)
		},
		"for a moment": func(s *copyStage) {
			s.delete(s.secret("copy"))
			for range 2 {
				s.refuse(writesSecrets)
				if _, err := s.tryPass("holder"); err == nil {
					s.t.Error("the queue gets no error")
				}
				s.reports(xpv1.ReasonAvailable, xpv1.ReasonReconcileSuccess)
				s.wantEvents()
				s.onRequest(nil)
			}
			s.pass()
			s.agreed("copy")
		},
	}, (*copyStage).copied)
}
