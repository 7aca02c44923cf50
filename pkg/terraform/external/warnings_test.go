// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package external_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource/unstructured"
	"github.com/bowline-dev/bowline/pkg/terraform/warnings"
)

// Warnings of the provider are events of the object that they are about, once for each text and generation, without secrets.
func TestWarnings(t *testing.T) {
	each(t, func(t *testing.T, s *stage) {
		config := s.object("ProviderConfig", "default", nil)
		s.must(s.Client.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "token"}, Data: map[string][]byte{"token": []byte("the-token")}}))
		s.edit(config, func(o map[string]any) {
			set(o, map[string]any{"folder": s.folder, "tokenSecretRef": map[string]any{"namespace": s.Namespace, "name": "token", "key": "token"}}, "spec", "configuration")
		})
		s.warns("warning-configure", "the-token is old")
		s.run()
		north := s.berth("north", 2)
		s.create(north)
		s.ready(north)
		s.hasWarnings(config, map[string]int32{"(sensitive) is old": 1})
		s.hasWarnings(north, map[string]int32{})
		anchor := s.object("Anchor", "anchor", map[string]any{"forProvider": map[string]any{"berthId": meta.GetExternalName(north)}})
		s.create(anchor)
		s.ready(anchor)
		s.hasWarnings(config, map[string]int32{"(sensitive) is old": 1})
		s.delete(anchor)
		s.gone(anchor)
		secret := &corev1.Secret{}
		s.must(s.Client.Get(t.Context(), client.ObjectKey{Namespace: s.Namespace, Name: "north"}, secret))
		s.warns("warning", "its password is "+string(secret.Data["password"])+", and the token the-token")
		want := map[string]int32{"its password is (sensitive), and the token (sensitive)": 1}
		s.hasWarnings(north, want)
		s.polls(10)
		s.hasWarnings(north, want)
		s.edit(north, func(o map[string]any) { set(o, int64(3), "spec", "forProvider", "size") })
		s.ready(north)
		want["its password is (sensitive), and the token (sensitive)"] = 2
		s.hasWarnings(north, want)
		s.warns("warning", "the pier is closed")
		want["the pier is closed"] = 1
		s.hasWarnings(north, want)
		for i := range 20 {
			s.warns("warning", fmt.Sprintf("the pier is closed for %d days", i))
			s.polls(2)
		}
		if n := len(s.events(north, warnings.Reason)); n > 11 {
			t.Errorf("there are %d different warnings", n)
		}
		s.delete(north)
		s.gone(north)
		s.hasWarnings(config, map[string]int32{"(sensitive) is old": 1})
	}, "berth", "anchor")
}

// warns has the provider warn.
func (s *stage) warns(file, text string) {
	s.t.Helper()
	s.must(os.WriteFile(filepath.Join(s.folder, file), []byte(text), 0o600))
}

// polls waits for calls that read.
func (s *stage) polls(n int) {
	s.t.Helper()
	before := s.calls("read")
	s.Eventually(s.t, fmt.Sprintf("%d polls", n), func(context.Context) error {
		if now := s.calls("read"); now < before+n {
			return fmt.Errorf("%d", now-before)
		}
		return nil
	})
}

// events are the messages of those about an object with a reason: how often each was counted.
func (s *stage) events(about *unstructured.Managed, reason event.Reason) map[string]int32 {
	s.t.Helper()
	s.read(about)
	all, found := &corev1.EventList{}, map[string]int32{}
	s.must(s.Client.List(s.t.Context(), all, client.InNamespace(metav1.NamespaceDefault)))
	for _, e := range slices.DeleteFunc(all.Items, func(e corev1.Event) bool {
		return e.InvolvedObject.UID != about.GetUID() || e.Reason != string(reason)
	}) {
		found[e.Message] = e.Count
	}
	return found
}

func (s *stage) hasWarnings(about *unstructured.Managed, want map[string]int32) {
	s.t.Helper()
	s.Eventually(s.t, about.GetName()+" has its warnings", func(context.Context) error {
		if diff := cmp.Diff(want, s.events(about, warnings.Reason)); diff != "" {
			return fmt.Errorf("-want +got:\n%s", diff)
		}
		return nil
	})
}
