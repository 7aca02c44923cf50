// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package credentials_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/internal/testkit/fault"
	"github.com/bowline-dev/bowline/pkg/clients/credentials"
)

// watches counts the open watches of each name.
type watches struct {
	mu   sync.Mutex
	open map[string]int
}

func (w *watches) add(name string, n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.open[name] += n; w.open[name] == 0 {
		delete(w.open, name)
	}
}

// want fails unless exactly these names are watched, each once.
func (w *watches) want(names ...string) func(context.Context) error {
	want := map[string]int{}
	for _, name := range names {
		want["metadata.name="+name] = 1
	}
	return func(context.Context) error {
		w.mu.Lock()
		defer w.mu.Unlock()
		if diff := cmp.Diff(want, w.open); diff != "" {
			return fmt.Errorf("-want +got:\n%s", diff)
		}
		return nil
	}
}

func (w *watches) answer(req *http.Request, next http.RoundTripper) (*http.Response, error) {
	resp, err := next.RoundTrip(req)
	if err == nil && fault.IsWatch(req) {
		name := req.URL.Query().Get("fieldSelector")
		w.add(name, 1)
		fault.OnClose(resp, func() { w.add(name, -1) })
	}
	return resp, err
}

type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// A fixture has two Secrets, used and unused, and a reader whose watches are counted.
type fixture struct {
	*controlplanetest.Env
	secrets *credentials.Secrets
	watches *watches
	clock   *clock

	mu   sync.Mutex
	seen map[string]int // changes by name
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	s := &fixture{watches: &watches{open: map[string]int{}}, clock: &clock{now: time.Now()}, seen: map[string]int{}}
	s.Env = controlplanetest.New(t, s.secret("used", "1"), s.secret("unused", "1"))
	t.Cleanup(func() {
		if err := s.watches.want()(context.Background()); err != nil { // runs after the manager has stopped
			t.Errorf("watches after the manager has stopped: %v", err)
		}
		if _, err := s.secrets.Get(context.Background(), types.NamespacedName{Namespace: s.Namespace, Name: "late"}); err == nil {
			t.Error("a watch starts after the manager has stopped")
		}
	})
	s.Config = fault.Intercept(s.Config, s.watches.answer)
	s.secrets = newSecrets(t, s.Env, credentials.WithClock(s.clock.Now))
	s.secrets.OnChange(func(key types.NamespacedName) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.seen[key.Name]++
	})
	return s
}

func (s *fixture) secret(name, value string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string][]byte{"key": []byte(value)}}
}

func (s *fixture) rotate(t *testing.T, name, value string) {
	t.Helper()
	secret := s.secret(name, value)
	secret.Namespace = s.Namespace
	if err := s.Client.Update(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
}

func (s *fixture) read(t *testing.T, name string) string {
	t.Helper()
	secret, err := s.secrets.Get(t.Context(), types.NamespacedName{Namespace: s.Namespace, Name: name})
	if err != nil {
		t.Fatal(err)
	}
	return string(secret.Data["key"])
}

func (s *fixture) changes(name string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen[name]
}

// wantChange waits for another change of a Secret than those before.
func (s *fixture) wantChange(t *testing.T, name string, before int) {
	t.Helper()
	s.Eventually(t, "OnChange reports "+name, func(context.Context) error {
		if now := s.changes(name); now <= before {
			return fmt.Errorf("%d changes", now)
		}
		return nil
	})
}

// A Secret is watched while it is read now and then, and again when it is read again.
func TestUnusedSecrets(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	t.Run("each is watched by name from its first read (R232, N30)", func(t *testing.T) {
		s.Eventually(t, "nothing is watched", s.watches.want())
		s.read(t, "used")
		s.read(t, "unused")
		s.read(t, "used")
		s.Eventually(t, "both are watched", s.watches.want("used", "unused"))
	})
	t.Run("one that is created and deleted later (R231, R232)", func(t *testing.T) {
		key := types.NamespacedName{Namespace: s.Namespace, Name: "late"}
		late := s.secret("late", "1")
		late.Namespace = s.Namespace
		seen := func(exists bool) {
			t.Helper()
			s.Eventually(t, "it is read as it is", func(ctx context.Context) error {
				if _, err := s.secrets.Get(ctx, key); apierrors.IsNotFound(err) == exists {
					return fmt.Errorf("exists %t, error %v", exists, err)
				}
				return nil
			})
		}
		seen(false)
		if err := s.Client.Create(t.Context(), late); err != nil {
			t.Fatal(err)
		}
		seen(true)
		if err := s.Client.Delete(t.Context(), late); err != nil {
			t.Fatal(err)
		}
		seen(false)
		for range 3 {
			s.clock.advance(time.Hour)
			s.read(t, "used")
			s.read(t, "unused")
		}
	})
	t.Run("one that is no longer read is not watched (N30)", func(t *testing.T) {
		for range 3 {
			s.clock.advance(time.Hour)
			s.read(t, "used")
		}
		s.Eventually(t, "one is watched", s.watches.want("used"))
	})
	t.Run("a rotation of the other is reported at once (R232)", func(t *testing.T) {
		before := s.changes("used")
		s.rotate(t, "used", "2")
		s.wantChange(t, "used", before)
		if got := s.read(t, "used"); got != "2" {
			t.Errorf("read %q", got)
		}
	})
	t.Run("one that is read again is current and watched (R232)", func(t *testing.T) {
		s.rotate(t, "unused", "2")
		if got := s.read(t, "unused"); got != "2" {
			t.Errorf("read %q", got)
		}
		s.Eventually(t, "both are watched", s.watches.want("used", "unused"))
		s.wantChange(t, "unused", 1)
		before := s.changes("unused")
		s.rotate(t, "unused", "3")
		s.wantChange(t, "unused", before)
		if got := s.read(t, "unused"); got != "3" {
			t.Errorf("read %q", got)
		}
	})
}

func TestMain(m *testing.M) { os.Exit(controlplanetest.Main(m)) }

func newSecrets(t *testing.T, env *controlplanetest.Env, o ...credentials.Option) (secrets *credentials.Secrets) {
	t.Helper()
	config := rest.CopyConfig(env.Config)
	config.QPS, config.Burst = 100, 0 // as users may set it
	controlplanetest.RunManager(t, config, manager.Options{}, func(mgr manager.Manager) (err error) {
		secrets, err = credentials.NewSecrets(mgr, o...)
		return err
	})
	return secrets
}

// A provider has one reader, which it uses in every Connect.
func Example() {
	connect := func(ctx context.Context, mgr manager.Manager, spec xpv1.ProviderSpec) (credentials.Credential, error) {
		secrets, err := credentials.NewSecrets(mgr, credentials.WithFolders("/var/run/cloud-credentials"))
		if err != nil {
			return credentials.Credential{}, err
		}
		secrets.OnChange(func(types.NamespacedName) { /* enqueue the users of the ProviderConfigs that refer to it */ })
		return secrets.Extract(ctx, "", spec.Credentials)
	}
	_ = connect
}

// A Secret that may not be read is refused as soon as the API server says so, and read once it may.
func TestRefusedWatch(t *testing.T) {
	t.Parallel()
	env := controlplanetest.New(t)
	const user = "credentials-without-rights"
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: env.Namespace, Name: "login"}}
	if err := env.Client.Create(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	config := rest.CopyConfig(env.Config)
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:authenticated"}}
	var secrets *credentials.Secrets
	controlplanetest.RunManager(t, config, manager.Options{}, func(mgr manager.Manager) (err error) {
		secrets, err = credentials.NewSecrets(mgr)
		return err
	})
	key := types.NamespacedName{Namespace: env.Namespace, Name: "login"}
	ctx, cancel := context.WithTimeout(t.Context(), 9*time.Second) // less than a read waits for an answer
	defer cancel()
	if _, err := secrets.Get(ctx, key); !apierrors.IsForbidden(err) || ctx.Err() != nil {
		t.Errorf("reading without rights: %v", err)
	}
	meta := metav1.ObjectMeta{Namespace: env.Namespace, Name: user}
	rule := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"list", "watch"}}
	for _, o := range []client.Object{
		&rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{rule}},
		&rbacv1.RoleBinding{
			ObjectMeta: meta, Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: user}},
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: user},
		},
	} {
		if err := env.Client.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	env.Eventually(t, "it is read with rights", func(ctx context.Context) error {
		_, err := secrets.Get(ctx, key)
		return err
	})
}
