// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package providerconfig_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/testkit/kinds"
	"github.com/bowline-dev/bowline/pkg/reconciler/providerconfig"
)

// A Secret of two configurations is protected until neither is in use.
func TestSecretOfTwo(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	secret, a, b := s.secret("key"), s.config("a", "key"), s.config("b", "key")
	ofA, ofB := s.item("a", "a"), s.item("b", "b")
	s.Create(secret, a, b, ofA, ofB)
	s.start()
	s.env.Eventually(t, "both protect it (N29)", func(ctx context.Context) error {
		if err := s.protected(secret, true)(ctx); err != nil || len(secret.Annotations) != 2 {
			return fmt.Errorf("%v, annotations %v", err, secret.Annotations)
		}
		return nil
	})
	s.Delete(secret, ofA, a)
	s.env.Eventually(t, "one configuration is deleted (N12)", s.deleted(a))
	if err := s.protected(secret, true)(t.Context()); err != nil {
		t.Errorf("the other needs it: %v (N29)", err)
	}
	s.Delete(ofB)
	s.env.Eventually(t, "the secret is deleted (N29)", s.deleted(secret))
	s.env.Eventually(t, "the other is released (N12)", s.protected(b, false))
}

// Another process still runs: a Secret that one of them releases is not protected for ever by the other.
func TestSecretOfTwoProcesses(t *testing.T) {
	t.Parallel()
	t.Run("protected too late (N29)", func(t *testing.T) {
		t.Parallel()
		s := newStage(t)
		secret, config, item := s.secret("key"), s.config("c", "key"), s.item("a", "c")
		s.Create(secret, config, item)
		late := make(chan struct{})
		s.write = s.once("/secrets/key", func() { // the other one finds no users and releases all
			defer close(late)
			s.Delete(item)
			s.edit(config, func() { config.Finalizers = nil })
			s.Delete(config)
		})
		s.start()
		<-late
		s.env.Eventually(t, "the configuration is deleted", s.deleted(config))
		s.env.Eventually(t, "its Secret is released", s.protected(secret, false))
		if len(secret.Annotations) > 0 {
			t.Errorf("the Secret keeps annotations %v", secret.Annotations)
		}
	})
	t.Run("held while it is released (N29)", func(t *testing.T) {
		t.Parallel()
		s := newStage(t)
		secret, config, item := s.secret("key"), s.config("c", "key"), s.item("a", "c")
		s.Create(secret, config, item)
		s.start()
		s.env.Eventually(t, "its Secret is protected", s.protected(secret, true))
		s.stop()
		late, again := make(chan struct{}), secret.Annotations
		s.write = s.once("/providerconfigs/"+config.Name, func() { // the other one protects the Secret, since it saw users
			defer close(late)
			s.edit(secret, func() { secret.Annotations, secret.Finalizers = again, []string{providerconfig.SecretFinalizer} })
		})
		s.Delete(item, config)
		s.start()
		<-late
		s.env.Eventually(t, "the configuration is deleted", s.deleted(config))
		s.env.Eventually(t, "its Secret is released", s.protected(secret, false))
	})
}

// A configuration whose finalizers a person removed leaves no Secret behind that cannot be deleted.
func TestRemovedByForce(t *testing.T) {
	t.Parallel()
	for name, when := range map[string]func(s *stage, remove func()){
		"while the process runs (N29)": func(_ *stage, remove func()) { remove() },
		"while no process runs (N29)":  func(s *stage, remove func()) { s.stop(); remove(); s.start() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			secret, removed, stays := s.secret("key"), s.config("removed", "key"), s.config("stays", "key")
			alone, of, other := s.secret("alone"), s.item("a", "removed"), s.item("b", "stays")
			alone.Finalizers = []string{providerconfig.SecretFinalizer}
			foreign := map[string]string{"in-use.bowline.dev/other": "ProviderConfig.other.example.org " + removed.Name}
			alone.Annotations = foreign
			s.Create(secret, alone, removed, stays, of, other)
			s.start()
			s.env.Eventually(t, "both protect it", func(ctx context.Context) error {
				if err := s.protected(secret, true)(ctx); err != nil || len(secret.Annotations) != 2 {
					return fmt.Errorf("%v, annotations %v", err, secret.Annotations)
				}
				return nil
			})
			when(s, func() {
				s.Delete(removed)
				s.edit(removed, func() { removed.Finalizers = nil })
				s.env.Eventually(t, "it is removed", s.deleted(removed))
			})
			s.env.Eventually(t, "only the other protects it", func(ctx context.Context) error {
				if err := s.protected(secret, true)(ctx); err != nil || len(secret.Annotations) != 1 {
					return fmt.Errorf("%v, annotations %v", err, secret.Annotations)
				}
				return nil
			})
			if _, ok := secret.Annotations["in-use.bowline.dev/"+string(stays.UID)]; !ok {
				t.Errorf("the mark of the other is gone: %v", secret.Annotations)
			}
			s.Delete(secret, of, other, stays)
			s.env.Eventually(t, "the secret is deleted", s.deleted(secret))
			if err := s.protected(alone, true)(t.Context()); err != nil || !maps.Equal(alone.Annotations, foreign) {
				t.Errorf("the mark of another kind: %v, %v", err, alone.Annotations)
			}
			s.edit(alone, func() { alone.Finalizers = nil })
		})
	}
}

// A Secret that cannot be released, such as by the rules of admission, keeps no other one, and each is written once.
func TestReleaseIsRefused(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	secrets := []client.Object{s.secret("a"), s.secret("b"), s.secret("refused")}
	for _, secret := range secrets {
		secret.SetFinalizers([]string{providerconfig.SecretFinalizer})
		secret.SetAnnotations(map[string]string{})
		for n := range 5 {
			secret.GetAnnotations()[fmt.Sprintf("in-use.bowline.dev/%d", n)] = s.kind.GroupKind().String() + " " + s.env.Prefix + "removed"
		}
	}
	s.Create(secrets...)
	s.write = func(req *http.Request) error {
		if strings.HasSuffix(req.URL.Path, "/secrets/refused") {
			return errors.New("refused")
		}
		return nil
	}
	s.start()
	for _, secret := range secrets[:2] {
		s.env.Eventually(t, "the others are released (N29)", s.protected(secret, false))
	}
	if writes := s.takeWrites(); len(writes) > 3 {
		t.Errorf("the writes are %v (N29)", writes)
	}
	s.stop()
	s.edit(secrets[2], func() { secrets[2].SetFinalizers(nil) })
}

// once calls back before the first write to an object.
func (s *stage) once(path string, call func()) func(*http.Request) error {
	var first sync.Once
	return func(req *http.Request) error {
		if strings.HasSuffix(req.URL.Path, path) {
			first.Do(call)
		}
		return nil
	}
}

// A configuration that refers to another Secret releases the old one; a Secret may be created later than its configuration.
func TestSecretChanges(t *testing.T) {
	t.Parallel()
	for name, o := range map[string][]providerconfig.Option{
		"watched by name (N30)": nil,
		"read (N30)":            {providerconfig.WithSecrets(nil)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			before, after, config := s.secret("before"), s.secret("after"), s.config("c", "before")
			s.Create(before, config, s.item("a", "c"))
			s.start(o...)
			s.env.Eventually(t, "the secret is protected (N29)", s.protected(before, true))
			s.edit(config, func() { config.Spec.Credentials.SecretRef.Name = "after" })
			s.env.Eventually(t, "it is released when it is no longer named (N29)", s.protected(before, false))
			s.Create(after)
			if o != nil {
				s.touch(config) // nothing watches
			}
			s.env.Eventually(t, "the new one is protected when it exists (N29)", s.protected(after, true))
			s.edit(config, func() { config.Spec.Credentials = xpv1.ProviderCredentials{Source: xpv1.CredentialsSourceNone} })
			s.env.Eventually(t, "none is needed (N29)", s.protected(after, false))
		})
	}
}

// edit changes a stored object as a user would.
func (s *stage) edit(o client.Object, change func()) {
	s.t.Helper()
	s.env.Eventually(s.t, "the edit is stored", func(ctx context.Context) error {
		if err := s.env.Client.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
			return err
		}
		change()
		return s.env.Client.Update(ctx, o)
	})
}

// The author of a configuration can neither protect Secrets of other namespaces nor release what others protect.
func TestSecretOfOthers(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.kind, s.user = groups().Namespaced.WithKind("ProviderConfig"), groups().Namespaced.WithKind("Item")
	theirs := s.secret("theirs")
	theirs.Namespace = corev1.NamespaceDefault
	theirs.Name = s.env.Prefix + "theirs"
	kept := s.secret("kept")
	kept.Finalizers = []string{providerconfig.SecretFinalizer}
	config, item := &kinds.TeamProviderConfig{}, s.teamItem("a", "ProviderConfig", "c")
	config.ObjectMeta, config.Spec.Credentials = s.Meta(s.env.Namespace, "c"), s.credentials(theirs.Namespace, theirs.Name)
	config.Annotations = map[string]string{"bowline.dev/held-secrets": s.env.Namespace + "/kept"}
	s.Create(theirs, kept, config, item)
	s.start()
	s.env.Eventually(t, "a pass has ended well (K60)", func(ctx context.Context) error {
		if err := s.protected(config, true)(ctx); err != nil || config.GetUsers() != 1 {
			return fmt.Errorf("%v, %d users", err, config.GetUsers())
		}
		return nil
	})
	if err := s.protected(theirs, false)(t.Context()); err != nil {
		t.Errorf("a secret of another namespace: %v (N2)", err)
	}
	s.Delete(config, item)
	s.env.Eventually(t, "deleted (N12)", s.deleted(config))
	if err := s.protected(kept, true)(t.Context()); err != nil {
		t.Errorf("a secret that others keep: %v (N29)", err)
	}
}

// teamItem is a namespaced user of a configuration.
func (s *stage) teamItem(name, kind, of string) *kinds.TeamItem {
	u := &kinds.TeamItem{}
	u.ObjectMeta = s.Meta(s.env.Namespace, name)
	if of != "" {
		u.Spec.ProviderConfigReference = &xpv1.ProviderConfigReference{Kind: kind, Name: of}
	}
	return u
}
