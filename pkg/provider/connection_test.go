// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package provider_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/testkit/fault"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
)

// Failures to connect are reported, and resolved within a second of their cause without polling.
func TestWakeUps(t *testing.T) {
	t.Parallel()
	s := startStage(t, managed.WithPollInterval(time.Hour), managed.WithBackoff(time.Hour, time.Hour))
	item := s.teamItem("item", "late")
	item.Spec.ForProvider.Size = new(int64(1))
	s.Create(item)
	reports := func(reason failure.Reason, words string) {
		t.Helper()
		s.Eventually(t, fmt.Sprintf("reason %s and %q", reason, words), func(ctx context.Context) error {
			if err := s.Client.Get(ctx, client.ObjectKeyFromObject(item), item); err != nil {
				return err
			}
			synced, reconciling := item.GetCondition(xpv1.TypeSynced), item.GetCondition(xpv1.TypeReconciling)
			if reconciling.Reason != reason || !strings.Contains(synced.Message, words) {
				return fmt.Errorf("Reconciling %s, Synced %q", reconciling.Reason, synced.Message)
			}
			return nil
		})
	}
	soon := func(done func()) {
		t.Helper()
		began := time.Now()
		done()
		if took := time.Since(began); took > time.Second {
			t.Errorf("it took %v", took)
		}
	}
	config := s.teamConfig("late")
	config.Spec = s.spec("missing")
	t.Run("no configuration (R231)", func(*testing.T) { reports(failure.ProviderConfigUnavailable, `cannot get ProviderConfig "late"`) })
	s.Create(config)
	t.Run("no Secret (R231)", func(*testing.T) {
		reports(failure.ProviderConfigUnavailable, `cannot get credentials of ProviderConfig "late"`)
	})
	secret := &corev1.Secret{ObjectMeta: s.Meta(s.Namespace, "missing"), Data: map[string][]byte{"other": []byte("first")}}
	s.Create(secret)
	t.Run("no key (R231)", func(*testing.T) { reports(failure.ProviderConfigUnavailable, `has no value for key "key"`) })
	if s.depot.allRequests() > 0 || s.created() > 0 {
		t.Error("the external system was called without credentials (R231)")
	}
	s.Change(secret, func() { secret.Data = map[string][]byte{"key": []byte("first")} })
	t.Run("credentials appear (R232)", func(*testing.T) { soon(func() { s.settled(item) }) })
	second, stop := newDepot("first")
	t.Cleanup(stop)
	s.Change(config, func() { config.Spec.Endpoint = second.URL })
	t.Run("another endpoint (R227)", func(*testing.T) { soon(func() { s.until("items", second.itemCount, 1) }) })
	second.revoke("first")
	second.allow("other")
	s.Change(item, func() { item.Spec.ForProvider.Size = new(int64(2)) })
	t.Run("key revoked (R232)", func(*testing.T) { reports(failure.ExternalCallFailed, "cannot get item") })
	s.Change(secret, func() { secret.Data = map[string][]byte{"key": []byte("other")} })
	t.Run("key replaced (R232)", func(*testing.T) { soon(func() { s.settled(item) }) })
	t.Run("configuration of an unknown kind (R231)", func(*testing.T) {
		s.Change(item, func() { item.Spec.ProviderConfigReference.Kind = "Letter" })
		reports(failure.ProviderConfigUnavailable, `has no provider configurations of kind "Letter"`)
	})
}

// Creating a client fails, and many wait for it.
func TestFailingNew(t *testing.T) {
	t.Parallel()
	s := startStage(t, managed.WithBackoff(10*time.Millisecond, 10*time.Millisecond))
	s.journal.fail(func(context.Context) error { return errors.New("no such depot for first") })
	began := time.Now()
	s.Create(s.teamConfig("team"))
	items := s.teamItems(many, "team")
	s.atLeast("warnings", func() int { return len(s.events.warnings()) }, many)
	t.Run("the error is reported without the credentials (R231, R234)", func(t *testing.T) {
		if w := s.events.warnings()[0]; !strings.Contains(w, `cannot create client of ProviderConfig "team": no such depot for (sensitive)`) {
			t.Error(w)
		}
	})
	t.Run("tried once a second, not by each (R231)", func(t *testing.T) {
		if most := int(time.Since(began)/time.Second) + 1; s.created() > most {
			t.Errorf("tried %d times, want %d at most", s.created(), most)
		}
	})
	s.journal.fail(func(context.Context) error { panic("the author's mistake") })
	s.warned("panicked")
	s.journal.fail(nil)
	t.Run("an error is not permanent (R231)", func(*testing.T) { allSettled(s, items) })
	if s.journal.closedClients() > 0 {
		t.Error("a client was closed that was never created")
	}
}

// The connection secret of another managed resource serves as credentials, whole.
func TestWholeSecret(t *testing.T) {
	t.Parallel()
	s := startStage(t, managed.WithPollInterval(time.Hour))
	details := &corev1.Secret{
		ObjectMeta: s.Meta(s.Namespace, "details"), Type: xpv1.SecretTypeConnection,
		Data: map[string][]byte{"username": []byte("u"), "password": []byte("first")},
	}
	config := s.teamConfig("team")
	config.Spec = s.spec("details")
	config.Spec.Credentials.SecretRef.Key = ""
	item := s.teamItem("item", "team")
	s.Create(details, config, item)
	s.settled(item)
	t.Run("all keys are there (R231)", func(t *testing.T) {
		c := s.journal.connections()[0]
		if c.Credentials != nil || string(c.Secret["username"]) != "u" || string(c.Secret["password"]) != "first" {
			t.Errorf("credentials %q, secret %q", c.Credentials, c.Secret)
		}
	})
	s.Change(details, func() { details.Annotations = map[string]string{"note": "nothing of importance"} })
	s.Change(item, func() { item.Spec.ForProvider.Size = new(int64(2)) })
	s.settled(item)
	failIf(t, "metadata is no reason for another client (R232)", s.created() != 1, "%d clients created", s.created())
	s.Change(details, func() { details.Data["username"] = []byte("v") })
	t.Run("any key is (R232)", func(*testing.T) { s.until("clients created", s.created, 2) })
	t.Run("not of another namespace (N2)", func(t *testing.T) {
		s.Change(config, func() { config.Spec.Credentials.SecretRef.Namespace = metav1.NamespaceDefault })
		s.warned("its own namespace")
	})
}

// The configuration limits calls and sets the poll interval.
func TestSettingsOfAll(t *testing.T) {
	t.Parallel()
	s := startStage(t, managed.WithPollInterval(time.Hour))
	often := s.teamConfig("often")
	often.Spec.PollInterval = &metav1.Duration{Duration: time.Second}
	item := s.teamItem("item", "often")
	s.Create(often, item)
	s.settled(item)
	t.Run("poll interval of the configuration (R224)", func(t *testing.T) {
		before := s.depot.allRequests()
		s.atLeast("requests", s.depot.allRequests, before+2)
	})
	slow := s.teamConfig("slow")
	slow.Spec.Limits = &xpv1.CallLimits{CallsPerSecond: new(int32(1)), Burst: new(int32(1))}
	s.Create(slow)
	s.teamItems(5, "slow")
	s.until("clients created", s.created, 2)
	t.Run("limits of the configuration (R231)", func(t *testing.T) {
		limiter := s.journal.connections()[1].Limiter
		s.Eventually(t, "calls are throttled", func(ctx context.Context) error {
			err := limiter.Do(ctx, func(context.Context) error { return nil })
			if failure.Of(err).Reason != failure.ExternalSystemThrottled {
				return fmt.Errorf("got %v", err)
			}
			return nil
		})
	})
}

// Settings of the factory apply to the transport of its clients.
func TestTransport(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	factory := s.journal.factory(0)
	var counted atomic.Int64
	factory.Wrap = fault.Intercept(&rest.Config{}, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		counted.Add(1)
		return next.RoundTrip(r)
	}).WrapTransport
	factory.Timeout = 200 * time.Millisecond
	factory.ForbiddenIsRefusal = true
	s.start(newProvider(factory), managed.WithPollInterval(time.Hour))
	item := s.teamItem("item", "team")
	s.Create(s.teamConfig("team"), item)
	s.settled(item)
	t.Run("own transport (R47)", func(t *testing.T) {
		if n := int(counted.Load()); n == 0 || n != s.depot.allRequests() {
			t.Errorf("it saw %d requests of %d", n, s.depot.allRequests())
		}
	})
	c := s.journal.connections()[0].HTTPClient
	t.Run("timeout (R47)", func(t *testing.T) {
		release := s.depot.hold()
		defer release()
		began := time.Now()
		if _, err := c.Get(s.depot.URL); !os.IsTimeout(err) || time.Since(began) > 5*time.Second {
			t.Errorf("got error %v after %v", err, time.Since(began))
		}
	})
	t.Run("forbidden is refused (R231)", func(t *testing.T) {
		forbids := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }))
		defer forbids.Close()
		resp, err := c.Get(forbids.URL)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if _, err := c.Get(forbids.URL); failure.Of(err).Reason != failure.ExternalSystemRefused {
			t.Errorf("got error %v", err)
		}
	})
}
