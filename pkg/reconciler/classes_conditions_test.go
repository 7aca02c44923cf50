// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/internal/testkit"
	"github.com/bowline-dev/bowline/internal/testkit/shop"
	"github.com/bowline-dev/bowline/pkg/internal/watch"
	"github.com/bowline-dev/bowline/pkg/reconciler/claimbinding"
	"github.com/bowline-dev/bowline/pkg/reconciler/class"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// An offer is a class and what it depends on.
type offer struct {
	*classStage
	class     *shop.ItemClass
	config    *shop.ProviderConfig
	namespace *corev1.Namespace
}

// newOffer creates a class and what it depends on.
func (s *classStage) newOffer(name string) *offer {
	s.t.Helper()
	o := &offer{s, s.item(name), &shop.ProviderConfig{ObjectMeta: s.meta("", s.Prefix+name)}, &corev1.Namespace{ObjectMeta: s.meta("", s.Prefix+name)}}
	o.class.SpecTemplate.ProviderConfigReference = &xpv1.ProviderConfigReference{Name: o.config.Name}
	o.class.SpecTemplate.WriteConnectionSecretsToNamespace = o.namespace.Name
	s.create(o.namespace, o.class)
	o.createConfig()
	s.t.Cleanup(func() {
		for _, object := range []client.Object{o.config, o.namespace} {
			if err := testkit.Remove(context.Background(), s.Client, object); err != nil {
				s.t.Error(err)
			}
		}
	})
	return o
}

// createConfig creates a ProviderConfig that can be used.
func (o *offer) createConfig() {
	o.t.Helper()
	o.config = &shop.ProviderConfig{ObjectMeta: o.meta("", o.config.Name)}
	o.config.Spec.Credentials.Source = xpv1.CredentialsSourceNone
	o.create(o.config)
	o.reports(xpv1.Available())
}

// reports has the ProviderConfig report that it can be used, or why it cannot.
func (o *offer) reports(ready xpv1.Condition) {
	o.t.Helper()
	o.status(o.config, func() { o.config.SetConditions(ready) })
}

// shows fails until condition Ready of the class has the reason, and its message the words.
func (o *offer) shows(reason xpv1.ConditionReason, words ...string) func(context.Context) error {
	return func(ctx context.Context) error {
		if err := o.Client.Get(ctx, client.ObjectKeyFromObject(o.class), o.class); err != nil {
			return err
		}
		ready := o.class.GetCondition(xpv1.TypeReady)
		status := map[bool]corev1.ConditionStatus{true: corev1.ConditionTrue, false: corev1.ConditionFalse}[reason == xpv1.ReasonAvailable]
		if ready.Reason != reason || ready.Status != status || ready.ObservedGeneration != o.class.Generation {
			return fmt.Errorf("Ready is %+v, want %s for generation %d", ready, reason, o.class.Generation)
		}
		for _, word := range words {
			if !strings.Contains(ready.Message, word) {
				return fmt.Errorf("the message should contain %q, it is %q", word, ready.Message)
			}
		}
		if strings.Contains(ready.Message, "hunter2") {
			return fmt.Errorf("the message repeats what only the platform team may read: %s", ready.Message)
		}
		return nil
	}
}

// startClasses runs the controller of conditions, which may do no more than it has to.
func (s *classStage) startClasses() {
	s.t.Helper()
	group := shop.GroupVersion.Group
	config := s.as(
		rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{"itemclasses", "providerconfigs"}, Verbs: []string{"list", "watch"}},
		rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{"itemclasses/status"}, Verbs: []string{"patch"}},
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"list", "watch"}})
	options := manager.Options{Scheme: scheme(),
		Cache: cache.Options{DefaultLabelSelector: labels.SelectorFromSet(labels.Set{mine: s.Namespace})}}
	controlplanetest.RunManager(s.t, config, options, func(mgr manager.Manager) error {
		return class.NewReconciler(mgr, itemClass, class.WithProviderConfigs(shop.ProviderConfigGroupVersionKind)).SetupWithManager(mgr)
	})
}

// A class reports each cause for which claims can get nothing from it, and its end.
func TestClassConditions(t *testing.T) {
	t.Parallel()
	s := newClassStage(t)
	s.startClasses()
	refused := xpv1.Waiting("ExternalSystemRefused", "The shop does not accept hunter2.")
	invalid := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "no label", Operator: "Exists"}}}
	offers := 0
	for name, tc := range map[string]struct {
		spoil  func(*offer)
		reason xpv1.ConditionReason
		words  []string
		mend   func(*offer)
	}{
		"the ProviderConfig is deleted (N58)": {
			func(o *offer) { o.delete(o.config) }, "ProviderConfigUnavailable", []string{"ProviderConfig", "does not exist", "specTemplate.providerConfigRef"},
			(*offer).createConfig,
		},
		"the ProviderConfig is being deleted (N58)": {
			func(o *offer) {
				o.edit(o.config, func() { o.config.Finalizers = []string{"test.bowline.dev/stay"} })
				o.delete(o.config)
			}, "ProviderConfigUnavailable", []string{"ProviderConfig", "is being deleted"},
			func(o *offer) {
				o.edit(o.config, func() { o.config.Finalizers = nil })
				o.createConfig()
			},
		},
		"the external system refuses the credentials (N58)": {
			func(o *offer) { o.reports(refused) }, "ExternalSystemRefused",
			[]string{"is not ready", "bowline why providerconfig.shop.test.bowline.dev/"},
			func(o *offer) { o.reports(xpv1.Available()) },
		},
		"the Secret of the ProviderConfig is missing (N58)": {
			func(o *offer) { o.reports(xpv1.Waiting("Unusable", "Secret hunter2 does not exist.")) }, "Unusable", []string{"is not ready"},
			func(o *offer) { o.reports(xpv1.Available()) },
		},
		"the class names another ProviderConfig (N58)": {
			func(o *offer) {
				o.edit(o.class, func() { o.class.SpecTemplate.ProviderConfigReference.Name = o.Prefix + "nowhere" })
			}, "ProviderConfigUnavailable", []string{"nowhere", "does not exist"},
			func(o *offer) {
				o.edit(o.class, func() { o.class.SpecTemplate.ProviderConfigReference.Name = o.config.Name })
			},
		},
		"the namespace of the Secrets does not exist (N58)": {
			func(o *offer) {
				o.edit(o.class, func() { o.class.SpecTemplate.WriteConnectionSecretsToNamespace = o.namespace.Name + "-2" })
			}, "ConnectionSecretUnavailable", []string{"Namespace", "does not exist", "create it"},
			func(o *offer) { o.create(&corev1.Namespace{ObjectMeta: o.meta("", o.namespace.Name+"-2")}) },
		},
		"the namespace of the Secrets is being deleted (N58)": {
			func(o *offer) {
				o.edit(o.namespace, func() { o.namespace.Finalizers = []string{"test.bowline.dev/stay"} })
				o.delete(o.namespace)
			}, "ConnectionSecretUnavailable", []string{"Namespace", "is being deleted"},
			func(o *offer) {
				next := &corev1.Namespace{ObjectMeta: o.meta("", o.namespace.Name+"-2")}
				o.create(next)
				o.edit(o.class, func() { o.class.SpecTemplate.WriteConnectionSecretsToNamespace = next.Name })
			},
		},
		"the namespace selector is invalid (N58)": {
			func(o *offer) { o.edit(o.class, func() { o.class.SpecTemplate.Claims.NamespaceSelector = invalid }) },
			class.ReasonInvalidSelector, []string{"specTemplate.claims.namespaceSelector", "no label"},
			func(o *offer) { o.edit(o.class, func() { o.class.SpecTemplate.Claims.NamespaceSelector = nil }) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			here := &classStage{s.again()}
			here.t = t
			offers++
			o := here.newOffer(fmt.Sprint("offer-", offers))
			s.Eventually(t, "it is ready", o.shows(xpv1.ReasonAvailable))
			tc.spoil(o)
			s.Eventually(t, "it reports the cause", o.shows(tc.reason, tc.words...))
			tc.mend(o)
			s.Eventually(t, "it is ready again", o.shows(xpv1.ReasonAvailable))
		})
	}
}

// A change that says nothing new about a class writes nothing, and what nobody knows yet is not reported.
func TestClassConditionsAreWrittenOnce(t *testing.T) {
	t.Parallel()
	s := newClassStage(t)
	o := s.newOffer("quiet")
	s.status(o.config, func() { o.config.Status.Conditions = nil })
	s.startClasses()
	other := s.newOffer("other")
	s.Eventually(t, "another class is ready", other.shows(xpv1.ReasonAvailable))
	if err := o.shows("")(t.Context()); err == nil || o.class.GetCondition(xpv1.TypeReady).Reason != "" {
		t.Errorf("Ready of a class whose ProviderConfig was not reconciled: %+v (N58)", o.class.GetCondition(xpv1.TypeReady))
	}
	o.reports(xpv1.Available())
	s.Eventually(t, "it is ready", o.shows(xpv1.ReasonAvailable))
	s.edit(o.class, func() { o.class.Annotations = map[string]string{"touched": "true"} })
	s.edit(o.namespace, func() { o.namespace.Labels["touched"] = "true" })
	s.status(o.config, func() { o.config.SetUsers(7) })
	o.reports(xpv1.Waiting("Unusable", ""))
	s.Eventually(t, "it reports the cause", o.shows("Unusable"))
	written := s.take(func(request string) bool { return writes(request) && strings.HasSuffix(request, "-quiet/status") })
	if len(written) != 2 {
		t.Errorf("writes of becoming ready and no longer ready, and of nothing else (N13, N58): %q", written)
	}
}

// A class without the status subresource stays as it is.
func TestPortedClass(t *testing.T) {
	t.Parallel()
	s := newClassStage(t)
	gadget := s.gadget("ported")
	s.create(gadget)
	h := &hand{classStage: s}
	s.start(func(mgr manager.Manager) error {
		h.mgr, h.reconciler = mgr, class.NewReconciler(mgr, gadgetClass, class.WithProviderConfigs(shop.ProviderConfigGroupVersionKind))
		return nil
	})
	before := gadget.DeepCopy()
	h.passes(gadget, 0)
	s.get(gadget.Name, gadget)
	if diff := cmp.Diff(before, gadget); diff != "" {
		t.Errorf("the class changed (N58) -was +is:\n%s", diff)
	}
}

// The status of a class neither wakes claims that wait for the class nor counts as a change of it.
func TestClassStatusWakesNoClaims(t *testing.T) {
	t.Parallel()
	s := newClassStage(t)
	full, waits := s.item("full"), s.claim("waits", nil)
	full.SpecTemplate.Claims.Max = new(int64(0))
	waits.Spec.ClassReference = s.of(shop.ItemClassGroupVersionKind, "full")
	s.create(full, waits)
	var news atomic.Int64
	var cached client.Reader
	s.start(func(mgr manager.Manager) error {
		cached = mgr.GetCache()
		all := watch.NewClasses(mgr, itemClaims, itemClass)
		listener := builder.ControllerManagedBy(mgr).Named(s.Namespace).WatchesRawSource(all.Source(func(resource.Claim) bool {
			news.Add(1)
			return false
		}))
		none := reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) { return reconcile.Result{}, nil })
		if err := listener.Complete(none); err != nil {
			return err
		}
		return claimbinding.NewReconciler(mgr, itemClaims, itemClass, items).SetupWithManager(mgr)
	})
	s.stage.shows(waits, xpv1.ReasonLimitReached)
	isPass := func(request string) bool {
		return strings.HasPrefix(request, "GET ") && strings.HasSuffix(request, "-full")
	}
	passes, lastPass := 0, time.Now() // over the claim, each of which reads the class
	pass := func() bool {
		n := len(s.take(isPass))
		if passes += n; n > 0 {
			lastPass = time.Now()
		}
		return n > 0
	}
	quiet := func(context.Context) error {
		if pass() || time.Since(lastPass) < time.Second {
			return errors.New("there was one a moment ago")
		}
		return nil
	}
	s.Eventually(t, "no pass for a second", quiet)
	before, known := passes, news.Load()
	s.status(full, func() { full.SetConditions(xpv1.Waiting("Unusable", "")) })
	lastPass = time.Now()
	s.Eventually(t, "the watch reported the status", func(ctx context.Context) error {
		seen := &shop.ItemClass{}
		if err := cached.Get(ctx, client.ObjectKeyFromObject(full), seen); err != nil || seen.ResourceVersion != full.ResourceVersion {
			return fmt.Errorf("%v, at %s", err, seen.ResourceVersion)
		}
		return nil
	})
	s.Eventually(t, "no pass for a second", quiet)
	if passes != before || news.Load() != known {
		t.Errorf("%d passes over the claim, %d changes of classes (N58)", passes-before, news.Load()-known)
	}
	s.edit(full, func() { full.Labels["tier"], full.Annotations = "gold", map[string]string{"touched": "true"} })
	s.Eventually(t, "a change of labels is one", func(context.Context) error {
		if pass(); passes == before || news.Load() == known {
			return fmt.Errorf("%d passes, %d changes", passes-before, news.Load()-known)
		}
		return nil
	})
}
