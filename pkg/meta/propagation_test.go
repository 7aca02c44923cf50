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
	t.Run("annotations of the source (R290, A21)", func(t *testing.T) {
		want := map[string]string{"theirs": "stays", "to.propagate.crossplane.io/c": "team/copy"}
		if diff := cmp.Diff(want, from.Annotations); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
	t.Run("annotations of the destination (R290, A21)", func(t *testing.T) {
		want := map[string]string{
			"from.propagate.crossplane.io/namespace": "vault",
			"from.propagate.crossplane.io/name":      "source",
			"from.propagate.crossplane.io/uid":       "s",
		}
		if diff := cmp.Diff(want, to.Annotations); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
	t.Run("both agree (R289)", func(t *testing.T) {
		if !meta.PropagationAllowed(from, to) {
			t.Error("they do not")
		}
	})
}

func TestPropagationAllowed(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(from, to *metav1.ObjectMeta){
		"nobody says anything (R289)":             func(from, to *metav1.ObjectMeta) { from.Annotations, to.Annotations = nil, nil },
		"the destination alone says so (R289)":    func(from, _ *metav1.ObjectMeta) { from.Annotations = nil },
		"the source alone says so (R289)":         func(_, to *metav1.ObjectMeta) { to.Annotations = nil },
		"another source of that name (R289)":      func(from, _ *metav1.ObjectMeta) { from.UID = "x" },
		"another destination of that name (R289)": func(_, to *metav1.ObjectMeta) { to.UID = "x" },
		"a source of another name (R289)":         func(from, _ *metav1.ObjectMeta) { from.Name = "x" },
		"a source of another namespace (R289)":    func(from, _ *metav1.ObjectMeta) { from.Namespace = "x" },
		"a destination of another name (R289)":    func(_, to *metav1.ObjectMeta) { to.Name = "x" },
		"a destination in another place (R289)":   func(_, to *metav1.ObjectMeta) { to.Namespace = "x" },
		"no UID of the source (R289)":             func(_, to *metav1.ObjectMeta) { to.Annotations[meta.AnnotationKeyPropagateFromUID] = "" },
		"no UID on either side (R289)": func(from, to *metav1.ObjectMeta) {
			from.UID, to.Annotations[meta.AnnotationKeyPropagateFromUID] = "", ""
		},
		"consent that was taken back (R289)": func(from, to *metav1.ObjectMeta) { meta.ForbidPropagationTo(from, to.UID) },
		"a destination named half (R289)": func(from, _ *metav1.ObjectMeta) {
			from.Annotations[meta.AnnotationPrefixPropagateTo+"c"] = "copy"
		},
		"a destination without a namespace (R289)": func(from, _ *metav1.ObjectMeta) {
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
	t.Run("all destinations (R291)", func(t *testing.T) {
		want := map[types.UID]types.NamespacedName{"c": {Namespace: "team", Name: "copy"}, "o": {Namespace: "team", Name: "other"}}
		if diff := cmp.Diff(want, meta.PropagatesTo(from)); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
	meta.ForbidPropagationTo(from, to.UID)
	t.Run("all but one (R291)", func(t *testing.T) {
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
	t.Run("the source (R290)", func(t *testing.T) {
		want := meta.PropagationSource{NamespacedName: types.NamespacedName{Namespace: "vault", Name: "source"}, UID: "s"}
		if got, ok := meta.PropagatedFrom(to); got != want || !ok {
			t.Errorf("got %v %v", got, ok)
		}
	})
	for _, key := range []string{
		meta.AnnotationKeyPropagateFromNamespace, meta.AnnotationKeyPropagateFromName, meta.AnnotationKeyPropagateFromUID,
	} {
		t.Run("nothing without "+key+" (R290)", func(t *testing.T) {
			_, half := pair()
			meta.AllowPropagationFrom(half, from)
			delete(half.Annotations, key)
			if got, ok := meta.PropagatedFrom(half); ok {
				t.Errorf("got %v", got)
			}
		})
	}
}
