// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package meta_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/pkg/meta"
)

func TestAnnotations(t *testing.T) {
	for name, tc := range map[string]struct {
		key, value string
		got        func(metav1.Object) any
		want       any
	}{
		"R62 A21 the external name":       {"crossplane.io/external-name", "orders-1", externalName, "orders-1"},
		"R62 R66 no external name yet":    {"", "", externalName, ""},
		"R96 R97 A21 true pauses":         {"crossplane.io/paused", "true", paused, true},
		"R97 True does not":               {"crossplane.io/paused", "True", paused, false},
		"R97 TRUE does not":               {"crossplane.io/paused", "TRUE", paused, false},
		"R97 1 does not":                  {"crossplane.io/paused", "1", paused, false},
		"R97 yes does not":                {"crossplane.io/paused", "yes", paused, false},
		"R97 false does not":              {"crossplane.io/paused", "false", paused, false},
		"R97 nothing does not":            {"crossplane.io/paused", "", paused, false},
		"R97 true with a blank does not":  {"crossplane.io/paused", " true", paused, false},
		"R97 true on a line does not":     {"crossplane.io/paused", "true\n", paused, false},
		"R96 another annotation does not": {"example.org/paused", "true", paused, false},
		"N31 true orphans":                {"bowline.dev/orphan-on-delete", "true", orphans, true},
		"N31 anything else does not":      {"bowline.dev/orphan-on-delete", "yes", orphans, false},
		"poll interval":                   {"crossplane.io/poll-interval", "1h30m", pollInterval, "1h30m0s true"},
		"poll interval: the shortest":     {"crossplane.io/poll-interval", "1s", pollInterval, "1s true"},
		"poll interval: none":             {"", "", pollInterval, "0s false"},
		"poll interval: too short":        {"crossplane.io/poll-interval", "999ms", pollInterval, "999ms false"},
		"poll interval: backwards":        {"crossplane.io/poll-interval", "-1h", pollInterval, "-1h0m0s false"},
		"poll interval: no duration":      {"crossplane.io/poll-interval", "60", pollInterval, "0s false"},
	} {
		t.Run(name, func(t *testing.T) {
			o := &metav1.ObjectMeta{Annotations: map[string]string{tc.key: tc.value}}
			if got := tc.got(o); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

func externalName(o metav1.Object) any { return meta.GetExternalName(o) }
func paused(o metav1.Object) any       { return meta.IsPaused(o) }
func orphans(o metav1.Object) any      { return meta.OrphansOnDelete(o) }
func pollInterval(o metav1.Object) any {
	d, ok := meta.GetPollInterval(o)
	return fmt.Sprint(d, ok)
}

func TestSetExternalName(t *testing.T) {
	t.Run("A21 R62 R65 the last name counts, other annotations stay", func(t *testing.T) {
		o := &metav1.ObjectMeta{Annotations: map[string]string{"theirs": "stays"}}
		meta.SetExternalName(o, "first")
		meta.SetExternalName(o, "second")
		if diff := cmp.Diff(map[string]string{"theirs": "stays", "crossplane.io/external-name": "second"}, o.Annotations); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
	t.Run("A21 R62 on an object without annotations", func(t *testing.T) {
		o := &metav1.ObjectMeta{}
		meta.SetExternalName(o, "first")
		if got := meta.GetExternalName(o); got != "first" {
			t.Errorf("got %q", got)
		}
	})
}

func TestFinalizer(t *testing.T) {
	t.Run("A21 R51 added once, removed, others stay", func(t *testing.T) {
		o := &metav1.ObjectMeta{Finalizers: []string{"theirs"}}
		shared := o.Finalizers
		meta.AddFinalizer(o, "ours")
		meta.AddFinalizer(o, "ours")
		if diff := cmp.Diff([]string{"theirs", "ours"}, o.Finalizers); diff != "" || !meta.FinalizerExists(o, "ours") {
			t.Errorf("added once -want +got:\n%s", diff)
		}
		meta.RemoveFinalizer(o, "ours")
		if diff := cmp.Diff([]string{"theirs"}, o.Finalizers); diff != "" || meta.FinalizerExists(o, "ours") {
			t.Errorf("removed -want +got:\n%s", diff)
		}
		if diff := cmp.Diff([]string{"theirs"}, shared); diff != "" {
			t.Errorf("a cached object's slice must stay as it is -want +got:\n%s", diff)
		}
	})
}

func TestWasDeleted(t *testing.T) {
	now := metav1.Now()
	for name, tc := range map[string]struct {
		at   *metav1.Time
		want bool
	}{
		"A21 nobody asked":  {},
		"A21 somebody did":  {at: &now, want: true},
		"A21 the zero time": {at: &metav1.Time{}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := meta.WasDeleted(&metav1.ObjectMeta{DeletionTimestamp: tc.at}); got != tc.want {
				t.Errorf("got %t, want %t", got, tc.want)
			}
		})
	}
}

var kind = schema.GroupVersionKind{Group: "storage.example.org", Version: "v1", Kind: "Bucket"}

func TestOwners(t *testing.T) {
	owner := func(name string) *metav1.ObjectMeta {
		return &metav1.ObjectMeta{Name: name, UID: types.UID("uid of " + name)}
	}
	ownedBy := func(o ...*metav1.ObjectMeta) *metav1.ObjectMeta {
		owned := &metav1.ObjectMeta{}
		for _, by := range o {
			meta.AddOwnerReference(owned, meta.AsController(by, kind))
		}
		return owned
	}
	t.Run("A21 R213 controller", func(t *testing.T) {
		want := []metav1.OwnerReference{{
			APIVersion: "storage.example.org/v1", Kind: "Bucket", Name: "a", UID: "uid of a", Controller: new(true),
		}}
		if diff := cmp.Diff(want, ownedBy(owner("a")).OwnerReferences); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
	t.Run("A21 one reference per owner", func(t *testing.T) {
		o := ownedBy(owner("a"), owner("b"))
		shared := o.OwnerReferences
		later := meta.AsController(owner("a"), kind)
		later.Controller = nil
		meta.AddOwnerReference(o, later)
		if len(o.OwnerReferences) != 2 || o.OwnerReferences[0].Controller != nil || shared[0].Controller == nil {
			t.Errorf("now %+v, a cached object's %+v", o.OwnerReferences, shared)
		}
	})
	plain := &metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{UID: "uid of a"}}}
	for name, tc := range map[string]struct {
		a, b *metav1.ObjectMeta
		want bool
	}{
		"A21 R163 the same controller":     {ownedBy(owner("a")), ownedBy(owner("a")), true},
		"A21 R163 two controllers":         {ownedBy(owner("a")), ownedBy(owner("b")), false},
		"A21 R163 one has none":            {ownedBy(owner("a")), ownedBy(), false},
		"A21 R163 neither has one":         {ownedBy(), ownedBy(), false},
		"A21 R163 owned by it, that's all": {ownedBy(owner("a")), plain, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := meta.HaveSameController(tc.a, tc.b); got != tc.want {
				t.Errorf("got %t, want %t", got, tc.want)
			}
		})
	}
}

func TestNamespacedNameOf(t *testing.T) {
	for name, tc := range map[string]struct {
		ref  corev1.ObjectReference
		want types.NamespacedName
	}{
		"A20 of a namespaced object": {
			corev1.ObjectReference{Namespace: "shop", Name: "orders", UID: "uid"}, types.NamespacedName{Namespace: "shop", Name: "orders"}},
		"A20 of a cluster-scoped object": {corev1.ObjectReference{Kind: "Bucket", Name: "orders"}, types.NamespacedName{Name: "orders"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := meta.NamespacedNameOf(&tc.ref); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}

func TestExternalLabels(t *testing.T) {
	o := &metav1.ObjectMeta{Name: "myappnamespace-mynetwork-5sc8a", UID: "uid"}
	got := meta.GetExternalLabels(o, kind.GroupKind(), "aws-provider")
	t.Run("P10 P11 P12 N23 what they say", func(t *testing.T) {
		want := map[string]string{
			"crossplane-kind": "bucket.storage.example.org", "crossplane-name": "myappnamespace-mynetwork-5sc8a",
			"crossplane-provider": "aws-provider", "bowline-uid": "uid",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
	t.Run("P13 keys need neither dots nor slashes", func(t *testing.T) {
		for key := range got {
			if strings.ContainsAny(key, "./") {
				t.Errorf("key %q", key)
			}
		}
	})
}
