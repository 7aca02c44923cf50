// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package target_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	workloadv1alpha1 "github.com/bowline-dev/bowline/apis/workload/v1alpha1"
	"github.com/bowline-dev/bowline/pkg/meta"
)

// Copies that somebody changed, when their target goes.
func TestDeletionOfChanged(t *testing.T) {
	t.Parallel()
	t.Run("one that got another controller is told nothing more, and another target agrees anew (N27, R289)", func(t *testing.T) {
		t.Parallel()
		s := newStage(t)
		have, _ := s.connected(nil)
		other := s.newTarget(func(t *workloadv1alpha1.KubernetesTarget) {
			t.Name, t.Spec.WriteConnectionSecretToReference.Name = "other", "others"
		})
		owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: s.env.Namespace, Name: "owner"}}
		s.create(other, owner)
		passOther := func() {
			t.Helper()
			if _, err := s.reconciler.Reconcile(t.Context(), reconcile.Request{NamespacedName: s.key("other")}); err != nil {
				t.Fatal(err)
			}
		}
		passOther()
		taken := s.secret("kube")
		s.edit(taken, func() {
			taken.OwnerReferences = []metav1.OwnerReference{meta.AsController(owner, corev1.SchemeGroupVersion.WithKind("ConfigMap"))}
		})
		s.delete(have)
		s.pass()
		passOther()
		from, others := s.secret("hidden-source"), s.secret("others")
		if going := meta.PropagatesTo(from); len(going) != 1 || !meta.PropagationAllowed(from, others) {
			t.Errorf("it goes on to %v", going)
		}
		if s.get("there", have) || s.secret("kube") == nil {
			t.Error("the target is there, or what is somebody else's is gone")
		}
	})
	for name, forge := range map[string]func(a map[string]string){
		"name":      func(a map[string]string) { a[meta.AnnotationKeyPropagateFromName] = "no/name" },
		"namespace": func(a map[string]string) { a[meta.AnnotationKeyPropagateFromNamespace] = ".." },
	} {
		t.Run("one that claims to be from what has no possible "+name+" (R302)", func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			have, _ := s.connected(nil)
			to := s.secret("kube")
			s.edit(to, func() { forge(to.Annotations) })
			s.delete(have)
			s.pass()
			if s.get("there", have) || s.secret("kube") != nil {
				t.Error("it is there, or its copy")
			}
		})
	}
}
