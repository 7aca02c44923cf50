// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package fcp_test

import (
	"context"
	"crypto/rand"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/cache"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/database"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
	cachev1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/cache/v1alpha3"
)

// Databases and caches of the cloud get new passwords on request, which the servers accept once the Secret has them.
func TestRotation(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, tc := range map[string]struct {
		object  resource.BindableManaged
		accepts func(ctx context.Context, name, password string) (bool, error)
	}{
		"database (N50)": {w.database("rotated"), database.NewClient(w.cloud).CheckPassword},
		"cache (N50)":    {w.cache("rotated"), cache.NewClient(w.cloud).CheckPassword},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := tc.object
			key := client.ObjectKey{Namespace: w.Namespace, Name: "rotated-" + name[:5]}
			o.SetWriteConnectionSecretToReference(&xpv1.SecretReference{Namespace: key.Namespace, Name: key.Name})
			w.Create(t, o)
			w.Settled(t, o)
			secret := &corev1.Secret{}
			if err := w.Client.Get(t.Context(), key, secret); err != nil {
				t.Fatal(err)
			}
			before, former := o.DeepCopyObject().(client.Object), string(secret.Data["password"])
			meta.SetRotateCredentialsAt(o, time.Now().Add(time.Second)) // later than the creation
			if err := w.Client.Patch(t.Context(), o, client.MergeFrom(before)); err != nil {
				t.Fatal(err)
			}
			w.Eventually(t, "the Secret has another password", func(ctx context.Context) error {
				if err := w.Client.Get(ctx, key, secret); err != nil {
					return err
				}
				if string(secret.Data["password"]) == former {
					return errors.New("it has the former one")
				}
				return nil
			})
			if len(secret.Data["password.pending"]) > 0 {
				t.Error("a password is pending beside the new one")
			}
			for password, want := range map[string]bool{former: false, string(secret.Data["password"]): true} {
				if accepted, err := tc.accepts(t.Context(), meta.GetExternalName(o), password); err != nil || accepted != want {
					t.Errorf("the server accepts the password: %t, want %t; %v", accepted, want, err)
				}
			}
			w.Settled(t, o)
		})
	}
}

// Passwords of caches that are replaced by age open the real server beside the new ones until their overlap ends.
func TestOverlap(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	closes := func(t *testing.T, s server, data ...map[string][]byte) {
		t.Helper()
		for _, d := range data {
			w.Eventually(t, "the server refuses a former password", func(ctx context.Context) error {
				if s.opens(ctx, d) == nil {
					return errors.New("it opens the server")
				}
				return nil
			})
		}
	}
	rotated := func(t *testing.T, s server, former map[string][]byte) (data map[string][]byte) {
		t.Helper()
		w.Eventually(t, "the connection Secret has another password", func(context.Context) error {
			if data = w.serves(t, s, ""); string(data["password"]) == string(former["password"]) {
				return errors.New("it has the former one")
			}
			return nil
		})
		return data
	}
	for name, tc := range map[string]struct {
		overlap time.Duration
		then    func(t *testing.T, s server, o *cachev1alpha3.CacheInstance, former, present map[string][]byte)
	}{
		"until it ends (N59)": {overlap: 4 * time.Second, then: func(t *testing.T, s server, _ *cachev1alpha3.CacheInstance, former, _ map[string][]byte) {
			closes(t, s, former)
		}},
		"until a request ends it (N59)": {overlap: 30 * time.Minute, then: func(t *testing.T, s server, o *cachev1alpha3.CacheInstance, former, present map[string][]byte) {
			w.Change(t, o, func() { meta.SetRotateCredentialsAt(o, time.Now().Add(time.Second)) })
			rotated(t, s, present)
			closes(t, s, former, present)
		}},
		"and what others set meanwhile is drift (N53, N59)": {overlap: 30 * time.Minute, then: func(t *testing.T, s server, o *cachev1alpha3.CacheInstance, former, present map[string][]byte) {
			if _, err := cache.NewClient(w.cloud).Update(t.Context(), meta.GetExternalName(o), cache.UpdateInstanceInput{Password: new("by-others")}); err != nil {
				t.Fatal(err)
			}
			w.isOpened(t, s, string(present["password"]))
			others := maps.Clone(present)
			others["password"] = []byte("by-others")
			closes(t, s, former, others)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := w.cacheServer("overlapping-" + strings.ToLower(rand.Text()[:5]))
			o := s.object.(*cachev1alpha3.CacheInstance)
			w.start(t, s)
			former := w.serves(t, s, "")
			w.Change(t, o, func() {
				for _, key := range []string{meta.AnnotationKeyExternalCreatePending, meta.AnnotationKeyExternalCreateSucceeded} {
					o.Annotations[key] = time.Now().Add(-2 * time.Hour).Format(time.RFC3339)
				}
				o.Spec.Credentials.RotateEvery = &metav1.Duration{Duration: time.Hour}
				o.Spec.Credentials.Overlap = &metav1.Duration{Duration: tc.overlap}
			})
			present := rotated(t, s, former)
			have, err := cache.NewClient(w.cloud).Get(t.Context(), meta.GetExternalName(o))
			if err != nil {
				t.Fatal(err)
			}
			if err := s.opens(t.Context(), former); err != nil && time.Now().Before(have.PreviousPasswordExpiresAt) || tc.overlap > time.Minute && err != nil {
				t.Errorf("the former password does not open the server until %s: %v", have.PreviousPasswordExpiresAt, err)
			}
			tc.then(t, s, o, former, present)
			w.serves(t, s, "")
			w.Settled(t, o)
		})
	}
}
