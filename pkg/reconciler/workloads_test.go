// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	workloadv1alpha1 "github.com/bowline-dev/bowline/apis/workload/v1alpha1"
	"github.com/bowline-dev/bowline/internal/testkit/scenario"
	"github.com/bowline-dev/bowline/pkg/clients/clusters"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/application"
	"github.com/bowline-dev/bowline/pkg/reconciler/applicationresource"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
)

var one, two = map[string]string{"n": "1"}, map[string]string{"n": "2"}

// submitted puts on stage an application whose objects are in the cluster.
func (s *workloadStage) submitted(templates ...workloadv1alpha1.KubernetesApplicationResourceTemplate) *workloadv1alpha1.KubernetesApplication {
	s.t.Helper()
	app := s.newApp(templates...)
	s.create(app)
	for range 4 {
		s.pass()
	}
	s.wantApp(workloadv1alpha1.ApplicationSubmitted, xpv1.ReasonAvailable)
	s.events.Take()
	s.clusterRequests()
	return app
}

// An application is scheduled to a target, and its objects are in the cluster as declared.
func TestApplications(t *testing.T) {
	t.Parallel()
	runOn(t, newWorkloadStage, map[string]func(*workloadStage){
		"an application gets a target and its objects (K80, K81)": func(s *workloadStage) {
			s.create(s.connectionSecret("db", map[string]string{"password": "hunter2"}), s.newApp(template("a", configMap("cm", one), "db"),
				template("b", configMap("other", two))))
			s.pass()
			s.wantApp(workloadv1alpha1.ApplicationScheduled, application.ReasonSubmitting, "0 of 2 objects are ready")
			s.pass()
			s.wantApp(workloadv1alpha1.ApplicationSubmitted, xpv1.ReasonAvailable)
			s.wantResource("a", workloadv1alpha1.ResourceSubmitted, xpv1.ReasonAvailable)
			s.wantData("cm", one)
			s.wantData("other", two)
			copied := &corev1.Secret{}
			if !s.there("db", copied) || string(copied.Data["password"]) != "hunter2" || copied.Type != xpv1.SecretTypeConnection {
				s.t.Errorf("the copy is %+v", copied)
			}
			app := s.app()
			if app.Spec.TargetReference.Name != "there" || app.Status.DesiredResources != 2 || app.Status.SubmittedResources != 2 {
				s.t.Errorf("the application is %+v", app)
			}
		},
		"once all is well nothing is written, and no cluster is asked (N13)": func(s *workloadStage) {
			s.submitted(template("a", configMap("cm", one)))
			before := s.resource("a")
			s.pass()
			if result := s.passOf("a"); result.RequeueAfter != time.Hour { // within which Secrets have to be read
				s.t.Errorf("it comes back after %s", result.RequeueAfter)
			}
			if asked := s.clusterRequests(); len(asked) > 0 || s.resource("a").ResourceVersion != before.ResourceVersion {
				s.t.Errorf("it asked %v", asked)
			}
		},
		"a new process asks nothing about what is as declared": func(s *workloadStage) {
			s.submitted(template("a", configMap("cm", one)))
			s.restart(s.Config)
			s.pass()
			asked := s.clusterRequests()
			if slices.ContainsFunc(asked, writes) {
				s.t.Errorf("it asked %v", asked)
			}
		},
	})
}

// What differs in the cluster is changed back, but for what others added, and what held data of others.
func TestApplicationDrift(t *testing.T) {
	t.Parallel()
	runOn(t, newWorkloadStage, map[string]func(*workloadStage){
		"what is changed in the cluster is changed back, and what others add stays (N93)": func(s *workloadStage) {
			s.submitted(template("a", configMap("cm", one)))
			o := &corev1.ConfigMap{}
			s.there("cm", o)
			s.edit(o, func() { o.Data = map[string]string{"n": "7", "added": "x"} })
			s.becomes("cm", map[string]string{"n": "1", "added": "x"})
			s.wantEvents(applicationresource.ReasonReverted)
		},
		"what is deleted in the cluster is created again": func(s *workloadStage) {
			s.submitted(template("a", configMap("cm", one)))
			s.delete(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: s.remote, Name: "cm"}})
			s.becomes("cm", one)
		},
		"a namespace that was deleted in the cluster is not created again without permission (N38)": func(s *workloadStage) {
			name := s.Prefix + "data"
			s.submitted(template("a", namespace(name)))
			lost := &corev1.Namespace{}
			s.there0(name, lost)
			s.delete(lost)
			s.gone(lost)
			s.pass()
			s.wantResource("a", workloadv1alpha1.ResourceFailed, failure.ExternalResourceLost, string(lost.UID))
			resource := s.resource("a")
			s.edit(resource, func() {
				resource.Annotations = map[string]string{meta.AnnotationKeyRecreate: string(lost.UID)}
			})
			s.pass()
			s.pass()
			s.wantApp(workloadv1alpha1.ApplicationSubmitted, xpv1.ReasonAvailable)
		},
	})
}

// What is no longer declared is deleted, and nothing else.
func TestApplicationChanges(t *testing.T) {
	t.Parallel()
	runOn(t, newWorkloadStage, map[string]func(*workloadStage){
		"a changed template changes the object, and removes what it no longer has": func(s *workloadStage) {
			app := s.submitted(template("a", configMap("cm", map[string]string{"n": "1", "m": "1"})))
			s.edit(app, func() { app.Spec.ResourceTemplates[0] = template("a", configMap("cm", two)) })
			s.pass()
			s.wantData("cm", two)
		},
		"a renamed object replaces the former one, and a removed template deletes its object": func(s *workloadStage) {
			app := s.submitted(template("a", configMap("cm", one)), template("b", configMap("gone", one)))
			s.edit(app, func() { app.Spec.ResourceTemplates = app.Spec.ResourceTemplates[:1] })
			s.edit(app, func() { app.Spec.ResourceTemplates[0] = template("a", configMap("renamed", one)) })
			for range 4 {
				s.pass()
			}
			s.wantData("renamed", one)
			s.wantData("cm", nil)
			s.wantData("gone", nil)
			s.wantApp(workloadv1alpha1.ApplicationSubmitted, xpv1.ReasonAvailable)
			if left := s.resource("a").Status.Inventory; len(left) != 1 {
				s.t.Errorf("the inventory has %v", left)
			}
		},
		"a deleted application takes its objects with it, and nothing else": func(s *workloadStage) {
			s.create(s.connectionSecret("db", one))
			foreign := configMap("foreign", one)
			foreign.Namespace = s.remote
			s.create(foreign)
			app := s.submitted(template("a", configMap("cm", one), "db"), template("b", configMap("other", one), "db"))
			s.delete(app)
			s.Eventually(s.t, "the application is gone", s.untilGone(app))
			s.wantData("cm", nil)
			s.wantData("other", nil)
			s.wantData("foreign", one)
			if s.there("db", &corev1.Secret{}) || len(s.resources()) > 0 {
				s.t.Errorf("the copy exists, or %v", s.resources())
			}
		},
	})
}

// What keeps an application from writing anything.
func TestApplicationStops(t *testing.T) {
	t.Parallel()
	runOn(t, newWorkloadStage, map[string]func(*workloadStage){
		"an object that was created again is deleted, although that was not recorded": func(s *workloadStage) {
			s.create(s.connectionSecret("db", one))
			app := s.submitted(template("a", configMap("cm", one), "db"))
			resource := s.resource("a")
			s.status(resource, func() {
				for i := range resource.Status.Inventory {
					resource.Status.Inventory[i].UID = "of the former one"
				}
			})
			s.delete(app)
			s.Eventually(s.t, "the application is gone", s.untilGone(app))
			if err := s.checkOnly(); err != nil {
				s.t.Error(err)
			}
		},
		"a paused application and a paused resource do nothing": func(s *workloadStage) {
			app := s.submitted(template("a", configMap("cm", one)))
			s.edit(app, func() {
				app.Annotations = map[string]string{meta.AnnotationKeyReconciliationPaused: "true"}
				app.Spec.ResourceTemplates[0] = template("a", configMap("cm", two))
			})
			s.pass()
			s.wantData("cm", one)
			if synced := s.app().GetCondition(xpv1.TypeSynced); synced.Reason != xpv1.ReasonReconcilePaused {
				s.t.Errorf("Synced is %+v", synced)
			}
			s.edit(app, func() { app.Annotations = nil })
			resource := s.resource("a")
			s.edit(resource, func() { resource.Annotations = map[string]string{meta.AnnotationKeyReconciliationPaused: "true"} })
			s.pass()
			s.wantData("cm", one)
			s.delete(resource)
			s.pass()
			s.wantData("cm", one)
		},
		"a paused application pauses its objects": func(s *workloadStage) {
			app := s.submitted(template("a", configMap("cm", one)))
			s.edit(app, func() { app.Annotations = map[string]string{meta.AnnotationKeyReconciliationPaused: "true"} })
			o := &corev1.ConfigMap{}
			s.there("cm", o)
			s.edit(o, func() { o.Data = two })
			s.restart(s.Config)
			s.pass()
			s.wantData("cm", two)
			s.edit(app, func() { app.Annotations = nil })
			s.pass()
			s.wantData("cm", one)
		},
	})
}

// What an application does with its resources here.
func TestApplicationResources(t *testing.T) {
	t.Parallel()
	runOn(t, newWorkloadStage, map[string]func(*workloadStage){
		"labels and annotations that a template no longer has are removed": func(s *workloadStage) {
			declared := template("a", configMap("cm", one))
			declared.Metadata.Annotations = map[string]string{meta.AnnotationKeyReconciliationPaused: "true"}
			app := s.newApp(declared)
			s.create(app)
			s.pass()
			resource := s.resource("a")
			s.edit(resource, func() { resource.Annotations["example.org/mine"] = "stays" })
			s.wantData("cm", nil)
			s.edit(app, func() { app.Spec.ResourceTemplates[0].Metadata.Annotations = nil })
			s.pass()
			s.wantData("cm", one)
			if got := s.resource("a").Annotations; len(got) != 1 {
				s.t.Errorf("it has %v", got)
			}
		},
		"templates that contradict the selector write nothing": func(s *workloadStage) {
			app := s.newApp(template("a", configMap("cm", one)))
			app.Spec.ResourceSelector = &metav1.LabelSelector{MatchLabels: one}
			s.create(app)
			s.pass()
			s.wantApp(workloadv1alpha1.ApplicationFailed, application.ReasonInvalidTemplates, `template "a" lacks the labels`)
			if len(s.resources()) > 0 {
				s.t.Error("it has resources")
			}
		},
		"a resource of somebody else is left alone": func(s *workloadStage) {
			own := &workloadv1alpha1.KubernetesApplicationResource{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "a"}}
			own.Spec.Template = template("a", configMap("cm", one)).Spec.Template
			s.create(own, s.newApp(template("a", configMap("cm", two))))
			s.pass()
			s.wantApp(workloadv1alpha1.ApplicationFailed, application.ReasonResourceTaken)
			s.wantResource("a", workloadv1alpha1.ResourcePending, applicationresource.ReasonNoTarget)
			s.edit(own, func() { own.Spec.TargetReference = &workloadv1alpha1.KubernetesTargetReference{Name: "there"} })
			s.pass()
			s.wantData("cm", one)
		},
	})
}

func namespace(name string) *corev1.Namespace {
	return &corev1.Namespace{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}, ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// Plan tells what a pass would do, and does nothing.
func TestApplicationPlan(t *testing.T) {
	t.Parallel()
	s := newWorkloadStage(t)
	t.Cleanup(s.Close)
	plan := func() managed.Plan {
		t.Helper()
		plan, err := s.reconciler.(*applicationresource.Reconciler).Plan(t.Context(), s.resource("a"))
		if err != nil {
			t.Fatal(err)
		}
		return plan
	}
	own := &workloadv1alpha1.KubernetesApplicationResource{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "a"}}
	own.Spec.Template = template("a", configMap("cm", one)).Spec.Template
	own.Spec.TargetReference = &workloadv1alpha1.KubernetesTargetReference{Name: "there"}
	s.create(own)
	if got := plan(); got.Action != managed.PlanCreate || !slices.ContainsFunc(got.Fields, isData) {
		t.Errorf("before: %+v", got)
	}
	s.wantData("cm", nil)
	s.passOf("a")
	if got := plan(); got.Action != managed.PlanNothing || len(got.Fields) > 0 {
		t.Errorf("as declared: %+v", got)
	}
	s.edit(own, func() { own.Spec.Template = template("a", configMap("cm", two)).Spec.Template })
	if got := plan(); got.Action != managed.PlanUpdate || len(got.Fields) != 1 || !isData(got.Fields[0]) {
		t.Errorf("changed: %+v", got)
	}
	s.wantData("cm", one)
	s.delete(own)
	if got := plan(); got.Action != managed.PlanDelete {
		t.Errorf("deleted: %+v", got)
	}
}

func isData(f xpv1.FieldDifference) bool { return strings.HasPrefix(f.Path, "data") }

// Copies of Secrets follow their sources, and are deleted with the last object that names them.
func TestApplicationSecrets(t *testing.T) {
	t.Parallel()
	runOn(t, newWorkloadStage, map[string]func(*workloadStage){
		"a copy follows its source, also one that is created anew": func(s *workloadStage) {
			source := s.connectionSecret("db", map[string]string{"n": "1", "m": "1"})
			s.create(source)
			s.submitted(template("a", configMap("cm", one), "db"))
			s.edit(source, func() { source.Data = map[string][]byte{"n": []byte("2")} })
			s.pass()
			s.wantCopy("db", two)
			s.delete(source)
			s.create(s.connectionSecret("db", one))
			s.pass()
			s.wantCopy("db", one)
		},
		"what is changed in a copy is changed back": func(s *workloadStage) {
			s.create(s.connectionSecret("db", one))
			s.submitted(template("a", configMap("cm", one), "db"))
			copied := &corev1.Secret{}
			s.there("db", copied)
			s.edit(copied, func() { copied.Data = map[string][]byte{"n": []byte("7")} })
			s.restart(s.Config)
			s.pass()
			s.wantCopy("db", one)
		},
		"a copy is replaced where its type changed, and mended where its annotations are gone": func(s *workloadStage) {
			source := s.connectionSecret("db", one)
			s.create(source)
			s.submitted(template("a", configMap("cm", one), "db"))
			s.delete(source)
			other := s.connectionSecret("db", two)
			other.Type = corev1.SecretTypeOpaque
			s.create(other)
			s.Eventually(s.t, "the copy is Opaque", func(context.Context) error {
				copied := &corev1.Secret{}
				if err := s.tryAll(); err != nil || !s.there("db", copied) || copied.Type != corev1.SecretTypeOpaque {
					return fmt.Errorf("it is %s, %w", copied.Type, err)
				}
				return nil
			})
			copied := &corev1.Secret{}
			s.there("db", copied)
			s.edit(copied, func() { copied.Annotations, copied.Data["added"] = nil, []byte("x") })
			s.restart(s.Config)
			s.pass()
			s.wantCopy("db", two)
		},
		"a copy that another resource declares and does not have is deleted": func(s *workloadStage) {
			s.create(s.connectionSecret("db", one))
			app := s.submitted(template("a", configMap("cm", one), "db"))
			waiting := rawTemplate("b", map[string]any{"apiVersion": "nowhere.example.org/v1", "kind": "Thing", "metadata": map[string]any{"name": "t"}})
			waiting.Spec.Secrets = []workloadv1alpha1.SecretReference{{Name: "db"}}
			s.edit(app, func() { app.Spec.ResourceTemplates = append(app.Spec.ResourceTemplates, waiting) })
			s.pass()
			s.edit(app, func() { app.Spec.ResourceTemplates = app.Spec.ResourceTemplates[1:] })
			s.Eventually(s.t, "the copy is gone", func(context.Context) error { return errors.Join(s.tryAll(), s.checkOnly()) })
		},
		"a copy stays as long as another object names it": func(s *workloadStage) {
			s.create(s.connectionSecret("db", one))
			app := s.submitted(template("a", configMap("cm", one), "db"), template("b", configMap("other", one), "db"))
			s.edit(app, func() { app.Spec.ResourceTemplates = app.Spec.ResourceTemplates[:1] })
			s.pass()
			s.pass()
			s.wantData("other", nil)
			s.wantCopy("db", one)
			s.edit(app, func() { app.Spec.ResourceTemplates[0].Spec.Secrets = nil })
			s.pass()
			s.pass()
			s.wantData("cm", one)
			if s.there("db", &corev1.Secret{}) {
				s.t.Error("the copy exists")
			}
		},
	})
}

func (s *workloadStage) wantCopy(name string, want map[string]string) {
	s.t.Helper()
	copied, has := &corev1.Secret{}, map[string]string{}
	s.there(name, copied)
	for key, value := range copied.Data {
		has[key] = string(value)
	}
	if fmt.Sprint(has) != fmt.Sprint(want) || !strings.HasPrefix(copied.Labels[clusters.LabelKeyWorkload], clusters.LabelPrefixCopy) {
		s.t.Errorf("copy %s is %v, %v; want %v", name, has, copied.Labels, want)
	}
}

// Namespaces and definitions come before what needs them, and go after it.
func TestApplicationOrder(t *testing.T) {
	t.Parallel()
	s := newWorkloadStage(t)
	t.Cleanup(s.Close)
	group := strings.TrimSuffix(s.Prefix, "-") + ".example.org"
	definition := map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "things." + group},
		"spec": map[string]any{"group": group, "scope": "Namespaced", "names": map[string]any{"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"},
			"versions": []any{map[string]any{"name": "v1", "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}}},
	}
	place := s.Prefix + "place"
	thing := map[string]any{"apiVersion": group + "/v1", "kind": "Thing", "metadata": map[string]any{"name": "t", "namespace": place, "finalizers": []any{"test.bowline.dev/held"}}, "spec": map[string]any{"n": int64(1)}}
	app := s.newApp(rawTemplate("a", thing), rawTemplate("m", definition), template("z", namespace(place)))
	s.create(app)
	_ = s.tryAll()
	s.wantResource("a", workloadv1alpha1.ResourceScheduled, applicationresource.ReasonProgressing, "The object waits for that of KubernetesApplicationResource")
	s.Eventually(t, "all objects are there", s.untilApp(xpv1.ReasonAvailable))
	s.delete(app)
	for range 3 {
		_ = s.tryAll()
	}
	for _, name := range []string{"m", "z"} {
		if got := xpv1.FailureOf(s.resource(name)); got.Reason != failure.WaitingForDependents {
			t.Errorf("%s is deleted before what needs it: %+v", name, got)
		}
	}
	held := s.custom(group, place)
	held.SetFinalizers(nil)
	if err := s.Client.Update(t.Context(), held); err != nil {
		t.Fatal(err)
	}
	s.Eventually(t, "the application is gone", s.untilGone(app))
}

// Wherever the process crashes, and whichever answer is lost, the next one finishes the work: the cluster has what is declared, once,
// and nothing else.
func TestWorkloadCrashPoints(t *testing.T) {
	t.Parallel()
	runScripts(t, workloadScripts, func(of *stage) *workloadStage {
		s := workloadStageOn(of)
		s.unwatched = true
		return s
	})
}

var workloadScripts = map[string]scenario.Script[*workloadStage]{
	"apply (K80)": {Given: func(s *workloadStage) {
		s.create(s.connectionSecret("db", one), s.newApp(template("a", configMap("cm", one), "db"), template("b", configMap("other", two))))
	}, Then: func(s *workloadStage) error {
		return errors.Join(s.checkData("cm", one), s.checkData("other", two), s.checkOnly("cm", "other", "db"))
	}, Requests: 12},
	"change (N94)": {Given: func(s *workloadStage) {
		app := s.submitted(template("a", configMap("cm", one)))
		s.edit(app, func() { app.Spec.ResourceTemplates[0] = template("a", configMap("cm", two)) })
	}, Then: func(s *workloadStage) error { return errors.Join(s.checkData("cm", two), s.checkOnly("cm")) }, Requests: 4},
	"prune (N94)": {Given: func(s *workloadStage) {
		s.create(s.connectionSecret("db", one))
		app := s.submitted(template("a", configMap("cm", one), "db"), template("b", configMap("gone", one)))
		s.edit(app, func() {
			app.Spec.ResourceTemplates = []workloadv1alpha1.KubernetesApplicationResourceTemplate{template("a", configMap("renamed", one))}
		})
	}, Then: func(s *workloadStage) error { return errors.Join(s.checkData("renamed", one), s.checkOnly("renamed")) }, Requests: 12},
	"move (N94)": {Given: func(s *workloadStage) {
		app := s.submitted(template("a", configMap("cm", one)))
		s.connect("second")
		s.edit(app, func() { app.Spec.TargetReference.Name = "second" })
	}, Then: func(s *workloadStage) error { return errors.Join(s.checkData("cm", one), s.checkOnly("cm")) }, Requests: 5},
	"remove (N94)": {Given: func(s *workloadStage) {
		s.create(s.connectionSecret("db", one))
		s.delete(s.submitted(template("a", configMap("cm", one), "db"), template("b", configMap("other", one))))
	}, Then: func(s *workloadStage) error {
		if s.get("app", &workloadv1alpha1.KubernetesApplication{}) {
			return errors.New("the application exists")
		}
		return s.checkOnly()
	}, Requests: 10},
}
