// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package provider_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/testkit/kinds"
	"github.com/bowline-dev/bowline/pkg/failure"
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
