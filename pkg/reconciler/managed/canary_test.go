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
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	corev1 "k8s.io/api/core/v1"
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
	canaryDetail     = `canary-det"ail/4`     // a connection detail that Observe tells
)

func canaries() []string {
	return []string{canaryCredential, canaryGenerated, canaryInput, canaryDetail}
}

// indiscreet says all secrets that there are in whatever way one may spell them, as external systems do in errors.
func indiscreet() string {
	var text strings.Builder
	for _, c := range canaries() {
		encoded := base64.StdEncoding.EncodeToString([]byte(c))
		fmt.Fprintf(&text, "%s %q https://user:%s@host/%s %s; ", c, c, url.QueryEscape(c), url.PathEscape(c), encoded)
	}
	return text.String()
}

// leaked returns the first secret that a text shows.
func leaked(text string) string {
	for _, c := range canaries() {
		quoted := fmt.Sprintf("%q", c)
		inJSON, _ := json.Marshal(quoted[1 : len(quoted)-1])
		spellings := []string{c, quoted[1 : len(quoted)-1], string(inJSON[1 : len(inJSON)-1]), url.QueryEscape(c), url.PathEscape(c),
			base64.StdEncoding.EncodeToString([]byte(c))}
		for _, spelling := range spellings {
			if strings.Contains(text, spelling) {
				return spelling
			}
		}
	}
	return ""
}

// A canarySystem is one whose clients know and tell secrets.
type canarySystem struct {
	*thing.System
	differs *managed.ExternalObservation // whose Diff and Drift Observe tells; nil for those of the system
}

func (c canarySystem) Connect(ctx context.Context, mg *thing.Thing) (managed.TypedExternalClient[*thing.Thing], error) {
	external, err := c.System.Connect(ctx, mg)
	return canaryClient{external, c.differs}, failure.Redact(err, canaryClient{}.SecretValues()...)
}

type canaryClient struct {
	managed.TypedExternalClient[*thing.Thing]
	differs *managed.ExternalObservation
}

func (c canaryClient) Unwrap() any { return c.TypedExternalClient }

func (canaryClient) SecretValues() [][]byte { return [][]byte{[]byte(canaryCredential)} }

func (c canaryClient) Observe(ctx context.Context, mg *thing.Thing) (managed.ExternalObservation, error) {
	o, err := c.TypedExternalClient.Observe(ctx, mg)
	if o.ResourceExists {
		o.ConnectionDetails["token"] = []byte(canaryDetail)
		o.ConnectionDetails["username"], o.ConnectionDetails["database"] = []byte("postgres"), []byte("postgres")
		mg.SetConditions(xpv1.Available().WithMessage("works, says " + indiscreet()))
	}
	if c.differs != nil {
		o.ResourceUpToDate, o.Diff, o.Drift = false, c.differs.Diff, c.differs.Drift
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

// A cage is a stage of which everything that is told is kept.
type cage struct {
	*stage
	metrics *prometheus.Registry
	spans   *tracetest.SpanRecorder
	log     *logLines
}

func newCage(t *testing.T, o ...managed.ReconcilerOption) *cage {
	t.Helper()
	c := &cage{stage: newStage(t, nil, o...), log: &logLines{}}
	input := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.env.Namespace, Name: "input"},
		Data:       map[string][]byte{"password": []byte(canaryInput)},
	}
	c.store(input)
	c.edit(func(mg *thing.Thing) {
		mg.Spec.ForProvider.PasswordSecretRef = &xpv1.SecretKeySelector{Namespace: c.env.Namespace, Name: "input", Key: "password"}
	})
	c.options = append(c.options,
		managed.WithTypedExternalConnecter[*thing.Thing](canarySystem{System: c.system}), managed.WithLogger(c.log.logger(10)))
	c.spans = c.trace()
	c.metrics = c.measure()
	return c
}

func (c *cage) passUntilReady() {
	c.t.Helper()
	c.env.Eventually(c.t, "Ready", func(context.Context) error {
		c.pass()
		if got := c.state(); got != "Ready=Available Synced=ReconcileSuccess" {
			return errors.New(got)
		}
		return nil
	})
}

// look passes a few times and looks at everything that is told.
func (c *cage) look(when string) {
	c.t.Helper()
	for range 3 {
		func() {
			defer func() { _ = recover() }() // as controller-runtime does; a test of its own reads what it says
			_, _ = c.tryPass()
		}()
	}
	told := map[string]string{
		"metrics": exposition(c.t, c.metrics),
		"the log": strings.Join(c.log.take(), "\n"),
		"spans":   describe(c.spans.Ended()),
		"events":  fmt.Sprintf("%+v", c.events.All()),
	}
	c.spans.Reset()
	if mg := c.thing(); mg != nil {
		mg.ManagedFields = nil
		text, err := json.Marshal(mg)
		if err != nil {
			c.t.Fatal(err)
		}
		told["the object"] = string(text)
	}
	for where, text := range told {
		if secret := leaked(text); secret != "" {
			_, around, _ := strings.Cut(text, secret)
			before := text[:len(text)-len(around)]
			c.t.Errorf("%s: %s shows %s: %s", when, where, secret, before[max(0, len(before)-300):])
		}
	}
}

// exposition is what Prometheus reads.
func exposition(t *testing.T, from prometheus.Gatherer) string {
	t.Helper()
	answer := httptest.NewRecorder()
	promhttp.HandlerFor(from, promhttp.HandlerOpts{}).ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if answer.Code != http.StatusOK {
		t.Fatalf("reading the metrics: %s", answer.Body)
	}
	return answer.Body.String()
}

func describe(spans []trace.ReadOnlySpan) string {
	var text strings.Builder
	for _, s := range spans {
		fmt.Fprintf(&text, "%s %v %+v %+v\n", s.Name(), s.Attributes(), s.Status(), s.Events())
	}
	return text.String()
}

// refuse makes calls of a verb fail with an error that says everything, until mend is called.
func (c *cage) refuse(verb string, as func(error) error) {
	c.system.Do(func(sys *thing.System) {
		sys.Fault = func(called string) (error, error) {
			if called == verb {
				return as(errors.New("refused, since " + indiscreet())), nil
			}
			return nil, nil
		}
	})
}

// patient is an error of a system that asks to be left alone for a while.
type patient struct{ error }

func (patient) RetryAfter() time.Duration { return time.Second }

func (c *cage) mend() { c.system.Do(func(sys *thing.System) { sys.Fault = nil }) }

// The life of an object whose external system says in every error all secrets that there are: none gets anywhere.
func TestCanary(t *testing.T) {
	t.Parallel()
	for name, o := range map[string][]managed.ReconcilerOption{
		"calls within the pass (R234, N8)":         nil,
		"calls in the background (R234, N8)":       {managed.WithBackgroundOperations(time.Minute)},
		"names that the system chooses (R234, N8)": {managed.WithVendorNames()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCage(t, o...)
			c.system.VendorNames = strings.Contains(name, "names")
			for verb, knows := range map[string]string{"Connect": canaryCredential, "Create": canaryCredential + canaryInput} {
				c.refuse(verb, func(error) error { return errors.New("refused, since " + knows) })
				c.look(verb + " fails before there is more to tell")
			}
			c.mend()
			c.look("created")
			c.passUntilReady()
			if have := c.connection(); have["password"] != canaryGenerated || have["token"] != canaryDetail {
				t.Fatalf("the secrets went nowhere: %v", have)
			}
			c.look("settled")
			for _, verb := range []string{"Observe", "Update", "Delete"} {
				switch verb {
				case "Update":
					c.resize(3)
				case "Delete":
					c.delete()
				}
				for way, as := range map[string]func(error) error{
					"failing":  func(err error) error { return err },
					"for good": failure.Terminal,
					"unknown":  failure.OutcomeUnknown,
					"later":    func(err error) error { return patient{err} },
				} {
					c.refuse(verb, as)
					c.look(verb + " " + way)
				}
				c.restart(c.env.Config)
				c.look(verb + " fails for a process that knows nothing yet")
				c.mend()
				if verb != "Delete" {
					c.look(verb + " works again")
				}
			}
		})
	}
}

// Drift names fields, and what is said of a resource that failed is an error like any other.
func TestCanaryDrift(t *testing.T) {
	t.Parallel()
	c := newCage(t)
	c.look("created")
	t.Run("drift that no update settles (R234, N8)", func(t *testing.T) {
		c.system.Do(func(sys *thing.System) { sys.Stubborn = true })
		c.resize(7)
		c.look("in drift")
		if got := c.thing().GetCondition(xpv1.TypeInSync).Status; got != corev1.ConditionFalse {
			t.Errorf("InSync is %s", got)
		}
	})
	t.Run("what the system reports to be wrong (R234)", func(t *testing.T) {
		c.system.Do(func(sys *thing.System) { sys.Failed = errors.New("broken by " + indiscreet()) })
		c.look("failed")
		c.wantMessage("broken by (sensitive)")
	})
	t.Run("details that are no secrets may be told (R211, R234)", func(t *testing.T) {
		c.system.Do(func(sys *thing.System) { sys.Failed = errors.New("apt-get install postgresql") })
		c.look("failed again")
		c.wantMessage("apt-get install postgresql")
	})
	t.Run("a secret input whose Secret is gone before the object (R234)", func(t *testing.T) {
		c := newCage(t)
		c.pass()
		c.pass()
		input := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: c.env.Namespace, Name: "input"}}
		if err := c.env.Client.Delete(t.Context(), input); err != nil {
			t.Fatal(err)
		}
		c.delete()
		c.refuse("Delete", func(error) error { return errors.New("password " + canaryInput + " is still in use") })
		c.pass()
		c.wantMessage("password (sensitive) is still in use")
		c.look("deleted without its Secret")
	})
	t.Run("a panic within the pass (R234)", func(t *testing.T) {
		c := newCage(t)
		c.pass()
		c.during("Observe", func() { panic("at a loss, since " + indiscreet()) })
		c.pass()
		c.wantMessage("the provider's code panicked")
		c.look("panicked")
	})
	t.Run("a panic in the background (R234)", func(t *testing.T) {
		c := newCage(t, managed.WithBackgroundOperations(time.Minute))
		c.during("Create", func() { panic("at a loss, since " + canaryInput + canaryCredential) })
		c.look("panicking")
	})
}
