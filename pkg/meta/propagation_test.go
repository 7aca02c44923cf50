// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package meta_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/pkg/meta"
)

func pair() (from, to *metav1.ObjectMeta) {
	from = &metav1.ObjectMeta{Namespace: "vault", Name: "source", UID: "s"}
	return from, &metav1.ObjectMeta{Namespace: "team", Name: "copy", UID: "c"}
}

func TestAllowPropagation(t *testing.T) {
	t.Parallel()
	from, to := pair()
	from.Annotations = map[string]string{"theirs": "stays"}
	meta.AllowPropagation(from, to)
	t.Run("R290 A21 annotations of the source", func(t *testing.T) {
		want := map[string]string{"theirs": "stays", "to.propagate.crossplane.io/c": "team/copy"}
		if diff := cmp.Diff(want, from.Annotations); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
	t.Run("R290 A21 annotations of the destination", func(t *testing.T) {
		want := map[string]string{
			"from.propagate.crossplane.io/namespace": "vault",
			"from.propagate.crossplane.io/name":      "source",
			"from.propagate.crossplane.io/uid":       "s",
		}
		if diff := cmp.Diff(want, to.Annotations); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
	t.Run("R289 both agree", func(t *testing.T) {
		if !meta.PropagationAllowed(from, to) {
			t.Error("they do not")
		}
	})
}

func TestPropagationAllowed(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(from, to *metav1.ObjectMeta){
		"R289 nobody says anything":             func(from, to *metav1.ObjectMeta) { from.Annotations, to.Annotations = nil, nil },
		"R289 the destination alone says so":    func(from, _ *metav1.ObjectMeta) { from.Annotations = nil },
		"R289 the source alone says so":         func(_, to *metav1.ObjectMeta) { to.Annotations = nil },
		"R289 another source of that name":      func(from, _ *metav1.ObjectMeta) { from.UID = "x" },
		"R289 another destination of that name": func(_, to *metav1.ObjectMeta) { to.UID = "x" },
		"R289 a source of another name":         func(from, _ *metav1.ObjectMeta) { from.Name = "x" },
		"R289 a source of another namespace":    func(from, _ *metav1.ObjectMeta) { from.Namespace = "x" },
		"R289 a destination of another name":    func(_, to *metav1.ObjectMeta) { to.Name = "x" },
		"R289 a destination in another place":   func(_, to *metav1.ObjectMeta) { to.Namespace = "x" },
		"R289 no UID of the source":             func(_, to *metav1.ObjectMeta) { to.Annotations[meta.AnnotationKeyPropagateFromUID] = "" },
		"R289 no UID on either side": func(from, to *metav1.ObjectMeta) {
			from.UID, to.Annotations[meta.AnnotationKeyPropagateFromUID] = "", ""
		},
		"R289 consent that was taken back": func(from, to *metav1.ObjectMeta) { meta.ForbidPropagationTo(from, to.UID) },
		"R289 a destination named half": func(from, _ *metav1.ObjectMeta) {
			from.Annotations[meta.AnnotationPrefixPropagateTo+"c"] = "copy"
		},
		"R289 a destination without a namespace": func(from, _ *metav1.ObjectMeta) {
			from.Annotations[meta.AnnotationPrefixPropagateTo+"c"] = "/copy"
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			from, to := pair()
			meta.AllowPropagation(from, to)
			change(from, to)
			if meta.PropagationAllowed(from, to) {
				t.Errorf("allowed from %v to %v", from, to)
			}
		})
	}
}

func TestPropagatesTo(t *testing.T) {
	t.Parallel()
	from, to := pair()
	other := &metav1.ObjectMeta{Namespace: "team", Name: "other", UID: "o"}
	meta.AllowPropagationTo(from, to)
	meta.AllowPropagationTo(from, other)
	from.Annotations["theirs"] = "stays"
	from.Annotations[meta.AnnotationPrefixPropagateTo] = "team/nobody"
	t.Run("R291 all destinations", func(t *testing.T) {
		want := map[types.UID]types.NamespacedName{"c": {Namespace: "team", Name: "copy"}, "o": {Namespace: "team", Name: "other"}}
		if diff := cmp.Diff(want, meta.PropagatesTo(from)); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
	meta.ForbidPropagationTo(from, to.UID)
	t.Run("R291 all but one", func(t *testing.T) {
		want := map[types.UID]types.NamespacedName{"o": {Namespace: "team", Name: "other"}}
		if diff := cmp.Diff(want, meta.PropagatesTo(from)); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		if from.Annotations["theirs"] != "stays" {
			t.Errorf("annotations are %v", from.Annotations)
		}
	})
}

func TestPropagatedFrom(t *testing.T) {
	t.Parallel()
	from, to := pair()
	meta.AllowPropagationFrom(to, from)
	t.Run("R290 the source", func(t *testing.T) {
		want := meta.PropagationSource{NamespacedName: types.NamespacedName{Namespace: "vault", Name: "source"}, UID: "s"}
		if got, ok := meta.PropagatedFrom(to); got != want || !ok {
			t.Errorf("got %v %v", got, ok)
		}
	})
	for _, key := range []string{
		meta.AnnotationKeyPropagateFromNamespace, meta.AnnotationKeyPropagateFromName, meta.AnnotationKeyPropagateFromUID,
	} {
		t.Run("R290 nothing without "+key, func(t *testing.T) {
			_, half := pair()
			meta.AllowPropagationFrom(half, from)
			delete(half.Annotations, key)
			if got, ok := meta.PropagatedFrom(half); ok {
				t.Errorf("got %v", got)
			}
		})
	}
}
