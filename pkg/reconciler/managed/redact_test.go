// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/testkit/thing"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
)

func TestRedactSpellings(t *testing.T) {
	t.Parallel()
	for _, secret := range []string{"p@ss word&<1>", "tab\there", "ünï'code", `dou"ble`} {
		inJSON, err := json.Marshal(map[string]string{"password": secret})
		if err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string]string{
			"userinfo of a URL (R234)": (&url.URL{Scheme: "postgres", User: url.UserPassword("u", secret), Host: "h"}).String(),
			"JSON (R234)":              string(inJSON),
			"ASCII (R234)":             fmt.Sprintf("%+q", secret),
			"SQL (R234)":               "'" + strings.ReplaceAll(secret, "'", "''") + "'",
		} {
			if got := failure.Redact(errors.New(text), []byte(secret)).Error(); !strings.Contains(got, "(sensitive)") {
				t.Errorf("%s of %q is told: %s", name, secret, got)
			}
		}
	}
}

// The call uses up its time, so that its context reads nothing any more.
func TestRedactOperation(t *testing.T) {
	t.Parallel()
	c := newCage(t, managed.WithBackgroundOperations(300*time.Millisecond))
	c.passUntil("Finished Success")
	c.refuse("Delete", func(error) error {
		<-time.After(400 * time.Millisecond)
		return errors.New("too late for " + canaryInput)
	})
	c.delete()
	c.passUntil("Finished DestroyFailure")
	said := c.thing().GetCondition(xpv1.TypeLastAsyncOperation).Message
	if !strings.Contains(said, "too late for (sensitive)") || leaked(said+c.message()) != "" {
		t.Errorf("LastAsyncOperation says %s, Synced %s (R234)", said, c.message())
	}
}

func TestRedactPlan(t *testing.T) {
	t.Parallel()
	c := newCage(t)
	c.pass()
	c.refuse("Observe", func(err error) error { return err })
	if _, err := c.reconciler.Plan(t.Context(), c.thing()); err == nil || leaked(err.Error()) != "" {
		t.Errorf("Plan says %v (R234, N8)", err)
	}
	c.mend()
	c.during("Observe", func() { panic("at a loss") })
	if _, err := c.reconciler.Plan(t.Context(), c.thing()); err == nil || !strings.Contains(err.Error(), "panicked") {
		t.Errorf("Plan of code that panics says %v (N8)", err)
	}
}

func TestRedactConditions(t *testing.T) {
	t.Parallel()
	c := newCage(t)
	c.pass()
	c.alter(func(mg *thing.Thing, _ *managed.ExternalObservation) {
		mg.SetConditions(xpv1.Condition{Type: "Backup", Status: "False", Reason: "Failed", Message: "signing in with " + canaryInput,
			LastTransitionTime: metav1.Now()})
	})
	c.pass()
	if said := c.thing().GetCondition("Backup").Message; said != "signing in with (sensitive)" {
		t.Errorf("condition Backup says %q (R234)", said)
	}
}

type brokenError struct{ text string }

func (e *brokenError) Error() string { return e.text }

// A rudeSystem is one whose clients panic in all that is asked of them beside the calls.
type rudeSystem struct{ *thing.System }

func (r rudeSystem) Connect(ctx context.Context, mg *thing.Thing) (managed.TypedExternalClient[*thing.Thing], error) {
	external, err := r.System.Connect(ctx, mg)
	return rudeClient{external}, err
}

type rudeClient struct {
	managed.TypedExternalClient[*thing.Thing]
}

func (rudeClient) SecretValues() [][]byte { panic("no secrets") }

func (rudeClient) Disconnect(context.Context) error { panic("no hanging up") }

func TestPanicBeside(t *testing.T) {
	t.Parallel()
	for name, o := range map[string][]managed.ReconcilerOption{
		"within the pass (R16)":   nil,
		"in the background (R16)": {managed.WithBackgroundOperations(time.Minute)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, nil, o...)
			s.options = append(s.options, managed.WithTypedExternalConnecter[*thing.Thing](rudeSystem{s.system}))
			s.restart(s.env.Config)
			s.failOnce("Create", (*brokenError)(nil), nil)
			s.env.Eventually(t, "told", func(context.Context) error {
				s.pass()
				if got := s.state(); !strings.Contains(got, "ReconcileError") {
					return errors.New(got)
				}
				return nil
			})
		})
	}
}

// What a client says of differences may repeat any secret, and so may a setting.
func TestRedactDrift(t *testing.T) {
	t.Parallel()
	for name, said := range map[string]managed.ExternalObservation{
		"in words (R234, N8)": {Diff: "differs: " + indiscreet()},
		"by field (R234, N8)": {Drift: []xpv1.FieldDifference{
			{Path: "tags", Desired: indiscreet(), Observed: "begins with " + canaryInput[:9] + "…"},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCage(t)
			c.pass()
			c.options = append(c.options, managed.WithTypedExternalConnecter[*thing.Thing](canarySystem{c.system, &said}))
			c.restart(c.env.Config)
			c.edit(func(mg *thing.Thing) { mg.Spec.ManagementPolicies = policies("Observe") })
			c.events.Take()
			c.look("in drift")
			mg := c.thing()
			if got := mg.GetCondition(xpv1.TypeInSync); got.Reason != xpv1.ReasonDrifted || len(c.events.Take()) != 1 {
				t.Errorf("condition InSync: %s: %s; it is told once (N8, N13)", got.Reason, got.Message)
			}
			if drift := mg.Status.Drift; len(drift) > 0 && drift[0].Observed != "begins with (sensitive)…" {
				t.Errorf("a value that was cut off is told: %s", drift[0].Observed)
			}
			for action, allowed := range map[managed.PlannedAction]xpv1.ManagementPolicies{"Nothing": policies("Observe"), "Update": policies("*")} {
				mg.Spec.ManagementPolicies = allowed
				plan, err := c.reconciler.Plan(t.Context(), mg)
				if err != nil || plan.Action != action || leaked(fmt.Sprintf("%+v", plan)) != "" {
					t.Errorf("a plan of %s says %+v, %v", action, plan, err)
				}
			}
		})
	}
	t.Run("settings of a plan to create (R234, N8)", func(t *testing.T) {
		t.Parallel()
		c := newCage(t)
		mg := c.thing()
		mg.Spec.ForProvider.Tags = map[string]string{"hint": canaryInput}
		plan, err := c.reconciler.Plan(t.Context(), mg)
		if said := fmt.Sprintf("%+v", plan); err != nil || leaked(said) != "" || !strings.Contains(said, "hint") {
			t.Errorf("the plan says %s, %v", said, err)
		}
	})
}
