// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package fcp_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/favouritecloud/sdk"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/cache"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	cachev1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/cache/v1alpha3"
	"github.com/bowline-dev/bowline/providertest"
)

// cache has a real server. It names no password.
func (w *world) cache(name string) *cachev1alpha3.CacheInstance {
	c := &cachev1alpha3.CacheInstance{
		ObjectMeta: metav1.ObjectMeta{Name: w.Prefix + name},
	}
	c.Spec.ProviderConfigReference = &xpv1.ProviderConfigReference{Name: w.Namespace}
	c.Spec.ForProvider.MemoryMegabytes = new(8)
	return c
}

// cacheLives has a server whose password the cloud chooses, and changes it while it keeps its data.
func cacheLives(t *testing.T, w *world) {
	c := w.cache("life")
	c.Spec.ForProvider.Labels = map[string]string{"team": "red"}
	c.Spec.WriteConnectionSecretToReference = &xpv1.SecretReference{Namespace: w.Namespace, Name: "cache"}
	w.Create(t, c)
	w.Settled(t, c)
	first := w.secretOf(t, "cache")
	if keys := slices.Sorted(maps.Keys(first)); !cmp.Equal(keys, []string{"endpoint", "password", "port", "username"}) {
		t.Errorf("keys %v (R211)", keys)
	}
	if p := c.Spec.ForProvider; p.EvictionPolicy == nil || *p.EvictionPolicy != cache.DefaultEvictionPolicy || p.EngineVersion == nil {
		t.Errorf("what the cloud chose is not in the spec: %+v (R150)", p)
	}
	w.Eventually(t, "the password opens the server (P62)", func(ctx context.Context) error { return redis(ctx, first, "SET k v", "+OK") })
	w.Change(t, c, func() {
		c.Spec.ForProvider.MemoryMegabytes, c.Spec.ForProvider.EvictionPolicy = new(16), new("noeviction")
	})
	have, err := cache.NewClient(w.cloud).Get(t.Context(), meta.GetExternalName(c))
	if err != nil || have.MemoryMegabytes != 16 || have.EvictionPolicy != "noeviction" || have.Labels["team"] != "red" {
		t.Errorf("changes did not arrive: %+v, %v (R39, P15)", have, err)
	}
	if diff := cmp.Diff(first, w.secretOf(t, "cache")); diff != "" {
		t.Error("the connection Secret changed (P65)")
	}
	w.Eventually(t, "the data is still there (P65)", func(ctx context.Context) error { return redis(ctx, first, "GET k", "$1") })
	w.Remove(t, c)
	if _, err := cache.NewClient(w.cloud).Get(t.Context(), have.Name); !sdk.IsNotFound(err) {
		t.Errorf("the cache is still there: %v (R38)", err)
	}
}

// chosenCachePassword has a server whose password is the one that a Secret says, and follows it.
func chosenCachePassword(t *testing.T) {
	w := newWorld(t, managed.WithSecretInputInterval(time.Second))
	chosen := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "chosen"}, StringData: map[string]string{"password": "first-choice"}}
	w.Create(t, chosen)
	c := w.cache("chosen")
	c.Spec.WriteConnectionSecretToReference = &xpv1.SecretReference{Namespace: w.Namespace, Name: "cache"}
	c.Spec.ForProvider.PasswordSecretRef = &xpv1.SecretKeySelector{Namespace: w.Namespace, Name: "chosen", Key: "password"}
	w.Create(t, c)
	w.Settled(t, c)
	opens := func(password string) func(context.Context) error {
		return func(ctx context.Context) error {
			data := w.secretOf(t, "cache")
			if string(data["password"]) != password {
				return errors.New("the connection Secret has another password")
			}
			return redis(ctx, data, "PING", "+PONG")
		}
	}
	w.Eventually(t, "the first password opens the server (P61, P64)", opens("first-choice"))
	chosen.StringData = map[string]string{"password": "second-choice"}
	if err := w.Client.Update(t.Context(), chosen); err != nil {
		t.Fatal(err)
	}
	w.Eventually(t, "the second password opens the server (P61, R221)", opens("second-choice"))
	w.Remove(t, c) // before the Secret that it refers to
}

// cacheDrift has somebody change what was declared, and what was taken over.
func (w *world) cacheDrift() providertest.Drift {
	c, caches := w.cache("drifting"), cache.NewClient(w.cloud)
	return providertest.Drift{
		Object:  c,
		Creates: []string{"memoryMegabytes"},
		Taken:   func() any { return c.Spec.ForProvider.EvictionPolicy },
		Change: func(ctx context.Context) error {
			theirs := cache.UpdateInstanceInput{MemoryMegabytes: new(9), EvictionPolicy: new("noeviction")}
			_, err := caches.Update(ctx, meta.GetExternalName(c), theirs)
			return err
		},
		Want: []xpv1.FieldDifference{
			{Path: "evictionPolicy", Desired: `"volatile-lru"`, Observed: `"noeviction"`},
			{Path: "memoryMegabytes", Desired: "8", Observed: "9"},
		},
		State: func(ctx context.Context) (any, error) {
			have, err := caches.Get(ctx, meta.GetExternalName(c))
			if err != nil {
				return nil, err
			}
			return fmt.Sprint(have.EvictionPolicy, " ", have.MemoryMegabytes), nil
		},
		Declared: "volatile-lru 8",
	}
}

// secretOf returns what a connection Secret holds.
func (w *world) secretOf(t *testing.T, name string) map[string][]byte {
	t.Helper()
	secret := &corev1.Secret{}
	if err := w.Client.Get(t.Context(), client.ObjectKey{Namespace: w.Namespace, Name: name}, secret); err != nil {
		t.Fatal(err)
	}
	return secret.Data
}

// redis sends a command to the server that a connection Secret opens, and returns nil if the reply begins as it should.
func redis(ctx context.Context, secret map[string][]byte, command, want string) error {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort(string(secret["endpoint"]), string(secret["port"])))
	if err != nil {
		return err
	}
	defer conn.Close()
	replies := bufio.NewReader(conn)
	for _, exchange := range [][2]string{{fmt.Sprintf("AUTH %s %s", secret["username"], secret["password"]), "+OK"}, {command, want}} {
		if _, err := fmt.Fprintf(conn, "%s\r\n", exchange[0]); err != nil {
			return err
		}
		reply, err := replies.ReadString('\n')
		if err != nil || !strings.HasPrefix(reply, exchange[1]) {
			return fmt.Errorf("the server replies %q, %w", reply, err)
		}
	}
	return nil
}
