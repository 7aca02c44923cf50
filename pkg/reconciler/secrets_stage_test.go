// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/internal/testkit"
	"github.com/bowline-dev/bowline/internal/testkit/shop"
	"github.com/bowline-dev/bowline/pkg/connection"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/reconciler/secret"
)

// A secretStage has a namespace that the team cannot see.
type secretStage struct {
	*stage
	vault  string   // that namespace
	errors []string // that controllers logged
}

func newSecretStage(t *testing.T) *secretStage {
	t.Helper()
	return &secretStage{stage: newStage(t), vault: controlplanetest.NewWithScheme(t, scheme()).Namespace}
}

// options are those of a provider's manager, which sees the objects of this test only.
func (s *secretStage) options() manager.Options {
	options := manager.Options{Scheme: scheme(), Cache: managed.CacheOptions(), Logger: funcr.New(s.log, funcr.Options{})}
	options.Cache.DefaultNamespaces = map[string]cache.Config{s.Namespace: {}, s.vault: {}}
	return options
}

// start runs the controller of all kinds until the test ends.
func (s *secretStage) start(access *rest.Config) {
	s.t.Helper()
	controlplanetest.RunManager(s.t, access, s.options(), func(mgr manager.Manager) error {
		return secret.NewReconciler(mgr).SetupWithManager(mgr)
	})
}

// source is the connection Secret of a managed resource.
func (s *secretStage) source(name string, data map[string]string, controller ...metav1.OwnerReference) *corev1.Secret {
	from := s.connectionSecret(name, nil)
	from.Namespace, from.OwnerReferences, from.Data = s.vault, controller, content(data)
	return from
}

// copy is the connection Secret of a claim, before any write to it.
func (s *secretStage) copy(name string, controller ...metav1.OwnerReference) *corev1.Secret {
	to := s.connectionSecret(name, nil)
	to.OwnerReferences = controller
	return to
}

// claim is one of the team, with templates if they are not empty.
func (s *secretStage) claim(name, templates string) *shop.ItemClaim {
	claim := &shop.ItemClaim{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: name}}
	setTemplates(claim, templates)
	return claim
}

func setTemplates(claim client.Object, templates string) {
	claim.SetAnnotations(map[string]string{connection.AnnotationKeyConnectionKeys: templates})
	if templates == "" {
		claim.SetAnnotations(nil)
	}
}

// agree has both Secrets agree, as the binder does.
func (s *secretStage) agree(from, to *corev1.Secret) {
	s.t.Helper()
	s.edit(from, func() { meta.AllowPropagationTo(from, to) })
	s.edit(to, func() { meta.AllowPropagationFrom(to, from) })
}

// bound makes a source and a copy that belong to a claim, and agree.
func (s *secretStage) bound(name string, data map[string]string, claim *shop.ItemClaim) (from, to *corev1.Secret) {
	s.t.Helper()
	s.create(claim)
	from, to = s.source(name, data), s.copy(name, meta.AsController(claim, shop.ItemClaimGroupVersionKind))
	s.create(from, to)
	s.agree(from, to)
	return from, to
}

// holds waits until a Secret has the data, and returns how long that took.
func (s *secretStage) holds(secret *corev1.Secret, data map[string]string) time.Duration {
	s.t.Helper()
	begun := time.Now()
	s.Eventually(s.t, "secret "+secret.Name+" is in step", func(ctx context.Context) error {
		if err := s.Client.Get(ctx, client.ObjectKeyFromObject(secret), secret); err != nil {
			return err
		}
		return holds(secret, data)
	})
	return time.Since(begun)
}

// idle waits until the controller has nothing left to do, and knows its own writes.
func (s *secretStage) idle() {
	s.t.Helper()
	s.Eventually(s.t, "nothing is left to do", func(context.Context) error {
		if time.Since(s.lastRequest()) < time.Second {
			return errors.New("the controller asked for something in the last second")
		}
		return nil
	})
}

func holds(secret *corev1.Secret, data map[string]string) error {
	if !maps.EqualFunc(secret.Data, content(data), bytes.Equal) {
		return fmt.Errorf("secret %s holds %q instead of %q", secret.Name, secret.Data, data)
	}
	return nil
}

func content(data map[string]string) map[string][]byte {
	c := map[string][]byte{}
	for key, value := range data {
		c[key] = []byte(value)
	}
	return c
}

// log keeps what controllers call an error.
func (s *secretStage) log(_, line string) {
	if strings.Contains(line, "Reconciler error") {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.errors = append(s.errors, line)
	}
}

// takeErrors returns the errors so far about a Secret of the team and forgets all.
func (s *secretStage) takeErrors(about *corev1.Secret) (some []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, line := range s.errors {
		if strings.Contains(line, client.ObjectKeyFromObject(about).String()) {
			some = append(some, line)
		}
	}
	s.errors = nil
	return some
}

func ownedBy(o client.Object, kind schema.GroupVersionKind) metav1.OwnerReference {
	return meta.AsController(o, kind)
}

// otherOwner is an object of the team that controls a copy and is no claim.
func (s *secretStage) otherOwner() metav1.OwnerReference {
	s.t.Helper()
	owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, GenerateName: "other-owner-"}}
	s.create(owner)
	return ownedBy(owner, corev1.SchemeGroupVersion.WithKind("ConfigMap"))
}

var errMissing = errors.New("missing")

// reconciled is what one pass over a Secret came to.
func (s *secretStage) reconciled(of *corev1.Secret) (data map[string][]byte, requeue time.Duration, err error) {
	s.t.Helper()
	r := secret.NewReconciler(testkit.NewManager(s.t, s.access(), s.options()))
	result, err := r.Reconcile(s.t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(of)})
	have := &corev1.Secret{}
	if missing := s.Client.Get(s.t.Context(), client.ObjectKeyFromObject(of), have); missing != nil {
		return nil, result.RequeueAfter, errors.Join(err, errMissing)
	}
	return have.Data, result.RequeueAfter, err
}

// ends makes a pass over a copy and checks what it holds then, and whether it is requeued.
func (s *secretStage) ends(to *corev1.Secret, want map[string]string, again bool) {
	s.t.Helper()
	data, requeue, err := s.reconciled(to)
	if err := errors.Join(err, holds(&corev1.Secret{Data: data}, want)); err != nil || (requeue > 0) != again {
		s.t.Errorf("requeue after %v, error %v", requeue, err)
	}
}

// vanishes makes a pass over a copy that does not exist then, which is no error.
func (s *secretStage) vanishes(to *corev1.Secret) {
	s.t.Helper()
	if _, requeue, err := s.reconciled(to); !errors.Is(err, errMissing) || err.Error() != "missing" || requeue != 0 {
		s.t.Errorf("requeue after %v, error %v", requeue, err)
	}
}

// beforeWrite calls do before each write.
func (s *secretStage) beforeWrite(do func()) {
	s.onRequest(func(r *http.Request) error {
		if r.Method != http.MethodGet {
			do()
		}
		return nil
	})
}
