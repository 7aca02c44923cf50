// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/testkit/thing"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
)

// input is the Secret with the password of the Thing.
func (s *stage) input() types.NamespacedName {
	return types.NamespacedName{Namespace: s.env.Namespace, Name: strings.TrimPrefix(s.prefix, s.env.Prefix) + "input"}
}

// refersToInput has the Thing take its password from a Secret that need not exist.
func refersToInput(s *stage) {
	s.edit(func(mg *thing.Thing) {
		mg.Spec.ForProvider.PasswordSecretRef = &xpv1.SecretKeySelector{Namespace: s.input().Namespace, Name: s.input().Name,
			Key: "password"}
	})
}

// password is a Thing whose password is in a Secret.
func password(value string) act {
	return then(refersToInput, func(s *stage) { s.store(s.input(), map[string]string{"password": value}) })
}

func rotate(to string) act {
	return func(s *stage) {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.input().Namespace, Name: s.input().Name}}
		secret.Data = map[string][]byte{"password": []byte(to)}
		s.must(s.env.Client.Update(s.t.Context(), secret))
	}
}

func inputRemoved(s *stage) {
	s.must(s.env.Client.Delete(s.t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.input().Namespace,
		Name: s.input().Name}}))
}

func hasPassword(want string) act {
	return holds("password "+want, func(s *stage) bool { return s.has().Password == want })
}

// countInputReads counts the reads of the input that go past the cache.
func (s *stage) countInputReads() *atomic.Int32 {
	reads := &atomic.Int32{}
	s.intercept = func(r *http.Request) (*http.Response, error) {
		if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/secrets/"+s.input().Name) {
			reads.Add(1)
		}
		return nil, nil
	}
	return reads
}

func TestMissingSecretInput(t *testing.T) {
	live(t, map[string]act{"client": refersToInput}, func() []moment {
		return []moment{
			{"nothing is asked of the external system while the Secret is missing (P66)", []act{pass, called("Connect"),
				reports("spec.forProvider.passwordSecretRef", "does not exist", "-input")}},
			{"nor while it lacks the key (P66)", []act{func(s *stage) { s.store(s.input(), map[string]string{"other": "value"}) },
				pass, reports(`no key "password"`), called("Connect")}},
			{"nor while its value is empty (P66)", []act{rotate(""), pass, reports(`empty value under key "password"`, "-input"), called("Connect")}},
			{"it is reconciled when the key is there, and nothing shows the value (P61, R234)",
				[]act{rotate("first"), pass, hasPassword("first"),
					object("no password", func(mg *thing.Thing) bool { return !strings.Contains(fmt.Sprintf("%+v", mg), "first") })}},
		}
	})
}

func TestSecretInputRotation(t *testing.T) {
	live(t, clients, func() []moment {
		var reads *atomic.Int32
		reaches := func(calls, want string, n int32) act {
			return then(forget, func(*stage) { reads.Store(0) }, pass, called(calls), hasPassword(want),
				holds(fmt.Sprintf("%d reads", n), func(*stage) bool { return reads.Load() == n }))
		}
		const observes = "Connect Observe"
		return []moment{
			{"it is set at creation (P61)", []act{password("first"), pass, hasPassword("first"),
				func(s *stage) { reads = s.countInputReads() }}},
			{"after a restart the Secret is read once, and nothing is updated (O21)", []act{restarted, reaches(observes, "first", 1)}},
			{"a minute later it is not read (N30)", []act{later(time.Minute), reaches(observes, "first", 0)}},
			{"ten minutes later a changed one reaches the external system (P61, O21)", []act{rotate("second"), later(10 * time.Minute),
				reaches(updates, "second", 1)}},
			{"and that once (N13)", []act{later(10 * time.Minute), reaches(observes, "second", 1)}},
			{"at once on request (N30)", []act{rotate("third"), annotate(meta.AnnotationKeyReconcileRequestedAt, "now"),
				reaches(updates, "third", 1)}},
			{"and after a change of the spec (N30)", []act{rotate("fourth"), size(2), reaches(updates, "fourth", 1)}},
			{"a lost status costs one update more (R41)", []act{func(s *stage) {
				s.editStatus(s.key, func(mg *thing.Thing) { mg.Status = thing.Status{} })
			}, later(10 * time.Minute), reaches(updates, "fourth", 1)}},
			{"an empty one is refused, and the one from before stays (P66)", []act{rotate(""), later(10 * time.Minute), pass,
				reports("spec.forProvider.passwordSecretRef", `empty value under key "password"`), hasPassword("fourth")}},
		}
	})
}

func TestRefusedRotation(t *testing.T) {
	// A rotation that met an error is not forgotten until the Secret is read the next time.
	retried := func(verb string) []act {
		return []act{password("first"), pass, rotate("second"), later(11 * time.Minute),
			refuse(verb, errors.New(`password "second" is too short`)), pass,
			holds("no password (R234)", func(s *stage) bool { return verb == "Observe" || !strings.Contains(s.message(), "second") }),
			pass, hasPassword("second"), sees(ready)}
	}
	// Until a rotation is applied the external system has the value from before, and may repeat either.
	refused := func(text string) act {
		return then(later(11*time.Minute), until(text, func(s *stage) bool { return strings.Contains(s.message(), text) }))
	}
	neither := then(unwanted, password("first"), until("created",
		func(s *stage) bool { return s.has().Size == 1 && s.state() == ready }),
		rotate("second"), refuseAll("Update", errors.New("cannot replace first by second")),
		refused("cannot replace (sensitive) by (sensitive)"), refused("cannot replace (sensitive) by (sensitive)"))
	// What keeps secrets out of errors is remembered: a pass that fails reads no Secret for it.
	unread := func(verb, text string, given ...act) act {
		var reads *atomic.Int32
		return then(canaries, until("Ready", func(s *stage) bool { return s.state() == ready }), then(given...),
			restarted, func(s *stage) { reads = s.countInputReads() }, refuseAll(verb, errors.New("no, got "+text)),
			until("it fails five times", func(s *stage) bool { return s.system.Called(verb) >= 5 }),
			until("the last failure shows", func(s *stage) bool { return strings.Contains(s.message(), "no, got (sensitive)") }),
			holds("one read", func(*stage) bool { return reads.Load() == 1 }))
	}
	play(t, scripts{
		"after a failing Observe (P61, O21)":                         retried("Observe"),
		"after a failing Update (P61, O21, R234)":                    retried("Update"),
		"neither value shows, within the pass (R234, P61)":           {neither},
		"neither value shows, in the background (R234, P61)":         {inBackground, neither},
		"Observe reads no Secret again (N30, R234)":                  {unread("Observe", canaryInput)},
		"Delete reads no Secret again (N30, R234)":                   {unread("Delete", canaryInput, deleted)},
		"Delete in the background reads no Secret again (N30, R234)": {inBackground, unread("Delete", canaryInput, deleted)},
		"Delete, when the Secret is gone (N30, R234)":                {unread("Delete", canaryCredential, deleted, inputRemoved)},
	})
}

func missingInput(t *testing.T, f *fleet) {
	f.control(t, managed.WithPollInterval(time.Hour), managed.WithBackoff(time.Hour, time.Hour))
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: f.env.Namespace, Name: "input"}}
	mg := f.add("input", func(mg *thing.Thing) {
		mg.Spec.ForProvider.PasswordSecretRef = &xpv1.SecretKeySelector{Namespace: secret.Namespace, Name: secret.Name, Key: "password"}
	})
	waits := func(because string) {
		t.Helper()
		waitFor(t, f.env, mg, because, func(mg *thing.Thing) bool {
			return strings.Contains(mg.GetCondition(xpv1.TypeSynced).Message, because)
		})
	}
	waits("does not exist")
	if err := f.env.Client.Create(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	waits("has no key")
	setPassword(t, f, secret, []byte{})
	waits("has an empty value")
	setPassword(t, f, secret, []byte("password"))
	waitFor(t, f.env, mg, "Ready", available)
}

func lostKeysAdded(t *testing.T, f *fleet) {
	f.control(t, managed.WithPollInterval(time.Hour))
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: f.env.Namespace, Name: "lost"}}
	mg := f.add("lost", func(mg *thing.Thing) {
		mg.Spec.WriteConnectionSecretToReference = &xpv1.SecretReference{Namespace: secret.Namespace, Name: secret.Name}
	})
	waitFor(t, f.env, mg, "Ready", available)
	if err := f.env.Client.Get(t.Context(), client.ObjectKeyFromObject(secret), secret); err != nil {
		t.Fatal(err)
	}
	password := secret.Data["password"]
	setPassword(t, f, secret, nil)
	waitFor(t, f.env, mg, "details are lost", func(mg *thing.Thing) bool {
		return xpv1.FailureOf(mg).Reason == failure.ConnectionDetailsLost
	})
	setPassword(t, f, secret, password)
	waitFor(t, f.env, mg, "Ready again", available)
}

// setPassword sets the password in a connection Secret, or removes it.
func setPassword(t *testing.T, f *fleet, secret *corev1.Secret, password []byte) {
	t.Helper()
	content, err := json.Marshal(map[string]any{"data": map[string]any{"password": password}})
	if err == nil {
		err = f.env.Client.Patch(t.Context(), secret, client.RawPatch(types.MergePatchType, content))
	}
	if err != nil {
		t.Fatal(err)
	}
}
