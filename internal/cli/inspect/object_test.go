// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/internal/cli/inspect"
)

// What others wrote cannot steer the terminal, nor feign further lines.
func TestPlain(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"plain é 漢":                     "plain é 漢",
		"two\nlines\tand\r\nmore":       "two lines and  more",
		"\x1b[31mred\x1b[0m":            "[31mred[0m",
		"\u009b31mred":                  "31mred",
		"bell\a and backspace\b":        "bell and backspace",
		"right\u202e to left \u2066too": "right to left too",
	} {
		if got := inspect.Plain(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

// Events of old and new recorders have their time in different fields.
func TestWhen(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	early := metav1.NewTime(at.Add(-time.Hour))
	for name, e := range map[string]corev1.Event{
		"counted": {FirstTimestamp: early, LastTimestamp: metav1.NewTime(at)},
		"new":     {EventTime: metav1.NewMicroTime(at)},
		"series":  {EventTime: metav1.NewMicroTime(early.Time), Series: &corev1.EventSeries{LastObservedTime: metav1.NewMicroTime(at)}},
	} {
		if got := inspect.When(e); !got.Equal(at) {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// The configuration of a managed kind is found by the provider's group, not by that of a neighbour.
func TestProviderConfigKind(t *testing.T) {
	t.Parallel()
	cluster := newStage(t).Cluster(t)
	for name, tc := range map[string]struct {
		of   schema.GroupKind
		kind string
		want string
	}{
		"group of the provider":         {schema.GroupKind{Group: "database.fcp.crossplane.io", Kind: "Thing"}, "", "providerconfig.fcp.crossplane.io"},
		"the group itself":              {schema.GroupKind{Group: "fcp.crossplane.io", Kind: "Thing"}, "ProviderConfig", "providerconfig.fcp.crossplane.io"},
		"a name that ends like it":      {schema.GroupKind{Group: "otherfcp.crossplane.io", Kind: "Thing"}, "", ""},
		"a kind that is not there":      {schema.GroupKind{Group: "fcp.crossplane.io", Kind: "Thing"}, "NoProviderConfig", ""},
		"another provider, without one": {schema.GroupKind{Group: "foreign.example.org", Kind: "Widget"}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, ok := cluster.ProviderConfigKind(tc.of, tc.kind)
			if ok != (tc.want != "") || ok && got.String() != tc.want {
				t.Errorf("got %s, %t", got, ok)
			}
		})
	}
}
