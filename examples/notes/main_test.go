// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	namespacedv1alpha1 "github.com/bowline-dev/bowline/examples/notes/apis/namespaced/v1alpha1"
	"github.com/bowline-dev/bowline/providertest"
)

func TestMain(m *testing.M) { os.Exit(providertest.Main(m, newProvider())) }

// TestNote creates a note, reads its state in the object, changes both, and deletes it.
func TestNote(t *testing.T) {
	t.Parallel()
	w, folder := run(t)
	testInitProvider(t, w, folder)
	file := filepath.Join(folder, "shopping")
	note := &namespacedv1alpha1.Note{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "shopping"}}
	note.Spec.ForProvider.Text = ptr.To("milk")
	note.Spec.ProviderConfigReference = &xpv1.ProviderConfigReference{Kind: xpv1.ProviderConfigKind, Name: "default"}
	note.Spec.WriteConnectionSecretToReference = &xpv1.SecretReference{Name: "where"}
	w.Create(t, note)
	w.Settled(t, note)
	if diff := cmp.Diff(ptr.To("600"), note.Spec.ForProvider.Mode); diff != "" {
		t.Errorf("the mode is not taken over (-want +got):\n%s", diff)
	}
	where := &corev1.Secret{}
	if err := w.Client.Get(t.Context(), client.ObjectKey{Namespace: w.Namespace, Name: "where"}, where); err != nil {
		t.Fatal(err)
	}
	if got := string(where.Data["path"]); got != file {
		t.Errorf("the connection secret leads to %q, want %q", got, file)
	}
	if err := os.WriteFile(file, []byte("beer"), 0o600); err != nil {
		t.Fatal(err)
	}
	reads(t, w, file, "milk")
	note.Spec.ForProvider.Text = ptr.To("milk and bread")
	if err := w.Client.Update(t.Context(), note); err != nil {
		t.Fatal(err)
	}
	reads(t, w, file, "milk and bread")
	if err := w.Client.Delete(t.Context(), note); err != nil {
		t.Fatal(err)
	}
	w.Eventually(t, "the file is gone", func(context.Context) error {
		if _, err := os.Stat(file); !os.IsNotExist(err) {
			return errors.New("it is not")
		}
		return client.IgnoreNotFound(w.Client.Get(t.Context(), client.ObjectKeyFromObject(note), note))
	})
}

// testInitProvider changes what the object declares beside a text that it wanted at creation only.
func testInitProvider(t *testing.T, w *providertest.World, folder string) {
	t.Helper()
	file := filepath.Join(folder, "diary")
	note := &namespacedv1alpha1.Note{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "diary"}}
	note.Spec.InitProvider.Text, note.Spec.ForProvider.Mode = ptr.To("begins"), ptr.To("600")
	note.Spec.ProviderConfigReference = &xpv1.ProviderConfigReference{Kind: xpv1.ProviderConfigKind, Name: "default"}
	w.Create(t, note)
	reads(t, w, file, "begins")
	w.Eventually(t, "the file has another mode", func(ctx context.Context) error {
		if err := w.Client.Get(ctx, client.ObjectKeyFromObject(note), note); err != nil {
			return err
		}
		note.Spec.ForProvider.Mode = ptr.To("644")
		if err := w.Client.Update(ctx, note); err != nil {
			return err
		}
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o644 {
			return fmt.Errorf("it has not, error %v", err)
		}
		return nil
	})
	reads(t, w, file, "begins")
}

func reads(t *testing.T, w *providertest.World, file, want string) {
	t.Helper()
	w.Eventually(t, "the file reads "+want, func(context.Context) error {
		if text, err := os.ReadFile(file); err != nil || string(text) != want {
			return fmt.Errorf("it reads %q, error %v", text, err)
		}
		return nil
	})
}

// run runs the provider on the shared API server with a folder of its own.
func run(t *testing.T) (*providertest.World, string) {
	t.Helper()
	w, folder := providertest.New(t, newProvider()), t.TempDir()
	w.Start(t)
	config := &namespacedv1alpha1.ProviderConfig{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	config.Spec.Folder, config.Spec.Credentials.Source = folder, xpv1.CredentialsSourceNone
	w.Create(t, config)
	return w, folder
}
