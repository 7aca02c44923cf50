// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed_test

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/testkit/thing"
	"github.com/bowline-dev/bowline/pkg/connection"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/meta"
)

const movedSuffix = "-moved"

// moves has the object name another connection Secret, and returns has it name the first one again.
func moves(s *stage) {
	s.secret.Name += movedSuffix
	s.names(s.secret)
}

func returns(s *stage) {
	s.secret = s.former()
	s.names(s.secret)
}

func (s *stage) names(secret types.NamespacedName) {
	s.edit(func(mg *thing.Thing) {
		mg.Spec.WriteConnectionSecretToReference = &xpv1.SecretReference{Namespace: secret.Namespace, Name: secret.Name}
	})
}

// former is the connection Secret before moves.
func (s *stage) former() types.NamespacedName {
	return types.NamespacedName{Namespace: s.secret.Namespace, Name: strings.TrimSuffix(s.secret.Name, movedSuffix)}
}

// inFormer does something with the former Secret as the connection Secret.
func inFormer(do act) act {
	return func(s *stage) {
		now := s.secret
		s.secret = s.former()
		do(s)
		s.secret = now
	}
}

// An object that names another connection Secret keeps what the external system returned only once.
func TestMovedSecret(t *testing.T) {
	edited := func(change func(*corev1.Secret)) act { return func(s *stage) { s.editSecret(change) } }
	sets := func(key, value string) act {
		return edited(func(secret *corev1.Secret) { secret.Data[key] = []byte(value) })
	}
	rotated := edited(func(secret *corev1.Secret) {
		secret.Data["password"] = []byte("rotated")
		secret.Annotations = map[string]string{meta.AnnotationKeyCredentialsRotatedAt: "2026-01-01T00:00:00Z"}
	})
	without := edited(func(secret *corev1.Secret) { delete(secret.Data, "password") })
	foreign := edited(func(secret *corev1.Secret) { secret.OwnerReferences[0].UID = "another" })
	disowned := edited(func(secret *corev1.Secret) { secret.OwnerReferences = nil })
	// claimed creates a Secret of another name that claims to belong to the object.
	claimed := func(s *stage) {
		secret := &corev1.Secret{Type: xpv1.SecretTypeConnection, Data: map[string][]byte{"password": []byte("planted")}}
		secret.Namespace, secret.Name = s.secret.Namespace, s.secret.Name+"-planted"
		secret.OwnerReferences = []metav1.OwnerReference{meta.AsController(s.thing(), s.kind)}
		s.must(s.env.Client.Create(s.t.Context(), secret))
	}
	// begun creates the new Secret as an earlier version left it.
	begun := func(s *stage) {
		secret := &corev1.Secret{Type: xpv1.SecretTypeConnection, Data: map[string][]byte{"endpoint": []byte("there")}}
		secret.Namespace, secret.Name = s.secret.Namespace, s.secret.Name
		secret.OwnerReferences = []metav1.OwnerReference{meta.AsController(s.thing(), s.kind)}
		s.must(s.env.Client.Create(s.t.Context(), secret))
	}
	unreachable := func(s *stage) { s.names(types.NamespacedName{Namespace: s.prefix + "missing", Name: "moved"}) }
	has := func(password string) act { return publishes(details("there", password)) }
	kept := then(pass, sees(ready), has("password-1"), calls("Update", 0), calls("Create", 0))
	isLost := then(pass, sees(lostDetails), has(""))
	moved := then(pass, forget, moves)
	recorded := object("its Secret is recorded", func(mg *thing.Thing) bool {
		_, current := connection.Recorded(mg)
		return current
	})
	crashed := func(s *stage) {
		s.fault = func(request string) (refuse, lose error) {
			if strings.Contains(request, "things") {
				refuse = errors.New("no route")
			}
			return refuse, nil
		}
		s.play(try)
		s.fault = nil
	}
	play(t, scripts{
		"the new Secret has all, and the former one stays (N42)":     {moved, kept, emitted(), inFormer(has("password-1")), nothingNew},
		"after a restart (N42)":                                      {moved, restarted, kept, recorded},
		"a crash before it is recorded (N42)":                        {moved, crashed, restarted, kept, recorded},
		"of an object that an earlier version created (N42)":         {pass, annotate(connection.AnnotationKeySecret, ""), pass, recorded, moved, kept},
		"a key that a person added (N42)":                            {pass, sets("more", "x"), moved, pass, publishes(map[string]string{"endpoint": "there", "password": "password-1", "more": "x"})},
		"the new Secret exists, and is incomplete (N42)":             {moved, begun, kept, recorded},
		"its namespace is missing, and then another one named (N42)": {pass, forget, unreachable, try, fails(failure.ConnectionSecretUnavailable), moves, kept, recorded},
		"back to one with a former password (N42, N53)":              {moved, pass, rotated, returns, pass, has("rotated")},
		"what was rotated since stays (N42, N53)":                    {moved, begun, rotated, pass, has("rotated"), recorded},
		"what people remove later is lost (N42)":                     {moved, pass, without, isLost},
		"one that only claims to belong to it is not read (N42)":     {pass, claimed, without, moved, isLost},
		"one of another object is not read (N42)":                    {moved, inFormer(foreign), isLost},
		"the former one is gone until it is restored (N42)": {moved, inFormer(disowned), isLost, func(s *stage) {
			s.play(reports("restore secret " + s.former().String()))
		}, inFormer(func(s *stage) {
			owner := meta.AsController(s.thing(), s.kind)
			s.editSecret(func(secret *corev1.Secret) { secret.OwnerReferences = []metav1.OwnerReference{owner} })
		}), pass, sees(ready), has("password-1")},
		"the former one is gone, and a person adds the key (N42)": {moved, inFormer(disowned), isLost, sets("password", "password-1"), kept, recorded},
	})
}
