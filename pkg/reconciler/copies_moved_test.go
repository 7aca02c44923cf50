// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"strings"
	"testing"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
)

// A managed resource that names another connection Secret costs its copies nothing that only the creation of the external resource returned.
func TestMovedSource(t *testing.T) {
	moved := func(s *copyStage) {
		s.edit(s.item, func() { s.item.Spec.WriteConnectionSecretToReference.Name = "moved" })
	}
	lacking := func(s *copyStage) { s.publish(s.item, map[string]string{"username": "root"}) }
	kept := func(s *copyStage) {
		for range 2 {
			s.pass()
			s.stays()
			s.hasLost("lost password", `"copy" stays`, "your platform team")
		}
		s.wantEvents(s.lost)
		source := s.secret("moved")
		s.edit(source, func() { source.Data["password"] = []byte("hunter3") })
		s.pass()
		s.holds("copy", map[string]string{"username": "root", "password": "hunter3"})
		s.agreed("copy")
	}
	forClaimsAndTargets(t, map[string]func(*copyStage){
		"the new one lacks a key (R297, N42)": func(s *copyStage) {
			moved(s)
			lacking(s)
			kept(s)
		},
		"the new one lacks a key, and the former one is gone (R297, N42)": func(s *copyStage) {
			s.delete(s.secret("source"))
			moved(s)
			lacking(s)
			kept(s)
		},
		"there is no new one yet, which nothing reports as lost (R293, N42)": func(s *copyStage) {
			moved(s)
			s.pass()
			s.stays()
			if shown := s.conditions(); strings.Contains(shown, "lost") || strings.Contains(shown, "gone") {
				s.t.Errorf("it shows %s", shown)
			}
			s.publish(s.item, map[string]string{"username": "root", "password": "hunter3"})
			s.pass()
			s.agreed("copy")
			s.reports(xpv1.ReasonAvailable, xpv1.ReasonReconcileSuccess)
		},
	}, (*copyStage).created)
}
