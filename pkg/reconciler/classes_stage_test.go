// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/internal/testkit/shop"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/claim"
)

// A classStage has managers that see the objects of this test only.
type classStage struct{ *stage }

func newClassStage(t *testing.T) *classStage {
	t.Helper()
	return &classStage{newStage(t)}
}

// start runs a manager with controllers.
func (s *classStage) start(setup func(manager.Manager) error) (stop func()) {
	s.t.Helper()
	return s.startWith(func(*cache.Options) {}, setup)
}

// startWith runs a manager whose cache holds something else.
func (s *classStage) startWith(change func(*cache.Options), setup func(manager.Manager) error) (stop func()) {
	s.t.Helper()
	options := manager.Options{Scheme: scheme(), NewCache: claim.NewCache,
		Cache: cache.Options{DefaultLabelSelector: labels.SelectorFromSet(labels.Set{mine: s.Namespace})}}
	change(&options.Cache)
	return controlplanetest.RunManager(s.t, s.access(), options, setup)
}

// meta is the metadata of an object of this test.
func (s *classStage) meta(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{mine: s.Namespace}}
}

// labelled adds labels to an object.
func labelled[T client.Object](o T, more labels.Set) T {
	o.SetLabels(labels.Merge(o.GetLabels(), more))
	return o
}

// byDefault makes a class a default one if the value is "true".
func byDefault[T client.Object](o T, value string) T {
	o.SetAnnotations(map[string]string{meta.AnnotationKeyDefaultClass: value})
	return o
}

func (s *classStage) item(name string) *shop.ItemClass {
	class := &shop.ItemClass{ObjectMeta: s.meta("", s.Prefix+name)}
	class.SpecTemplate.WriteConnectionSecretsToNamespace = s.Namespace
	return class
}

func (s *classStage) gadget(name string) *shop.GadgetClass {
	class := &shop.GadgetClass{ObjectMeta: s.meta("", s.Prefix+name)}
	class.SpecTemplate.WriteConnectionSecretsToNamespace = s.Namespace
	return class
}

// claim is one that chooses by labels if there are any, else one that waits for the default.
func (s *classStage) claim(name string, chooses labels.Set) *shop.ItemClaim {
	claim := &shop.ItemClaim{ObjectMeta: s.meta(s.Namespace, name)}
	if name == "" {
		claim.GenerateName = "claim-"
	}
	if chooses != nil {
		claim.Spec.ClassSelector = &metav1.LabelSelector{MatchLabels: chooses}
	}
	return claim
}

// of is a reference to a class, or to anything else.
func (s *classStage) of(kind schema.GroupVersionKind, name string) *corev1.ObjectReference {
	apiVersion, k := kind.ToAPIVersionAndKind()
	return &corev1.ObjectReference{APIVersion: apiVersion, Kind: k, Name: s.Prefix + name}
}

// gets fails until a claim has the class, nil for none.
func (s *classStage) gets(claim *shop.ItemClaim, class *corev1.ObjectReference) func(context.Context) error {
	return func(ctx context.Context) error {
		if err := s.Client.Get(ctx, client.ObjectKeyFromObject(claim), claim); err != nil {
			return err
		}
		if got := claim.Spec.ClassReference; fmt.Sprint(got) != fmt.Sprint(class) {
			return fmt.Errorf("%s has class %v, want %v", claim.Name, got, class)
		}
		return nil
	}
}

// shows fails until a claim's condition Ready has the reason, and its message the words.
func (s *classStage) shows(claim *shop.ItemClaim, reason string, words ...string) func(context.Context) error {
	return func(ctx context.Context) error {
		if err := s.Client.Get(ctx, client.ObjectKeyFromObject(claim), claim); err != nil {
			return err
		}
		ready := claim.GetCondition("Ready")
		if string(ready.Reason) != reason {
			return fmt.Errorf("%s shows %s %q, want %s", claim.Name, ready.Reason, ready.Message, reason)
		}
		if got := xpv1.FailureOf(claim); got.Reason != ready.Reason && ready.Reason != xpv1.ReasonBinding {
			return fmt.Errorf("%s shows Ready %s and the failure %+v", claim.Name, ready.Reason, got)
		}
		for _, word := range words {
			if !strings.Contains(ready.Message, word) {
				return fmt.Errorf("%s: the message should contain %q, it is %q", claim.Name, word, ready.Message)
			}
		}
		return nil
	}
}

// wants is gets at once.
func (s *classStage) wants(claim *shop.ItemClaim, class *corev1.ObjectReference) {
	s.t.Helper()
	if err := s.gets(claim, class)(s.t.Context()); err != nil {
		s.t.Error(err)
	}
}

// A hand makes passes of a reconciler one by one, without a controller.
type hand struct {
	*classStage
	mgr manager.Manager
}

// pass reconciles a claim once the manager knows it as it is.
func (h *hand) pass(claim client.Object) (reconcile.Result, error) {
	h.t.Helper()
	key := client.ObjectKeyFromObject(claim)
	h.Eventually(h.t, "the cache knows "+claim.GetName(), func(ctx context.Context) error {
		seen, there := claim.DeepCopyObject().(client.Object), claim.DeepCopyObject().(client.Object)
		cached, live := h.mgr.GetClient().Get(ctx, key, seen), h.Client.Get(ctx, key, there)
		if (cached == nil) != (live == nil) || seen.GetResourceVersion() != there.GetResourceVersion() {
			return fmt.Errorf("it is at %s (%v), the server at %s (%v)", seen.GetResourceVersion(), cached, there.GetResourceVersion(), live)
		}
		return nil
	})
	return h.reconciler.Reconcile(h.t.Context(), reconcile.Request{NamespacedName: key})
}

// passes reconciles a claim and wants it requeued after a while, zero for not at all.
func (h *hand) passes(claim client.Object, after time.Duration) {
	h.t.Helper()
	if got, err := h.pass(claim); err != nil || got.RequeueAfter != after {
		h.t.Errorf("%v, %v, want %v", got, err, after)
	}
}
