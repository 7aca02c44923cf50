// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/testkit/fault"
	"github.com/bowline-dev/bowline/internal/testkit/thing"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
)

// withPassword puts a Thing on stage whose password is in a Secret.
func withPassword(t *testing.T, o ...managed.ReconcilerOption) (*stage, *corev1.Secret) {
	t.Helper()
	s := newStage(t, nil, o...)
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.env.Namespace, Name: "input"},
		Data:       map[string][]byte{"password": []byte("first")},
	}
	s.edit(func(mg *thing.Thing) {
		mg.Spec.ForProvider.PasswordSecretRef = &xpv1.SecretKeySelector{Namespace: s.env.Namespace, Name: "input", Key: "password"}
	})
	return s, secret
}

func (s *stage) store(secret *corev1.Secret) {
	s.t.Helper()
	secret.UID, secret.ResourceVersion = "", ""
	if err := s.env.Client.Create(s.t.Context(), secret); err != nil {
		s.t.Fatal(err)
	}
}

func TestMissingSecretInput(t *testing.T) {
	t.Parallel()
	s, secret := withPassword(t)
	t.Run("nothing is asked of the external system while the Secret is missing (P66)", func(t *testing.T) {
		s.pass()
		s.wantMessage("spec.forProvider.passwordSecretRef", "does not exist", "/input")
		if calls := s.system.TakeCalls(); cmp.Diff([]string{"Connect"}, calls) != "" {
			t.Errorf("calls %v", calls)
		}
	})
	t.Run("nor while it lacks the key (P66)", func(t *testing.T) {
		secret.Data = map[string][]byte{"other": []byte("value")}
		s.store(secret)
		s.pass()
		s.wantMessage(`no key "password"`)
		if calls := s.system.TakeCalls(); cmp.Diff([]string{"Connect"}, calls) != "" {
			t.Errorf("calls %v", calls)
		}
	})
	t.Run("it goes on when the key is there, and nothing shows the value (P61, R234)", func(t *testing.T) {
		secret.Data = map[string][]byte{"password": []byte("first")}
		if err := s.env.Client.Update(t.Context(), secret); err != nil {
			t.Fatal(err)
		}
		s.pass()
		if have := s.has(); have.Password != "first" {
			t.Errorf("the resource's password is %q", have.Password)
		}
		if shown := cmp.Diff(&thing.Thing{}, s.thing()); strings.Contains(shown, "first") {
			t.Errorf("the object shows the password:\n%s", shown)
		}
	})
}

func TestSecretInputRotation(t *testing.T) {
	t.Parallel()
	s, secret := withPassword(t)
	s.store(secret)
	s.pass()
	s.system.TakeCalls()
	reads := 0
	s.restart(tappedReads(s.env.Config, func(path string) {
		if strings.HasSuffix(path, "/secrets/input") {
			reads++
		}
	}))
	rotate := func(to string) {
		secret.Data["password"] = []byte(to)
		if err := s.env.Client.Update(t.Context(), secret); err != nil {
			t.Fatal(err)
		}
	}
	steps := []struct {
		name  string
		act   func()
		calls []string
		want  string
		reads int
	}{
		{"after a restart the Secret is read once, and nothing is updated (O21)", func() {}, []string{"Connect", "Observe"}, "first", 1},
		{"a minute later it is not read (N30)", func() { s.clock = s.clock.Add(time.Minute) }, []string{"Connect", "Observe"}, "first", 0},
		{"ten minutes later a changed one reaches the external system (P61, O21)", func() {
			rotate("second")
			s.clock = s.clock.Add(10 * time.Minute)
		}, []string{"Connect", "Observe", "Update", "Observe"}, "second", 1},
		{"and that once (N13)", func() { s.clock = s.clock.Add(10 * time.Minute) }, []string{"Connect", "Observe"}, "second", 1},
		{"at once if somebody asks for it (N30)", func() {
			rotate("third")
			s.annotate(meta.AnnotationKeyReconcileRequestedAt, "now")
		}, []string{"Connect", "Observe", "Update", "Observe"}, "third", 1},
		{"and after a change of the spec (N30)", func() {
			rotate("fourth")
			s.edit(func(mg *thing.Thing) { mg.Spec.ForProvider.Size = 2 })
		}, []string{"Connect", "Observe", "Update", "Observe"}, "fourth", 1},
		{"a lost status costs one update more (R41)", func() {
			mg := s.thing()
			mg.Status = thing.Status{}
			if err := s.env.Client.Status().Update(t.Context(), mg); err != nil {
				t.Fatal(err)
			}
			s.clock = s.clock.Add(10 * time.Minute)
		}, []string{"Connect", "Observe", "Update", "Observe"}, "fourth", 1},
	}
	for _, step := range steps {
		t.Run(step.name, func(t *testing.T) {
			step.act()
			reads = 0
			s.pass()
			if diff := cmp.Diff(step.calls, s.system.TakeCalls()); diff != "" {
				t.Errorf("calls -want +got:\n%s", diff)
			}
			if have := s.has(); have.Password != step.want || reads != step.reads {
				t.Errorf("the resource's password is %q, want %q; %d reads, want %d", have.Password, step.want, reads, step.reads)
			}
		})
	}
}

// tappedReads tells of the reads that go past the cache.
func tappedReads(config *rest.Config, read func(path string)) *rest.Config {
	return fault.Intercept(config, func(req *http.Request, next http.RoundTripper) (*http.Response, error) {
		if req.Method == http.MethodGet {
			read(req.URL.Path)
		}
		return next.RoundTrip(req)
	})
}

// A rotation that met an error is not forgotten until the Secret is read the next time.
func TestRefusedRotation(t *testing.T) {
	t.Parallel()
	for _, verb := range []string{"Observe", "Update"} {
		t.Run("after a failing "+verb+" (P61, O21)", func(t *testing.T) {
			t.Parallel()
			s, secret := withPassword(t)
			s.store(secret)
			s.pass()
			secret.Data["password"] = []byte("second")
			if err := s.env.Client.Update(t.Context(), secret); err != nil {
				t.Fatal(err)
			}
			s.clock = s.clock.Add(11 * time.Minute)
			s.failOnce(verb, errors.New(`password "second" is too short`), nil)
			s.pass()
			if verb == "Update" && strings.Contains(s.message(), "second") {
				t.Errorf("the message shows the password: %s (R234)", s.message())
			}
			s.pass()
			if have := s.has(); have.Password != "second" || s.state() != "Ready=Available Synced=ReconcileSuccess" {
				t.Errorf("the resource's password is %q, the user sees %s", have.Password, s.state())
			}
		})
	}
}

// Until a rotation is applied the external system has the value from before, and may repeat either.
func TestRefusedRotationShowsNeither(t *testing.T) {
	t.Parallel()
	for name, o := range map[string][]managed.ReconcilerOption{
		"within the pass (R234, P61)":   nil,
		"in the background (R234, P61)": {managed.WithBackgroundOperations(time.Minute)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, secret := withPassword(t, o...)
			s.edit(func(mg *thing.Thing) { mg.Spec.WriteConnectionSecretToReference = nil })
			s.store(secret)
			s.passUntilSynced("ReconcileSuccess", "")
			secret.Data["password"] = []byte("second")
			if err := s.env.Client.Update(t.Context(), secret); err != nil {
				t.Fatal(err)
			}
			s.system.Do(func(sys *thing.System) {
				sys.Fault = func(verb string) (error, error) {
					if verb != "Update" {
						return nil, nil
					}
					return errors.New("cannot replace first by second"), nil
				}
			})
			for range 2 { // the second time the Secret is read afresh
				s.clock = s.clock.Add(11 * time.Minute)
				s.passUntilSynced("ReconcileError", "cannot replace (sensitive) by (sensitive)")
			}
		})
	}
}

// passUntilSynced passes until condition Synced is of the reason and has the text in its message.
func (s *stage) passUntilSynced(reason, text string) {
	s.t.Helper()
	s.env.Eventually(s.t, reason, func(context.Context) error {
		s.pass()
		if got := s.state(); !strings.HasSuffix(got, reason) || !strings.Contains(s.message(), text) {
			return fmt.Errorf("%s: %s", got, s.message())
		}
		return nil
	})
}

// What keeps secrets out of errors is remembered: a pass that fails reads no Secret for it.
func TestFailingPassesReadNoInputs(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		verb    string
		options []managed.ReconcilerOption
		before  func(*cage)
		reads   int // of the first pass that fails, in a new process
	}{
		"Observe (N30, R234)": {verb: "Observe", before: func(*cage) {}, reads: 1},
		"Delete (N30, R234)":  {verb: "Delete", before: func(c *cage) { c.delete() }, reads: 1},
		"Delete in the background (N30, R234)": {verb: "Delete", before: func(c *cage) { c.delete() }, reads: 1,
			options: []managed.ReconcilerOption{managed.WithBackgroundOperations(time.Minute)}},
		"Delete, when the Secret is gone (N30, R234)": {verb: "Delete", reads: 1, before: func(c *cage) {
			c.delete()
			input := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: c.env.Namespace, Name: "input"}}
			if err := c.env.Client.Delete(c.t.Context(), input); err != nil {
				c.t.Fatal(err)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCage(t, tc.options...)
			c.passUntilReady()
			tc.before(c)
			var reads atomic.Int32
			c.restart(tappedReads(c.env.Config, func(path string) {
				if strings.HasSuffix(path, "/secrets/input") {
					reads.Add(1)
				}
			}))
			says := canaryInput
			if strings.Contains(name, "gone") {
				says = canaryCredential
			}
			c.refuse(tc.verb, func(error) error { return errors.New("no, said " + says) })
			c.env.Eventually(t, "it fails five times", func(context.Context) error {
				c.pass()
				if n := c.system.Called(tc.verb); n < 5 {
					return fmt.Errorf("%d calls", n)
				}
				return nil
			})
			c.env.Eventually(t, "the last one is told", func(context.Context) error {
				c.pass()
				if said := c.message(); !strings.Contains(said, "no, said (sensitive)") {
					return errors.New(said)
				}
				return nil
			})
			if got := int(reads.Load()); got != tc.reads {
				t.Errorf("the Secret was read %d times, want %d", got, tc.reads)
			}
		})
	}
}
