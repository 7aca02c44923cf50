// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kube "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/internal/testkit/shop"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/claim"
	"github.com/bowline-dev/bowline/pkg/reconciler/claimscheduling"
	"github.com/bowline-dev/bowline/pkg/reconciler/secret"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// late is a class kind of this test only. Its name comes before those of the shop.
func (s *classStage) late() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "a" + strings.Trim(s.Prefix, "-") + ".test.bowline.dev", Version: "v1", Kind: "LateClass"}
}

// install installs the class kind of this test, for claims of items if it declares that.
func (s *classStage) install(declares bool) *apiextensionsv1.CustomResourceDefinition {
	s.t.Helper()
	open, kind := true, s.late()
	crd := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "lateclasses." + kind.Group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: kind.Group,
			Scope: apiextensionsv1.ClusterScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Kind: kind.Kind, ListKind: "LateClassList", Plural: "lateclasses"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: kind.Version, Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", XPreserveUnknownFields: &open}},
			}},
		},
	}
	if declares {
		crd.Labels = map[string]string{meta.LabelKeyClaimKind: "itemclaim.shop.test.bowline.dev"}
	}
	if err := controlplanetest.Install(s.t.Context(), s.Config, crd); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { s.uninstall(crd) })
	return crd
}

func (s *classStage) uninstall(crd *apiextensionsv1.CustomResourceDefinition) {
	c, err := client.New(s.Config, client.Options{})
	if err != nil {
		s.t.Fatal(err)
	}
	u := &kube.Unstructured{}
	u.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
	u.SetName(crd.Name)
	_ = wait.PollUntilContextTimeout(context.Background(), 20*time.Millisecond, 30*time.Second, true, func(ctx context.Context) (bool, error) {
		return apierrors.IsNotFound(c.Delete(ctx, u)), nil // only then it can be installed again
	})
}

func (s *classStage) lateClass(name string) *kube.Unstructured {
	u := &kube.Unstructured{}
	u.SetGroupVersionKind(s.late())
	u.SetName(s.Prefix + name)
	u.SetLabels(map[string]string{mine: s.Namespace, "size": "any"})
	return u
}

// lateScheduler adds the scheduler of the class kind of this test.
func (s *classStage) lateScheduler(mgr manager.Manager) error {
	return claimscheduling.NewReconciler(mgr, itemClaims, resource.ClassKind(s.late())).SetupWithManager(mgr)
}

// Class kinds that come and go while controllers run.
func TestDefinitions(t *testing.T) {
	t.Parallel()
	for name, run := range map[string]func(*classStage){
		"a class kind is installed, uninstalled and installed again (N10)": func(s *classStage) {
			s.start(everything)
			named := s.claim("named", nil)
			named.Spec.ClassReference = s.of(s.late(), "class")
			s.create(named, labelled(s.item("class"), labels.Set{"size": "any"}))
			s.Eventually(s.t, "it is not there", s.shows(named, "ClassNotFound", "LateClass"))
			for round := range 2 {
				crd := s.install(true)
				s.create(s.lateClass("class"))
				stop := s.start(s.lateScheduler)
				s.Eventually(s.t, "its classes come first", s.next(round, s.of(s.late(), "class").Kind))
				stop()
				s.uninstall(crd)
				s.Eventually(s.t, "its classes do not count", s.next(round, "ItemClass"))
			}
		},
		"the author's own class kind whose definition does not declare what it is for (N10)": func(s *classStage) {
			s.install(false)
			s.create(s.lateClass("class"))
			s.start(s.lateScheduler)
			c := s.claim("one", labels.Set{"size": "any"})
			s.create(c)
			s.Eventually(s.t, "it is given", s.gets(c, s.of(s.late(), "class")))
		},
		"the author's own class kind is installed later (N10)": func(s *classStage) {
			s.start(s.lateScheduler)
			c := s.claim("one", labels.Set{"size": "any"})
			s.create(c)
			s.install(true)
			s.create(s.lateClass("class"))
			s.Eventually(s.t, "it is given", s.gets(c, s.of(s.late(), "class")))
		},
		"a definition no longer declares that it is for such claims (N10)": func(s *classStage) {
			crd := s.install(true)
			s.start(func(mgr manager.Manager) error { return claim.NewReconciler(mgr, itemClaims).SetupWithManager(mgr) })
			s.create(s.lateClass("class"))
			c := s.claim("none", labels.Set{"size": "none"})
			s.create(c)
			s.Eventually(s.t, "it is judged", s.shows(c, "NoMatchingClass"))
			named := s.claim("named", nil)
			named.Spec.ClassReference = s.of(s.late(), "class")
			s.create(named)
			crd.Labels = map[string]string{meta.LabelKeyClaimKind: "somethingelse.example.org"}
			if err := controlplanetest.Install(s.t.Context(), s.Config, crd); err != nil {
				s.t.Fatal(err)
			}
			s.Eventually(s.t, "it is reported", s.shows(named, "ClassNotFound"))
		},
		"a class kind that cannot be listed keeps no other controller from starting (N10)": lateController,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(newClassStage(t))
		})
	}
}

func lateController(s *classStage) {
	s.install(true)
	var watched, started atomic.Bool
	s.onRequest(func(r *http.Request) error {
		if !strings.Contains(r.URL.Path, s.late().Group) || r.URL.Query().Get("limit") == "1" {
			return nil
		}
		watched.Store(true) // by an informer: what asks whether the kind is served limits its list
		return errRefused
	})
	var mgr manager.Manager
	s.start(func(m manager.Manager) error {
		mgr = m
		return claim.NewReconciler(m, itemClaims).SetupWithManager(m)
	})
	s.Eventually(s.t, "the kind is watched", isTrue(&watched))
	err := ctrl.NewControllerManagedBy(mgr).For(&shop.ItemClaim{}).Complete(reconcile.Func(
		func(context.Context, reconcile.Request) (reconcile.Result, error) {
			started.Store(true)
			return reconcile.Result{}, nil
		}))
	if err != nil {
		s.t.Fatal(err)
	}
	s.create(s.claim("any", nil))
	s.Eventually(s.t, "another controller works", isTrue(&started))
}

var errRefused = errors.New("refused")

func isTrue(b *atomic.Bool) func(context.Context) error {
	return func(context.Context) error {
		if !b.Load() {
			return errors.New("it is not true yet")
		}
		return nil
	}
}

// next fails until a new claim for any class gets one of the kind.
func (s *classStage) next(round int, kind string) func(context.Context) error {
	made := 0
	return func(ctx context.Context) error {
		made++
		c := s.claim(fmt.Sprintf("%s-%d-%d", strings.ToLower(kind), round, made), labels.Set{"size": "any"})
		s.create(c)
		for {
			if err := s.Client.Get(ctx, client.ObjectKeyFromObject(c), c); err != nil {
				return err
			}
			ref := c.Spec.ClassReference
			switch {
			case ref != nil && ref.Kind == kind:
				return nil
			case ref != nil:
				return fmt.Errorf("it got %s %s", ref.Kind, ref.Name)
			}
		}
	}
}

// A manager that checks names refuses a second controller of a name that one of ours has.
func TestNames(t *testing.T) {
	t.Parallel()
	mgr, err := manager.New(controlplanetest.Config(t), manager.Options{
		Scheme: scheme(), Metrics: metricsserver.Options{BindAddress: "0"}, Logger: logr.New(log.NullLogSink{}),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Run("the names of all controllers differ (R15, R5)", func(t *testing.T) {
		if err := errors.Join(everything(mgr), secret.NewReconciler(mgr).SetupWithManager(mgr)); err != nil {
			t.Error(err)
		}
	})
	for name, of := range map[string]string{
		"scheduler (R10, N21)":       "scheduler.itemclaim.item.shop.test.bowline.dev",
		"other scheduler (R10, N21)": "scheduler.itemclaim.gadget.shop.test.bowline.dev",
		"defaulter (R11, N21)":       "defaulter.itemclaim.item.shop.test.bowline.dev",
		"other defaulter (R11, N21)": "defaulter.itemclaim.gadget.shop.test.bowline.dev",
		"core controller (N10, N21)": "claim.itemclaim.shop.test.bowline.dev",
		"of Secrets (R7, R13)":       "connectionsecret",
	} {
		t.Run(name, func(t *testing.T) {
			err := ctrl.NewControllerManagedBy(mgr).Named(of).For(&shop.ItemClaim{}).Complete(&claimscheduling.Reconciler{})
			if err == nil || !strings.Contains(err.Error(), of) {
				t.Errorf("another controller may be called %s: %v", of, err)
			}
		})
	}
}
