// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/testkit/thing"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
)

// Secrets that are easy to find, with a character that is spelt differently in quotes and URLs.
const (
	canaryCredential = `canary-cred"ential/1` // the client signs in with it
	canaryGenerated  = `canary-gener"ated/2`  // the external system made it up at creation
	canaryInput      = `canary-inp"ut/3`      // a Secret that the object refers to
	canaryDetail     = `canary-det"ail/4`     // a connection detail that Observe returns
)

// spellings returns all secrets in whatever way one may spell them.
func spellings() (all []string) {
	for _, c := range []string{canaryCredential, canaryGenerated, canaryInput, canaryDetail} {
		quoted := strings.Trim(fmt.Sprintf("%q", c), `"`)
		inJSON, _ := json.Marshal(quoted)
		all = append(all, c, quoted, strings.Trim(string(inJSON), `"`), url.QueryEscape(c), url.PathEscape(c),
			base64.StdEncoding.EncodeToString([]byte(c)))
	}
	return all
}

// indiscreet contains all secrets, as errors of external systems do.
func indiscreet() string {
	var text strings.Builder
	for c := range slices.Chunk(spellings(), 6) {
		fmt.Fprintf(&text, "%s %s https://user:%s@host/%s %s; ", c[0], c[1], c[3], c[4], c[5])
	}
	return text.String()
}

// leaked returns the first secret that a text shows.
func leaked(text string) string {
	all := spellings()
	if i := slices.IndexFunc(all, func(spelling string) bool { return strings.Contains(text, spelling) }); i >= 0 {
		return all[i]
	}
	return ""
}

// A canarySystem is one whose clients know and return secrets.
type canarySystem struct{ *thing.System }

func (c canarySystem) Connect(ctx context.Context, mg *thing.Thing) (managed.TypedExternalClient[*thing.Thing], error) {
	external, err := c.System.Connect(ctx, mg)
	return canaryClient{external}, failure.Redact(err, canaryClient{}.SecretValues()...)
}

type canaryClient struct {
	managed.TypedExternalClient[*thing.Thing]
}

func (c canaryClient) Unwrap() any { return c.TypedExternalClient }

func (canaryClient) SecretValues() [][]byte { return [][]byte{[]byte(canaryCredential)} }

func (c canaryClient) Observe(ctx context.Context, mg *thing.Thing) (managed.ExternalObservation, error) {
	o, err := c.TypedExternalClient.Observe(ctx, mg)
	if o.ResourceExists {
		o.ConnectionDetails["token"] = []byte(canaryDetail)
		o.ConnectionDetails["username"], o.ConnectionDetails["database"] = []byte("postgres"), []byte("postgres")
		mg.SetConditions(xpv1.Available().WithMessage("works, with " + indiscreet()))
	}
	return o, err
}

func (c canaryClient) Create(ctx context.Context, mg *thing.Thing) (managed.ExternalCreation, error) {
	creation, err := c.TypedExternalClient.Create(ctx, mg)
	if err == nil {
		creation.ConnectionDetails["password"] = []byte(canaryGenerated)
	}
	return creation, err
}

func (canaryClient) Disconnect(context.Context) error {
	return errors.New("hung up on " + canaryCredential)
}

// canaries makes clients return secrets, and has everything kept that is reported.
func canaries(s *stage) {
	s.log = &logLines{}
	s.play(password(canaryInput), with(managed.WithTypedExternalConnecter[*thing.Thing](canarySystem{s.system}),
		managed.WithLogger(s.log.logger(10))), traced)
}

// quiet passes a few times and looks for secrets in everything that is reported.
func quiet(s *stage) {
	s.t.Helper()
	for range 3 {
		func() {
			defer func() { _ = recover() }() // as controller-runtime does
			try(s)
		}()
	}
	exposition := httptest.NewRecorder()
	promhttp.HandlerFor(s.metrics, promhttp.HandlerOpts{}).ServeHTTP(exposition,
		httptest.NewRequest(http.MethodGet, "/metrics", nil))
	spans := ""
	for _, span := range s.spans.Ended() {
		spans += fmt.Sprintf("%s %v %+v %+v\n", span.Name(), span.Attributes(), span.Status(), span.Events())
	}
	s.spans.Reset()
	object := ""
	if mg := s.thing(); mg != nil {
		mg.ManagedFields = nil
		text, err := json.Marshal(mg)
		s.must(err)
		object = string(text)
	}
	for where, text := range map[string]string{"the metrics": exposition.Body.String(), "the log": strings.Join(s.log.take(), "\n"),
		"spans": spans, "events": fmt.Sprintf("%+v", s.events.All()), "the object": object} {
		if secret := leaked(text); secret != "" {
			before, _, _ := strings.Cut(text, secret)
			s.t.Errorf("%s: shows %s: %s", where, secret, before[max(0, len(before)-300):])
		}
	}
}

// patient is an error of a system that asks to wait.
type patient struct{ error }

func (patient) RetryAfter() time.Duration { return time.Second }

// The life of an object whose external system returns all secrets in every error: none gets anywhere.
func TestCanary(t *testing.T) {
	refused := errors.New("refused, since " + indiscreet())
	fails := func(verb string) act {
		var acts []act
		for _, err := range []error{refused, failure.Terminal(refused), failure.OutcomeUnknown(refused), patient{refused}} {
			acts = append(acts, refuseAll(verb, err), quiet)
		}
		return then(append(acts, restarted, quiet, mended)...)
	}
	before := func(verb, knows string) act { return then(refuseAll(verb, errors.New("refused, since "+knows)), quiet) }
	life := then(canaries, before("Connect", canaryCredential), before("Create", canaryCredential+canaryInput), mended, quiet,
		until("Ready", func(s *stage) bool { return s.state() == ready }),
		holds("the secrets are stored", func(s *stage) bool {
			return s.connection()["password"] == canaryGenerated && s.connection()["token"] == canaryDetail
		}), quiet, fails("Observe"), quiet, resize(3), fails("Update"), quiet, deleted, fails("Delete"))
	panics := func(verb, text string) act { return during(verb, func(*stage) { panic("at a loss, since " + text) }) }
	play(t, scripts{
		"calls within the pass (R234, N8)":         {life},
		"calls in the background (R234, N8)":       {inBackground, life},
		"names that the system chooses (R234, N8)": {vendorNames, life},
		"drift, a failed resource, and details that are no secrets (R211, R234, N8)": {canaries, quiet, stubborn, resize(7), quiet,
			object("drift", func(mg *thing.Thing) bool { return mg.GetCondition(xpv1.TypeInSync).Status == "False" }),
			failed(errors.New("broken by " + indiscreet())), quiet, reports("broken by (sensitive)"),
			failed(errors.New("apt-get install postgresql")), quiet, reports("apt-get install postgresql")},
		"a secret input whose Secret is gone before the object (R234)": {canaries, passes(2), inputRemoved, deleted,
			refuseAll("Delete", errors.New("password "+canaryInput+" is still in use")), pass,
			reports("password (sensitive) is still in use"), quiet},
		"a panic within the pass (R234)": {canaries, pass, panics("Observe", indiscreet()), pass,
			reports("the provider's code panicked"), quiet},
		"a panic in the background (R234)": {inBackground, canaries, panics("Create", canaryInput+canaryCredential), quiet},
		// The call uses up its time, so that its context reads nothing any more.
		"a call in the background that takes too long (R234)": {with(managed.WithBackgroundOperations(300 * time.Millisecond)),
			canaries,
			untilOperation("Finished Success"), func(s *stage) {
				s.play(faults(func(verb string) (error, error) {
					if verb != "Delete" {
						return nil, nil
					}
					<-time.After(400 * time.Millisecond)
					return errors.New("too late for " + canaryInput), nil
				}))
			}, deleted, untilOperation("Finished DestroyFailure"), object("no secret", func(mg *thing.Thing) bool {
				message := mg.GetCondition(xpv1.TypeLastAsyncOperation).Message
				return strings.Contains(message, "too late for (sensitive)") && leaked(message+mg.GetCondition(xpv1.TypeSynced).Message) == ""
			})},
		"a condition of the author (R234)": {canaries, pass, observed(func(mg *thing.Thing, _ *managed.ExternalObservation) {
			mg.SetConditions(xpv1.Condition{Type: "Backup", Status: "False", Reason: "Failed", Message: "signing in with " + canaryInput,
				LastTransitionTime: metav1.Now()})
		}), pass, object("condition Backup", func(mg *thing.Thing) bool {
			return mg.GetCondition("Backup").Message == "signing in with (sensitive)"
		})},
	})
}

// What a client reports of differences may repeat any secret, and so may a setting.
func TestCanaryPlan(t *testing.T) {
	plans := func(s *stage, mg *thing.Thing, action managed.PlannedAction) {
		plan, err := s.reconciler.Plan(s.t.Context(), mg)
		if err != nil || plan.Action != action || leaked(fmt.Sprintf("%+v", plan)) != "" {
			s.t.Errorf("a plan of %s is %+v, %v", action, plan, err)
		}
	}
	differs := func(of managed.ExternalObservation) []act {
		return []act{canaries, pass, observed(func(_ *thing.Thing, o *managed.ExternalObservation) {
			o.ResourceUpToDate, o.Diff, o.Drift = false, of.Diff, of.Drift
		}), allow("Observe"), forget, quiet, emitted(managed.ReasonDrifted), func(s *stage) {
			mg := s.thing()
			if drift := mg.Status.Drift; len(drift) > 0 && drift[0].Observed != "begins with (sensitive)…" {
				s.t.Errorf("a value that was cut off shows: %s", drift[0].Observed)
			}
			plans(s, mg, managed.PlanNothing)
			mg.Spec.ManagementPolicies = policies("*")
			plans(s, mg, managed.PlanUpdate)
		}}
	}
	fails := func(text string) act {
		return func(s *stage) {
			if _, err := s.reconciler.Plan(s.t.Context(),
				s.thing()); err == nil || leaked(err.Error()) != "" || !strings.Contains(err.Error(), text) {
				s.t.Errorf("the plan ends with %v", err)
			}
		}
	}
	play(t, scripts{
		"in words (R234, N8)": differs(managed.ExternalObservation{Diff: "differs: " + indiscreet()}),
		"by field (R234, N8)": differs(managed.ExternalObservation{Drift: []xpv1.FieldDifference{
			{Path: "tags", Desired: indiscreet(), Observed: "begins with " + canaryInput[:9] + "…"}}}),
		"settings of a plan to create (R234, N8)": {canaries, func(s *stage) {
			mg := s.thing()
			mg.Spec.ForProvider.Tags = map[string]string{"hint": canaryInput}
			plans(s, mg, managed.PlanCreate)
		}},
		"a plan that fails (R234, N8)": {canaries, pass, refuseAll("Observe", errors.New("refused, since "+indiscreet())),
			fails("refused")},
		"a plan of code that panics (N8)": {canaries, pass, during("Observe", func(*stage) { panic("at a loss") }), fails("panicked")},
	})
}

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
				t.Errorf("%s of %q shows: %s", name, secret, got)
			}
		}
	}
}
