// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/testkit/thing"
	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
)

// What the API server refuses of the status does not hide the rest of it.
func TestStatusThatTheSchemaRefuses(t *testing.T) {
	const field = "status.atProvider.neighbourRef.policy.resolution, which"
	observed := func(size int, resolution xpv1.ResolutionPolicy, failed error) act {
		return observed(func(mg *thing.Thing, o *observation) {
			if o.ResourceExists {
				o.Failed, mg.Status.AtProvider.Size = failed, size
				mg.Status.AtProvider.NeighbourRef = &xpv1.Reference{Name: "any", Policy: &xpv1.Policy{Resolution: &resolution}}
			}
		})
	}
	// writes are those of the status, also those that are refused.
	shows := func(state, message string, size, writes int, reasons ...event.Reason) act {
		return then(forget, pass, sees(state), reports(message), emitted(reasons...), holds("the status", func(s *stage) bool {
			return s.thing().Status.AtProvider.Size == size && s.wroteStatus() == writes && !strings.Contains(s.message(), "Whatever")
		}))
	}
	live(t, map[string]act{"client": func(*stage) {}}, func() []moment {
		return []moment{
			{"the first pass shows conditions (R184, R186, R234)", []act{observed(7, "Whatever", nil),
				shows(notSynced, field, 0, 2, managed.ReasonCreated, managed.ReasonCannotUpdateMR), requeued(50*time.Second, time.Hour)}},
			{"it is reported and stored once (N13)", []act{later(time.Minute), shows(notSynced, field, 0, 1),
				requeued(50*time.Second, time.Hour)}},
			{"also after a restart (N13)", []act{restarted, shows(notSynced, field, 0, 1)}},
			{"what fits is stored (R184)", []act{observed(8, "Optional", nil), shows(ready, "", 8, 1)}},
			{"what does not stays as it was (R184)", []act{observed(9, "Whatever", nil),
				shows(notSynced, field, 8, 2, managed.ReasonCannotUpdateMR)}},
			{"another error shows, too (R185)", []act{observed(9, "Whatever", errors.New("out of order")),
				shows(brokenDown, "out of order; the schema", 8, 2, managed.ReasonExternalFailed, managed.ReasonExternalFailed)}},
			{"and that once (N13)", []act{shows(brokenDown, field, 8, 1)}},
		}
	})
}

// What refuses the whole status, such as an admission policy, is an error like any other: nothing of it can be stored, and so
// there is nothing to report again at each pass.
func TestStatusThatAPolicyRefuses(t *testing.T) {
	const answer = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","code":422,
		"message":"denied request: no","details":{"group":"test.bowline.dev","kind":"things","causes":[{"message":"no"}]}}`
	denies := func(r *http.Request) (*http.Response, error) {
		if r.Method == http.MethodGet || !strings.HasSuffix(r.URL.Path, "/status") {
			return nil, nil
		}
		return &http.Response{StatusCode: http.StatusUnprocessableEntity, Header: http.Header{"Content-Type": {"application/json"}},
			Body: io.NopCloser(strings.NewReader(answer)), Request: r}, nil
	}
	denied := then(func(s *stage) {
		if err := s.tryPass(); err == nil || !strings.Contains(err.Error(), "denied request: no") {
			s.t.Errorf("the pass ends with %v", err)
		}
	}, emitted())
	play(t, scripts{
		"by an admission policy (R27, R184, N13)": {pass, forget,
			observed(func(mg *thing.Thing, _ *observation) { mg.Status.AtProvider.Size = 7 }), func(s *stage) { s.intercept = denies },
			denied, denied, func(s *stage) { s.intercept = nil }, restarted, pass, sees(ready),
			object("size 7", func(mg *thing.Thing) bool { return mg.Status.AtProvider.Size == 7 })},
	})
}

// Beside a failure InSync is never True, and Ready only if the pass saw that the external resource and its connection Secret can be used.
func TestFailuresBesideOtherConditions(t *testing.T) {
	boom := errors.New("boom")
	invalid := failure.Terminal(failure.ForTeam(failure.InvalidSettings, "too large", boom))
	stolen := alter(func(r *thing.Resource) { r.Owner = otherOwner })
	inSync := object("InSync is True", func(mg *thing.Thing) bool { return mg.GetCondition(xpv1.TypeInSync).Status == "True" })
	all := scripts{}
	for name, tc := range map[string]struct {
		failure act
		usable  bool
		inSync  string // status and reason
		mended  act    // nil: no fault
	}{
		"it cannot be updated":        {then(resize(7), refuseAll("Update", boom)), true, "False Drifted", nil},
		"an update is refused":        {then(size(2), refuseAll("Update", invalid)), true, "False Drifted", nil},
		"late initialization refused": {alter(func(r *thing.Resource) { r.Zone = "zone-with-a-long-name" }), true, "Unknown ReconcileError", setZone("north")},
		"it failed":                   {then(functions, failed(boom)), false, "Unknown ReconcileError", failed(nil)},
		"it belongs to another":       {stolen, false, "Unknown ReconcileError", func(s *stage) { s.play(give(thing.Resource{Size: 1})) }},
		"it is gone, with its data":   {then(recreatePolicy(xpv1.RecreateOnRequest), wiped, later(time.Minute)), false, "False ResourceLost", give(thing.Resource{Size: 1})},
		"it is gone, and may not be created": {then(allow("Observe"), wiped, later(time.Minute)), false, "False Unavailable",
			then(give(thing.Resource{Size: 1}), allow("*"))},
		"the Secret lacks its password": {func(s *stage) { s.editSecret(func(o *corev1.Secret) { delete(o.Data, "password") }) }, false,
			"Unknown ReconcileError", annotate(managed.AnnotationKeyCreatedKeys, "")},
		"the Secret belongs to another": {then(func(s *stage) { s.editSecret(func(o *corev1.Secret) { o.OwnerReferences = nil }) }, endpoint("elsewhere")), false,
			"Unknown ReconcileError", func(s *stage) {
				s.play(func(s *stage) { s.editSecret(nil) }, annotate(managed.AnnotationKeyCreatedKeys, ""))
			}},
	} {
		given := then(now, pass, forget, tc.failure, later(time.Second), pass, object("InSync is "+tc.inSync, func(mg *thing.Thing) bool {
			c, ready := mg.GetCondition(xpv1.TypeInSync), mg.GetCondition(xpv1.TypeReady)
			return fmt.Sprint(c.Status, " ", c.Reason) == tc.inSync && c.Message != "" && (ready.Status == "True") == tc.usable && xpv1.FailureOf(mg).Reason != ""
		}), forget, pass, wrote(0))
		all[name+" (P81, R180, N13)"] = []act{given, mended, func(s *stage) {
			if tc.mended != nil {
				s.play(tc.mended)
			}
		}, later(time.Hour), passes(2), sees(ready), inSync}
	}
	play(t, all)
}

// A call that ended in the background is reported as ended, also if the external resource turns out to be another's.
func TestOwnershipLostInBackground(t *testing.T) {
	play(t, scripts{"the call is over (N24, R188)": {inBackground, held("Create", pass, operation("Ongoing ")),
		eventually("the resource exists", func(s *stage) bool { return len(s.system.Snapshot()) == 1 }),
		alter(func(r *thing.Resource) { r.Owner = otherOwner }),
		until("it is refused", func(s *stage) bool { return s.state() == "Ready=Unavailable Synced=ReconcileError" }), operation("Finished Success")}})
}
