// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package provider_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/testkit/kinds"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/reconciler/providerconfig"
)

// reports waits for condition Ready of a configuration: Available, or a reason with words of its message. It must not contain a secret.
func (s *stage) reports(c *kinds.TeamProviderConfig, reason xpv1.ConditionReason, words ...string) {
	s.t.Helper()
	s.Eventually(s.t, fmt.Sprintf("%s is %s", c.Name, reason), func(ctx context.Context) error {
		if err := s.Client.Get(ctx, client.ObjectKeyFromObject(c), c); err != nil {
			return err
		}
		ready := c.GetCondition(xpv1.TypeReady)
		if ready.Reason != reason || (ready.Status == corev1.ConditionTrue) != (reason == xpv1.ReasonAvailable) {
			return fmt.Errorf("Ready is %s (%s): %s", ready.Status, ready.Reason, ready.Message)
		}
		for _, word := range words {
			if !strings.Contains(ready.Message, word) {
				return fmt.Errorf("the message lacks %q: %s", word, ready.Message)
			}
		}
		if strings.Contains(ready.Message, "hidden") {
			s.t.Errorf("the message contains a secret: %s", ready.Message)
		}
		return nil
	})
}

// A configuration that nothing uses reports what it lacks, and is ready again when that is there.
func TestDeclaredHealth(t *testing.T) {
	t.Parallel()
	s := startStage(t)
	team := func(name string, change func(*kinds.ConfigSpec)) *kinds.TeamProviderConfig {
		c := s.teamConfig(name)
		change(&c.Spec)
		return c
	}
	for name, tc := range map[string]struct {
		config *kinds.TeamProviderConfig
		words  []string
		mend   func(*kinds.TeamProviderConfig)
	}{
		"missing Secret (R231)": {
			config: team("none", func(c *kinds.ConfigSpec) { c.Credentials.SecretRef.Name = "late" }),
			words:  []string{"/late does not exist", "create it"},
			mend: func(*kinds.TeamProviderConfig) {
				s.Create(&corev1.Secret{ObjectMeta: s.Meta(s.Namespace, "late"), Data: map[string][]byte{"key": []byte("first")}})
			},
		},
		"missing key (R231)": {
			config: team("keyless", func(c *kinds.ConfigSpec) { c.Credentials.SecretRef.Key = "other" }),
			words:  []string{`has no value for key "other"`, "add it"},
			mend: func(c *kinds.TeamProviderConfig) {
				s.Change(c, func() { c.Spec.Credentials.SecretRef.Key = "key" })
			},
		},
		"empty key (R231)": {
			config: team("empty", func(c *kinds.ConfigSpec) { c.Credentials.SecretRef.Name = "blank" }),
			words:  []string{`has no value for key "key"`},
			mend: func(*kinds.TeamProviderConfig) {
				blank := &corev1.Secret{ObjectMeta: s.Meta(s.Namespace, "blank")}
				s.Change(blank, func() { blank.Data = map[string][]byte{"key": []byte("first")} })
			},
		},
		"password in the endpoint (R234)": {
			config: team("endpoint", func(c *kinds.ConfigSpec) { c.Endpoint = "http://user:hidden@127.0.0.1" }),
			words:  []string{"spec.endpoint is more than an address"},
			mend:   func(c *kinds.TeamProviderConfig) { s.Change(c, func() { c.Spec.Endpoint = s.depot.URL }) },
		},
	} {
		if name == "empty key (R231)" {
			s.Create(&corev1.Secret{ObjectMeta: s.Meta(s.Namespace, "blank"), Data: map[string][]byte{"key": {}}})
		}
		t.Run(name, func(t *testing.T) {
			s.Create(tc.config)
			s.reports(tc.config, providerconfig.ReasonUnusable, tc.words...)
			tc.mend(tc.config)
			s.reports(tc.config, xpv1.ReasonAvailable)
		})
	}
}

// A configuration in use reports what its calls revealed, also after a restart.
func TestLearnedHealth(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	poll := managed.WithPollInterval(20 * time.Millisecond)
	stop := s.start(newProvider(s.journal.factory(0)), poll)
	config, item := s.teamConfig("team"), s.teamItem("item", "team")
	s.Create(config)
	s.reports(config, xpv1.ReasonAvailable) // before the first call
	s.Create(item)
	s.settled(item)
	t.Run("nothing is written while nothing changes (N13)", func(t *testing.T) {
		s.Eventually(t, "users are counted", func(ctx context.Context) error {
			if err := s.Client.Get(ctx, client.ObjectKeyFromObject(config), config); err != nil || config.GetUsers() != 1 {
				return fmt.Errorf("%v, %d users", err, config.GetUsers())
			}
			return nil
		})
		version := config.ResourceVersion
		s.atLeast("requests", s.depot.allRequests, s.depot.allRequests()+10)
		s.reports(config, xpv1.ReasonAvailable)
		if config.ResourceVersion != version {
			t.Error("the configuration was written")
		}
	})
	s.depot.revoke("first")
	s.reports(config, failure.ExternalSystemRefused, "correct what its spec.credentials names")
	stop()
	version, refused := config.ResourceVersion, s.depot.refusedRequests()
	stop = s.start(newProvider(s.journal.factory(0)), poll)
	s.atLeast("requests refused", s.depot.refusedRequests, refused+1)
	s.reports(config, failure.ExternalSystemRefused)
	failIf(t, "a restart writes nothing (N13)", config.ResourceVersion != version, "the configuration was written")
	s.rotate("second")
	s.reports(config, xpv1.ReasonAvailable)

	key := &corev1.Secret{ObjectMeta: s.Meta(s.Namespace, "key")}
	s.Delete(key)
	s.reports(config, providerconfig.ReasonUnusable, "is being deleted", "name another one in spec.credentials.secretRef")
	stop()
}

// A configuration of which no client can be created reports that, while it is tried again and again.
func TestHealthWithoutClient(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.journal.fail(func(context.Context) error { return errors.New("bad certificate of key first") })
	stop := s.start(newProvider(s.journal.factory(0)), managed.WithPollInterval(20*time.Millisecond))
	config, item := s.teamConfig("team"), s.teamItem("item", "team")
	s.Create(config)
	s.reports(config, xpv1.ReasonAvailable, "No object uses it")
	s.Create(item)
	s.reports(config, providerconfig.ReasonUnusable, "cannot create client", "bad certificate")
	s.until("users", func() int {
		s.reports(config, providerconfig.ReasonUnusable)
		return int(config.GetUsers())
	}, 1)
	version, attempts := config.ResourceVersion, s.created()
	s.atLeast("attempts", s.created, attempts+2)
	s.reports(config, providerconfig.ReasonUnusable)
	failIf(t, "further attempts write nothing (N13)", config.ResourceVersion != version, "the configuration was written")
	s.journal.fail(nil)
	s.reports(config, xpv1.ReasonAvailable)
	stop()
}

// A server that is a managed resource wakes the objects on it when it is Ready again: they do not wait until calls are tried again.
func TestServerWakesItsUsers(t *testing.T) {
	t.Parallel()
	s := startStage(t, managed.WithPollInterval(time.Hour))
	server := s.teamItem("server", "none")
	server.Annotations = map[string]string{meta.AnnotationKeyReconciliationPaused: "true"}
	s.Create(server)
	state := func(ready xpv1.Condition) {
		t.Helper()
		s.Eventually(t, "the server is "+string(ready.Reason), func(ctx context.Context) error {
			if err := s.Client.Get(ctx, client.ObjectKeyFromObject(server), server); err != nil {
				return err
			}
			server.SetConditions(ready)
			return s.Client.Status().Update(ctx, server)
		})
	}
	state(xpv1.Available())
	kind, err := s.Client.GroupVersionKindFor(server)
	if err != nil {
		t.Fatal(err)
	}
	key := &corev1.Secret{ObjectMeta: s.Meta(s.Namespace, "key")}
	s.Change(key, func() { key.OwnerReferences = []metav1.OwnerReference{meta.AsController(server, kind)} })
	config := s.teamConfig("team")
	s.Create(config)
	items := s.teamItems(3, "team")
	allSettled(s, items)

	state(xpv1.Unavailable())
	s.depot.revoke("first")
	s.Change(items[0], func() { items[0].Spec.ForProvider.Size = ptr.To[int64](2) })
	s.reports(config, failure.ExternalSystemRefused)
	s.atLeast("requests refused", s.depot.refusedRequests, 2) // the next pause has 20 seconds
	s.depot.allow("first")
	refused, began := s.depot.refusedRequests(), time.Now()
	state(xpv1.Available())
	allSettled(s, items)
	failIf(t, "within seconds (N12, N44)", time.Since(began) > 10*time.Second || s.depot.refusedRequests() > refused,
		"after %s, %d requests refused", time.Since(began), s.depot.refusedRequests()-refused)
}

// What one call reveals about a configuration wakes all objects that use it.
func TestUsersWake(t *testing.T) {
	t.Parallel()
	s := startStage(t, managed.WithPollInterval(time.Hour))
	s.Create(s.teamConfig("team"))
	a, b := s.teamItem("a", "team"), s.teamItem("b", "team")
	s.Create(a)
	s.Create(b)
	s.settled(a, b)
	s.depot.revoke("first")
	s.Change(a, func() { a.Spec.ForProvider.Size = ptr.To[int64](2) })
	t.Run("credentials that are refused (N12, N44)", func(t *testing.T) {
		s.Eventually(t, "the other object cannot be observed", func(ctx context.Context) error {
			if err := s.Client.Get(ctx, client.ObjectKeyFromObject(b), b); err != nil {
				return err
			}
			if ready := b.GetCondition(xpv1.TypeReady); ready.Reason != xpv1.ReasonCannotObserve {
				return fmt.Errorf("Ready is %s (%s)", ready.Status, ready.Reason)
			}
			return nil
		})
	})
	s.rotate("second")
	s.settled(a, b)
}

// What becomes of a configuration does not concern the users of another one that has its name in another namespace.
func TestNamesakesDoNotWake(t *testing.T) {
	t.Parallel()
	s := startStage(t, managed.WithPollInterval(time.Hour))
	name, other := s.Prefix+"team", "default"
	theirs := &kinds.TeamProviderConfig{ObjectMeta: s.Meta(other, name), Spec: s.spec(name)}
	theirs.Spec.Credentials.SecretRef.Namespace = other
	item := s.teamItem(name, name)
	item.Namespace = other
	s.depot.allow("theirs")
	s.Create(&corev1.Secret{ObjectMeta: s.Meta(other, name), Data: map[string][]byte{"key": []byte("theirs")}}, theirs, item)
	ours, mine := s.teamConfig(name), s.teamItem("mine", name)
	s.Create(ours, mine)
	s.settled(item, mine)
	s.depot.revoke("theirs")
	s.Change(ours, func() { ours.Spec.Endpoint += "/other" })
	s.until("clients created", s.created, 3)
	s.rotate("second") // and a change of credentials
	s.until("clients created", s.created, 4)
	s.settled(mine)
	failIf(t, "the others are not reconciled (N2)", s.depot.refusedRequests() > 0, "they made %d calls", s.depot.refusedRequests())
}
