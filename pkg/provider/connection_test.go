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
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/testkit"
	"github.com/bowline-dev/bowline/internal/testkit/fault"
	"github.com/bowline-dev/bowline/internal/testkit/kinds"
	"github.com/bowline-dev/bowline/pkg/clients/credentials"
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
	set := func(key, value string) {
		s.Change(secret, func() { secret.Data = map[string][]byte{key: []byte(value)} })
	}
	t.Run("credentials appear (R232)", func(t *testing.T) {
		testkit.Promptly(t, time.Second, func(n int) time.Duration {
			if n > 0 {
				set("other", "first")
				s.Change(item, func() { item.Spec.ForProvider.Size = new(int64(1 + n)) })
				reports(failure.ProviderConfigUnavailable, `has no value for key "key"`)
			}
			set("key", "first")
			return took(func() { s.settled(item) })
		})
	})
	var second *depot
	t.Run("another endpoint (R227)", func(t *testing.T) {
		testkit.Promptly(t, time.Second, func(int) time.Duration {
			var stop func()
			second, stop = newDepot("first")
			s.t.Cleanup(stop)
			s.Change(config, func() { config.Spec.Endpoint = second.URL })
			return took(func() { s.until("items", second.itemCount, 1) })
		})
	})
	t.Run("key revoked, then replaced (R232)", func(t *testing.T) {
		testkit.Promptly(t, time.Second, func(n int) time.Duration {
			key := fmt.Sprint("key-", n)
			second.revoke("first", fmt.Sprint("key-", n-1))
			second.allow(key)
			s.Change(item, func() { item.Spec.ForProvider.Size = new(int64(100 + n)) })
			reports(failure.ExternalSystemRefused, "cannot get item")
			set("key", key)
			return took(func() { s.settled(item) })
		})
	})
	t.Run("configuration of an unknown kind (R231)", func(*testing.T) {
		s.Change(item, func() { item.Spec.ProviderConfigReference.Kind = "Letter" })
		reports(failure.ProviderConfigUnavailable, `has no provider configurations of kind "Letter"`)
	})
}

func took(done func()) time.Duration {
	began := time.Now()
	done()
	return time.Since(began)
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
	t.Run("a panic is counted", func(t *testing.T) {
		kind, err := s.Client.GroupVersionKindFor(&kinds.TeamProviderConfig{})
		if name := strings.ToLower(kind.GroupKind().String()); err != nil || panics(t, name) == 0 {
			t.Errorf("no panic of kind %s, error %v", name, err)
		}
	})
	s.journal.fail(nil)
	t.Run("an error is not permanent (R231)", func(*testing.T) { allSettled(s, items) })
	if s.journal.closedClients() > 0 {
		t.Error("a client was closed that was never created")
	}
}

// panics returns how many panics were counted of a kind.
func panics(t *testing.T, kind string) (n float64) {
	t.Helper()
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			if family.GetName() == "bowline_panics_total" && metric.GetLabel()[0].GetValue() == kind {
				n += metric.GetCounter().GetValue()
			}
		}
	}
	return n
}

// A provider offers variables of its process to cluster-scoped configurations, and no others.
func TestOfferedVariables(t *testing.T) {
	t.Setenv("BOWLINE_TEST_OFFERED", "first")
	t.Setenv("BOWLINE_TEST_OTHER", "first")
	s := newStage(t)
	p := newProvider(s.journal.factory(0))
	p.Credentials = []credentials.Option{credentials.WithVariables("BOWLINE_TEST_OFFERED")}
	s.start(p)
	var items []*kinds.Item
	for _, variable := range []string{"BOWLINE_TEST_OFFERED", "BOWLINE_TEST_OTHER"} {
		name := s.Prefix + strings.ToLower(strings.ReplaceAll(variable, "_", "-"))
		config, item := &kinds.ProviderConfig{ObjectMeta: s.Meta("", name), Spec: s.spec("")}, &kinds.Item{ObjectMeta: s.Meta("", name)}
		config.Spec.Credentials = xpv1.ProviderCredentials{Source: xpv1.CredentialsSourceEnvironment, Env: &xpv1.EnvSelector{Name: variable}}
		item.Spec.ProviderConfigReference = &xpv1.ProviderConfigReference{Name: name}
		s.Create(config, item)
		items = append(items, item)
	}
	t.Run("one that it offers (R231)", func(*testing.T) { s.settled(items[0]) })
	t.Run("another (R234)", func(*testing.T) { s.warned("is not offered to ProviderConfigs") })
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
	factory.Timeout = time.Second // no request of a slow machine takes as long
	factory.ForbiddenIsRefusal = true
	s.start(newProvider(factory), managed.WithPollInterval(time.Hour))
	item := s.teamItem("item", "team")
	s.Create(s.teamConfig("team"), item)
	s.settled(item)
	t.Run("own transport (R47)", func(t *testing.T) {
		s.until("requests that it did not see, with those under way", func() int { return s.depot.allRequests() - int(counted.Load()) }, 0)
		if counted.Load() == 0 {
			t.Error("it saw no request")
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
