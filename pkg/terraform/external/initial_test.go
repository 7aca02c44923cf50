// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package external_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/resource/unstructured"
)

type tree = map[string]any

// What only spec.initProvider sets is sent once: it is neither removed nor reverted, at any depth, and its Secrets are not needed any more.
func TestInitialSettings_R139_R143_R144(t *testing.T) {
	each(t, func(t *testing.T, s *stage) {
		berth := tree{"tags": tree{"theirs": "2"}, "passwordSecretRef": tree{"namespace": s.Namespace, "name": "initial", "key": "password"}}
		if s.program == "reef" {
			berth["labels"], berth["owners"] = []any{tree{"key": "a", "value": "b"}}, []any{tree{"name": "anna"}}
			berth["ports"] = tree{"http": tree{"number": int64(80)}}
		}
		all := map[string]*unstructured.Managed{
			"berth": s.object("Berth", "north", tree{"forProvider": tree{"name": "north", "tags": tree{"mine": "1"}}, "initProvider": berth}),
			"chart": s.object("Chart", "north", tree{"forProvider": tree{"title": "north", "layer": []any{tree{"name": "one"}}},
				"initProvider": tree{"layer": []any{tree{"name": "one", "colour": "red"}, tree{"name": "two"}}, "buoy": []any{tree{"colour": "green"}},
					"legend": s.single(tree{"text": "all", "size": int64(3)})}}),
		}
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "initial"}, Data: map[string][]byte{"password": []byte("geheim")}}
		s.create(all["berth"], all["chart"])
		stop := s.run()
		s.waits(all["berth"], failure.SecretInputUnavailable, "spec.initProvider.passwordSecretRef")
		s.must(s.Client.Create(t.Context(), secret))
		s.ready(all["berth"], all["chart"])
		s.must(s.Client.Delete(t.Context(), secret))
		stop()
		s.run()
		for of, o := range all {
			made := s.theOnly(of)
			s.nudge(o)
			s.ready(o)
			s.polls(2)
			if diff := cmp.Diff(made, s.theOnly(of)); diff != "" || s.calls("update") > 0 {
				t.Errorf("%d updates without a change, -made +now:\n%s", s.calls("update"), diff)
			}
		}
		outside := s.theOnly("berth")
		outside["tags"] = tree{"mine": "1", "theirs": "3"}
		s.writeFile("berth", outside)
		s.edit(all["berth"], func(o map[string]any) { set(o, int64(3), "spec", "forProvider", "size") })
		s.hasSize(outside["id"].(string), 3) // the update runs in the background
		s.ready(all["berth"])
		outside["size"] = 3.0
		now := s.theOnly("berth")
		for _, field := range []string{"tags", "size", "labels", "owners", "ports"} {
			if diff := cmp.Diff(outside[field], now[field]); diff != "" {
				t.Errorf("%s after an update of size, -want +got:\n%s", field, diff)
			}
		}
	}, "berth", "chart")
}

// single is a block that occurs once, which only protocol 6 has as an object.
func (s *stage) single(block tree) any {
	if s.program == "shoal" {
		return []any{block}
	}
	return block
}

// awaitOne waits until one exists outside of a type.
func (s *stage) awaitOne(of string) {
	s.t.Helper()
	s.Eventually(s.t, "the provider creates it", func(context.Context) error {
		if n := len(s.files(of)); n != 1 {
			return fmt.Errorf("there are %d", n)
		}
		return nil
	})
}

// theOnly is what exists outside of a type, which must be one.
func (s *stage) theOnly(of string) map[string]any {
	s.t.Helper()
	files := s.files(of)
	if len(files) != 1 {
		s.t.Fatalf("there is %v", files)
	}
	for _, file := range files {
		return file
	}
	return nil
}
