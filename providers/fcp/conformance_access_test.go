// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package fcp_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/network"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
	namespacedv1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/namespaced/v1alpha3"
	"github.com/bowline-dev/bowline/providers/fcp/apis/v1alpha3"
)

// How objects come to their configuration, and controllers to the cloud.
func TestAccess(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, test := range map[string]func(*testing.T, *world){
		"different configurations (R227, R229)":       differentConfigs,
		"configuration called default (R228, N1, N2)": defaultConfig,
		"rotated key (R232)":                          rotatedKey,
		"what goes wrong when connecting (R19)":       wrongConfigs,
		"a configuration in use stays (N12)":          configInUse,
		"Secret of a configuration in use (N12)":      secretInUse,
		"made by anybody (K16, P11, P12)":             madeByAnybody,
		"settings that fill up (P44, R150)":           imported,
		"generated password stays (P62, P65, R211)":   generatedPassword,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, w)
		})
	}
}

// keySecret creates a Secret of the world's namespace with a key.
func (w *world) keySecret(t *testing.T, name, key string) *corev1.Secret {
	t.Helper()
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, StringData: map[string]string{"key": key}}
	w.Create(t, s)
	return s
}

// settings reach a project of the cloud with the key in a Secret of the world's namespace.
func (w *world) settings(endpoint, project, secret string) v1alpha3.ProviderConfigSpec {
	spec := v1alpha3.ProviderConfigSpec{ProjectID: project, Endpoint: endpoint}
	spec.Credentials = xpv1.ProviderCredentials{
		Source:    xpv1.CredentialsSourceSecret,
		SecretRef: &xpv1.SecretKeySelector{Namespace: w.Namespace, Name: secret, Key: "key"},
	}
	return spec
}

// ownConfig creates a configuration of the world's namespace and returns how objects name it.
func (w *world) ownConfig(t *testing.T, name string, spec v1alpha3.ProviderConfigSpec) *xpv1.ProviderConfigReference {
	t.Helper()
	w.Create(t, &namespacedv1alpha3.ProviderConfig{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec})
	return &xpv1.ProviderConfigReference{Kind: xpv1.ProviderConfigKind, Name: name}
}

// isOnly wants the object's network in one place and not in another.
func isOnly(t *testing.T, mg resource.Managed, here, notHere *network.Client) {
	t.Helper()
	mine := map[string]string{meta.ExternalLabelUID: string(mg.GetUID())}
	for c, want := range map[*network.Client]int{here: 1, notHere: 0} {
		if found, err := c.List(t.Context(), mine); err != nil || len(found) != want {
			t.Errorf("networks of %s %+v, %v, want %d", mg.GetName(), found, err, want)
		}
	}
}

// differentConfigs has two objects of one kind in the same namespace, for different clouds, projects and keys.
func differentConfigs(t *testing.T, w *world) {
	c := newCloud(t)
	w.keySecret(t, "second", c.key(t, "other"))
	ref := w.ownConfig(t, "second", w.settings(c.endpoint, "other", "second"))
	first, second := w.network("by-first"), w.network("by-second")
	second.Spec.ProviderConfigReference = ref
	for _, n := range []resource.Managed{first, second} {
		w.Create(t, n)
		w.Settled(t, n)
	}
	isOnly(t, first, w.networks, c.networks(t, "other"))
	isOnly(t, second, c.networks(t, "other"), w.networks)
}

// defaultConfig has objects that name no configuration, while there are others too.
func defaultConfig(t *testing.T, w *world) {
	c := newCloud(t)
	w.keySecret(t, "of-default", c.key(t, "default"))
	spec := w.settings(c.endpoint, "default", "of-default")
	w.Create(t, &v1alpha3.ProviderConfig{ObjectMeta: metav1.ObjectMeta{Name: "default"}, Spec: spec})
	w.Create(t, &namespacedv1alpha3.ClusterProviderConfig{ObjectMeta: metav1.ObjectMeta{Name: "default"}, Spec: spec})
	cluster, namespaced := w.clusterNetwork(), w.network("by-default")
	cluster.Name += "-by-default"
	cluster.Spec.ProviderConfigReference, namespaced.Spec.ProviderConfigReference = nil, nil
	for _, n := range []resource.Managed{cluster, namespaced} {
		w.Create(t, n)
		w.Settled(t, n)
		isOnly(t, n, c.networks(t, "default"), w.networks)
	}
}

// rotatedKey replaces the key in the Secret by one that the cloud refuses, and that by another good one. The same
// controllers run all the time.
func rotatedKey(t *testing.T, w *world) {
	c := newCloud(t)
	key := w.keySecret(t, "rotated", c.key(t, "rotated"))
	n := w.network("rotated")
	n.Spec.ProviderConfigReference = w.ownConfig(t, "rotated", w.settings(c.endpoint, "rotated", "rotated"))
	w.Create(t, n)
	w.Settled(t, n)

	rotate := func(to string) {
		w.edit(t, key, func() { key.Data = map[string][]byte{"key": []byte(to)} })
	}
	rotate("withdrawn")
	w.says(t, n, "cannot get network")
	rotate(c.key(t, "rotated"))
	w.Settled(t, n)
}

// wrongConfigs breaks each step of connecting: the configuration, its Secret, the key in it, and the client.
func wrongConfigs(t *testing.T, w *world) {
	w.keySecret(t, "malformed", "two words")
	noKey := w.settings(w.endpoint, project, "malformed")
	noKey.Credentials.SecretRef.Key = "password"
	own := func(name string) *xpv1.ProviderConfigReference {
		return &xpv1.ProviderConfigReference{Kind: xpv1.ProviderConfigKind, Name: name}
	}
	for name, tc := range map[string]struct {
		config *xpv1.ProviderConfigReference
		says   string
	}{
		"no configuration (R19)": {own("nowhere"), `cannot get ProviderConfig "nowhere"`},
		"no Secret (R19)": {
			w.ownConfig(t, "no-secret", w.settings(w.endpoint, project, "nothing")), `cannot get credentials of ProviderConfig "no-secret"`,
		},
		"no key (R19)": {w.ownConfig(t, "no-key", noKey), `cannot get credentials of ProviderConfig "no-key"`},
		"no client (R19)": {
			w.ownConfig(t, "no-client", w.settings(w.endpoint, project, "malformed")), `cannot create client of ProviderConfig "no-client"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			n := w.network("of-" + tc.config.Name)
			n.Spec.ProviderConfigReference = tc.config
			n.Spec.DeletionPolicy = xpv1.DeletionOrphan // it can go although the cloud cannot be reached
			w.Create(t, n)
			w.says(t, n, tc.says)
		})
	}
}

// configInUse deletes a configuration before the object that uses it.
func configInUse(t *testing.T, w *world) {
	config := &namespacedv1alpha3.ProviderConfig{ObjectMeta: metav1.ObjectMeta{Name: "in-use"}, Spec: w.settings(w.endpoint, project, "key")}
	w.Create(t, config)
	n := w.network("user")
	n.Spec.ProviderConfigReference = &xpv1.ProviderConfigReference{Kind: xpv1.ProviderConfigKind, Name: config.Name}
	w.Create(t, n)
	w.Settled(t, n)
	shows := func(users int64, deleted bool) func(context.Context) error {
		return func(ctx context.Context) error {
			if err := w.Client.Get(ctx, client.ObjectKeyFromObject(config), config); err != nil {
				return err
			}
			if config.Status.Users != users || config.DeletionTimestamp.IsZero() == deleted {
				return fmt.Errorf("users %d, deletion %v", config.Status.Users, config.DeletionTimestamp)
			}
			return nil
		}
	}
	w.Eventually(t, "the user is counted", shows(1, false))
	if err := w.Client.Delete(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	w.Change(t, n, func() { n.Spec.ForProvider.MTU = new(9000) })
	if err := shows(1, true)(t.Context()); err != nil {
		t.Errorf("after its deletion: %v", err)
	}
	w.Remove(t, n)
	w.Eventually(t, "the configuration is gone with its user", w.gone(config))
}

// secretInUse deletes the key before the object whose configuration has it.
func secretInUse(t *testing.T, w *world) {
	key := w.copyOfKey(t, w.Namespace)
	key.Name = "key-in-use"
	w.Create(t, key)
	n := w.network("user-of-key")
	n.Spec.ProviderConfigReference = w.ownConfig(t, "of-key", w.settings(w.endpoint, project, key.Name))
	w.Create(t, n)
	w.Settled(t, n)
	w.Eventually(t, "the key is held", func(ctx context.Context) error {
		if err := w.Client.Get(ctx, client.ObjectKeyFromObject(key), key); err != nil || len(key.Finalizers) > 0 {
			return err
		}
		return errors.New("no finalizer")
	})
	if err := w.Client.Delete(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	w.Change(t, n, func() { n.Spec.ForProvider.MTU = new(9000) })
	w.Remove(t, n)
	w.Remove(t, &namespacedv1alpha3.ProviderConfig{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "of-key"}})
	w.Eventually(t, "the key is gone with its user", w.gone(key))
}

// gone wants an object not to be there.
func (w *world) gone(o client.Object) func(context.Context) error {
	return func(ctx context.Context) error {
		err := w.Client.Get(ctx, client.ObjectKeyFromObject(o), o)
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(errors.New("it is still there"), err)
	}
}
