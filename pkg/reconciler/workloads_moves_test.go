// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	workloadv1alpha1 "github.com/bowline-dev/bowline/apis/workload/v1alpha1"
	"github.com/bowline-dev/bowline/pkg/reconciler/application"
)

// Which target an application gets, and when it gets another one.
func TestApplicationScheduling(t *testing.T) {
	t.Parallel()
	labelled := func(s *workloadStage, labels map[string]string) *workloadv1alpha1.KubernetesApplication {
		app := s.newApp(template("a", configMap("cm", one)))
		app.Spec.TargetSelector = &metav1.LabelSelector{MatchLabels: labels}
		return app
	}
	runOn(t, newWorkloadStage, map[string]func(*workloadStage){
		"no target matches": func(s *workloadStage) {
			s.create(labelled(s, map[string]string{"name": "elsewhere"}))
			s.pass()
			s.wantApp(workloadv1alpha1.ApplicationPending, application.ReasonNoMatchingTarget, "no KubernetesTarget of this namespace has the labels")
		},
		"the target is not ready": func(s *workloadStage) {
			target := s.connect("broken")
			s.status(target, func() { target.SetConditions(xpv1.Waiting(xpv1.ReasonConnecting, "")) })
			s.create(labelled(s, map[string]string{"name": "broken"}))
			s.pass()
			s.wantApp(workloadv1alpha1.ApplicationPending, application.ReasonNoMatchingTarget, "is ready yet")
		},
		"the named target is missing": func(s *workloadStage) {
			app := s.newApp(template("a", configMap("cm", one)))
			app.Spec.TargetReference = &workloadv1alpha1.KubernetesTargetReference{Name: "elsewhere"}
			s.create(app)
			s.pass()
			s.wantApp(workloadv1alpha1.ApplicationScheduled, application.ReasonNoMatchingTarget, `"elsewhere" of spec.targetRef does not exist`)
		},
	})
}

// An application keeps its target, and moves only when that is deleted.
func TestApplicationMoves(t *testing.T) {
	t.Parallel()
	runOn(t, newWorkloadStage, map[string]func(*workloadStage){
		"the choice is stored, and no new or better target changes it (N92)": func(s *workloadStage) {
			app := s.submitted(template("a", configMap("cm", one)))
			for i := range 8 {
				s.connect(fmt.Sprintf("t%d", i))
			}
			s.pass()
			if got := s.app(); got.Spec.TargetReference.Name != "there" || got.Spec.TargetSelector == nil {
				s.t.Errorf("%s moved: %+v", app.Name, got.Spec)
			}
		},
		"an application moves when its target is deleted: first there, then away (N92)": func(s *workloadStage) {
			s.submitted(template("a", configMap("cm", one)))
			before := &corev1.ConfigMap{}
			s.there("cm", before)
			s.connect("second")
			target := &workloadv1alpha1.KubernetesTarget{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "there"}}
			s.edit(target, func() { target.Finalizers = []string{"test.bowline.dev/held"} })
			s.delete(target)
			for range 3 {
				s.pass()
			}
			s.wantApp(workloadv1alpha1.ApplicationSubmitted, xpv1.ReasonAvailable)
			if got := s.resource("a"); s.app().Spec.TargetReference.Name != "second" || len(got.Status.Inventory) != 1 || got.Status.Inventory[0].Target != "second" {
				s.t.Errorf("it has %+v", got.Status.Inventory)
			}
			if after := (&corev1.ConfigMap{}); !s.there("cm", after) || after.UID != before.UID {
				s.t.Error("the object of the same cluster was created again")
			}
		},
		"an application without its target, as after kubectl replace, stays where it is": func(s *workloadStage) {
			app := s.submitted(template("a", configMap("cm", one)))
			for i := range 8 {
				s.connect(fmt.Sprintf("t%d", i))
			}
			s.edit(app, func() { app.Spec.TargetReference, app.Spec.TargetSelector = nil, nil })
			s.pass()
			if got := s.app().Spec.TargetReference; got == nil || got.Name != "there" {
				s.t.Errorf("it is on %v", got)
			}
		},
		"a target of something else is not chosen": func(s *workloadStage) {
			secret := s.secret("kube-there")
			s.edit(secret, func() { secret.Data = map[string][]byte{"password": []byte("x")} })
			s.create(s.newApp(template("a", configMap("cm", one))))
			s.pass()
			s.wantApp(workloadv1alpha1.ApplicationPending, application.ReasonNoMatchingTarget)
		},
		"an application that named its target waits": func(s *workloadStage) {
			app := s.newApp(template("a", configMap("cm", one)))
			app.Spec.TargetReference = &workloadv1alpha1.KubernetesTargetReference{Name: "there"}
			s.create(app)
			s.pass()
			s.pass()
			s.connect("second")
			s.delete(&workloadv1alpha1.KubernetesTarget{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "there"}})
			s.pass()
			s.wantApp(workloadv1alpha1.ApplicationSubmitted, application.ReasonNoMatchingTarget)
			s.wantData("cm", one)
		},
	})
}

// A namespace that is renamed together with what is in it is deleted once that has moved.
func TestApplicationMovesBeforePruning(t *testing.T) {
	t.Parallel()
	s := newWorkloadStage(t)
	t.Cleanup(s.Close)
	inside := func(place string) *corev1.ConfigMap {
		o := configMap("cm", one)
		o.Namespace = place
		return o
	}
	former, next := s.Prefix+"former", s.Prefix+"next"
	app := s.newApp(template("z", namespace(former)), template("a", inside(former)))
	s.create(app)
	s.Eventually(t, "all is there", s.untilApp(xpv1.ReasonAvailable))
	s.edit(app, func() {
		app.Spec.ResourceTemplates = []workloadv1alpha1.KubernetesApplicationResourceTemplate{template("z", namespace(next)), template("a", inside(next))}
	})
	deletedWith := false
	s.Eventually(t, "all has moved", func(ctx context.Context) error {
		err := s.untilApp(xpv1.ReasonAvailable)(ctx)
		was, old := &corev1.Namespace{}, &corev1.ConfigMap{}
		getErr := s.Client.Get(ctx, types.NamespacedName{Name: former}, was)
		objectErr := s.Client.Get(ctx, types.NamespacedName{Namespace: former, Name: "cm"}, old)
		deletedWith = deletedWith || getErr == nil && was.DeletionTimestamp != nil && objectErr == nil
		return err
	})
	if deletedWith {
		t.Error("the namespace was deleted with what was in it")
	}
	s.delete(app)
	s.Eventually(t, "the application is gone", s.untilGone(app))
}
