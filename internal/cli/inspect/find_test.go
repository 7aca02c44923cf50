// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/internal/cli/inspect"
	"github.com/bowline-dev/bowline/internal/testkit"
)

// objects have names that no other test uses: Find also searches other namespaces.
const objects = `
apiVersion: database.crossplane.io/v1alpha1
kind: FancySQLInstance
metadata: {name: parcels, namespace: $NS}
---
apiVersion: database.crossplane.io/v1alpha1
kind: PostgreSQLInstance
metadata: {name: both, namespace: $NS}
---
apiVersion: foreign.example.org/v1
kind: WidgetClaim
metadata: {name: both, namespace: $NS}
---
apiVersion: foreign.example.org/v1
kind: Widget
metadata: {name: $Pwidget}
`

func TestFind(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.Put(t, objects)
	cluster := s.Cluster(t)
	for name, tc := range map[string]struct {
		words     string
		namespace string // default: that of the test
		want      string // kind and name
		err       string // a part of it
	}{
		"kind/name":             {words: "fancysqlinstance/parcels", want: "FancySQLInstance parcels"},
		"kind and name":         {words: "fancysqlinstances parcels", want: "FancySQLInstance parcels"},
		"kind as in YAML":       {words: "FancySQLInstance/parcels", want: "FancySQLInstance parcels"},
		"kind with its group":   {words: "fancysqlinstances.database.crossplane.io/parcels", want: "FancySQLInstance parcels"},
		"kind with its version": {words: "fancysqlinstances.v1alpha1.database.crossplane.io/parcels", want: "FancySQLInstance parcels"},
		"claim by name":         {words: "parcels", want: "FancySQLInstance parcels"},
		"third party":           {words: "widgets/$Pwidget", want: "Widget $Pwidget"},
		"kubernetes' own":       {words: "ns/$NS", want: "Namespace $NS"},
		"two claims": {words: "both",
			err: "choose one: postgresqlinstance.database.crossplane.io/both, widgetclaim.foreign.example.org/both"},
		"two claims, one meant": {words: "widgetclaim/both", want: "WidgetClaim both"},
		"no such claim": {words: "parcel",
			err: "there are fancysqlinstance/parcels, postgresqlinstance/both, widgetclaim/both; for another kind of object use KIND/parcel"},
		"no such object": {words: "widget/other", err: `widget.foreign.example.org "other"`},
		"no such kind": {words: "nothing/other",
			err: `the server has no kind "nothing"; all kinds: kubectl api-resources; kinds of claims: `},
		"elsewhere": {words: "fancysqlinstance/parcels", namespace: "default", err: "in another namespace: -n $NS"},
		"elsewhere by name": {words: "parcels", namespace: "default",
			err: `there is no claim "parcels" in namespace "default"; there is one in another namespace: -n`},
		"three words":    {words: "a b c", err: inspect.ErrWords.Error()},
		"no name":        {words: "widget/", err: inspect.ErrWords.Error()},
		"no kind":        {words: "/parcels", err: inspect.ErrWords.Error()},
		"too many parts": {words: "a/b/c", err: inspect.ErrWords.Error()},
		"no word":        {words: "", err: inspect.ErrWords.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := inspect.Query{Words: strings.Fields(s.Fill(tc.words)), Namespace: s.Namespace}
			if tc.namespace != "" {
				q.Namespace = tc.namespace
			}
			got, err := cluster.Find(t.Context(), q)
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), s.Fill(tc.err)) {
					t.Errorf("got error: %v\nwant in it: %s", err, s.Fill(tc.err))
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if found := got.Object.GetKind() + " " + got.Object.GetName(); found != s.Fill(tc.want) {
				t.Errorf("found %s", found)
			}
		})
	}
}

// A user of one namespace finds objects there, and gets an error for the others.
func TestFindAsUser(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.Put(t, objects)
	cluster := s.As(t, rbacv1.PolicyRule{
		APIGroups: []string{"database.crossplane.io"}, Resources: []string{"*"}, Verbs: []string{"get", "list"},
	})
	for name, tc := range map[string]struct{ words, err string }{
		"own claim":         {words: "parcels"},
		"forbidden kind":    {words: "widget/$Pwidget", err: "widget.foreign.example.org"},
		"claim of any kind": {words: "none", err: "widgetclaim.foreign.example.org in namespace"}, // other packages may have installed kinds, too
		"nothing about other namespaces": {words: "fancysqlinstance/none",
			err: `there is no fancysqlinstance.database.crossplane.io "none" in namespace "$NS"; there are fancysqlinstance/parcels`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := cluster.Find(t.Context(), inspect.Query{Words: strings.Fields(s.Fill(tc.words)), Namespace: s.Namespace})
			if (tc.err == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), s.Fill(tc.err)) {
				t.Errorf("got error: %v\nwant in it: %s", err, s.Fill(tc.err))
			}
		})
	}
}

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

// A namespace with more objects of a kind than one page of a list has.
func TestHeld(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	const page = 500
	for i := range page + 1 {
		o := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: fmt.Sprintf("object-%03d", i)}}
		if i == page {
			o.Finalizers = []string{"test.bowline.dev/hold"}
			t.Cleanup(func() { _ = testkit.Remove(context.Background(), s.Client, o) })
		}
		if err := s.Client.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	held := s.Cluster(t).Held(t.Context(), s.Namespace)
	if len(held) != 1 || held[0].GetName() != "object-500" {
		t.Errorf("%d objects are held, want the last one", len(held))
	}
}
