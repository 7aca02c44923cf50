// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestConditionTrue(t *testing.T) {
	condition := func(conditionType, status string) map[string]any {
		return map[string]any{"type": conditionType, "status": status}
	}
	cases := map[string]struct {
		conditions any
		want       bool
	}{
		"True":        {[]any{condition("Synced", "False"), condition("Ready", "True")}, true},
		"False":       {[]any{condition("Ready", "False")}, false},
		"Absent":      {[]any{condition("Synced", "True")}, false},
		"NoStatus":    {nil, false},
		"OtherShape":  {"Ready", false},
		"OtherShapes": {[]any{"Ready"}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			object := map[string]any{"status": map[string]any{"conditions": tc.conditions}}
			if got := conditionTrue(object, "Ready"); got != tc.want {
				t.Errorf("want %t, got %t", tc.want, got)
			}
		})
	}
}

func TestDisplayName(t *testing.T) {
	bucket := schema.GroupVersionKind{Group: "a.example.org", Kind: "Bucket"}
	other := schema.GroupVersionKind{Group: "b.example.org", Kind: "Bucket"}
	queue := schema.GroupVersionKind{Group: "b.example.org", Kind: "Queue"}
	all := []schema.GroupVersionKind{bucket, other, queue}
	if got := displayName(queue, all); got != "Queue" {
		t.Errorf("a kind of its own: %s", got)
	}
	if got := displayName(other, all); got != "Bucket.b.example.org" {
		t.Errorf("a kind of two groups: %s", got)
	}
}
