// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduling_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/internal/testkit/fault"
	"github.com/bowline-dev/bowline/internal/testkit/shop"
	"github.com/bowline-dev/bowline/pkg/internal/watch"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
)

func TestMain(m *testing.M) { os.Exit(controlplanetest.Main(m, shop.CRDs()...)) }

// mine marks the objects of one test among those of others on the shared server.
const mine = "classes.test/of"

var (
	itemClaims  = resource.ClaimKind(shop.ItemClaimGroupVersionKind)
	otherClaims = resource.ClaimKind(shop.OtherClaimGroupVersionKind)
	itemClass   = resource.ClassKind(shop.ItemClassGroupVersionKind)
	gadgetClass = resource.ClassKind(shop.GadgetClassGroupVersionKind)
)

// A stage is a share of the API server and managers that see the objects of this test only.
type stage struct {
	t   *testing.T
	env *controlplanetest.Env
	// ask is told of each request before it is sent; an error is returned in place of an answer.
	ask func(*http.Request) error

	mu       sync.Mutex
	requests []string // all but watches, without the test's name
}

func newStage(t *testing.T) *stage {
	t.Helper()
	return &stage{t: t, env: controlplanetest.NewWithScheme(t, newScheme(t))}
}

func newScheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, shop.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return scheme
}

// start runs a manager with controllers.
func (s *stage) start(setup func(manager.Manager) error) (stop func()) {
	s.t.Helper()
	return s.startWith(func(*cache.Options) {}, setup)
}

// startWith runs a manager whose cache holds something else.
func (s *stage) startWith(change func(*cache.Options), setup func(manager.Manager) error) (stop func()) {
	s.t.Helper()
	what := labels.Set{mine: s.env.Namespace}
	rc := fault.Intercept(s.env.Config, s.answer)
	rc.QPS = -1
	options := manager.Options{
		Logger: logr.New(log.NullLogSink{}),
		Scheme: newScheme(s.t), Cache: cache.Options{DefaultLabelSelector: labels.SelectorFromSet(what)},
	}
	watch.CacheDefinitions(&options.Cache)
	change(&options.Cache)
	return controlplanetest.RunManager(s.t, rc, options, setup)
}

// meta is the metadata of an object of this test.
func (s *stage) meta(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{mine: s.env.Namespace}}
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

func (s *stage) item(name string) *shop.ItemClass {
	class := &shop.ItemClass{ObjectMeta: s.meta("", s.env.Prefix+name)}
	class.SpecTemplate.WriteConnectionSecretsToNamespace = s.env.Namespace
	return class
}

func (s *stage) gadget(name string) *shop.GadgetClass {
	class := &shop.GadgetClass{ObjectMeta: s.meta("", s.env.Prefix+name)}
	class.SpecTemplate.WriteConnectionSecretsToNamespace = s.env.Namespace
	return class
}

// claim is one that chooses by labels if there are any, else one that waits for the default.
func (s *stage) claim(name string, chooses labels.Set) *shop.ItemClaim {
	claim := &shop.ItemClaim{ObjectMeta: s.meta(s.env.Namespace, name)}
	if chooses != nil {
		claim.Spec.ClassSelector = &metav1.LabelSelector{MatchLabels: chooses}
	}
	return claim
}

// of is a reference to a class, or to anything else.
func (s *stage) of(kind schema.GroupVersionKind, name string) *corev1.ObjectReference {
	apiVersion, k := kind.ToAPIVersionAndKind()
	return &corev1.ObjectReference{APIVersion: apiVersion, Kind: k, Name: s.env.Prefix + name}
}

func (s *stage) create(objects ...client.Object) {
	s.t.Helper()
	for _, o := range objects {
		if err := s.env.Client.Create(s.t.Context(), o); err != nil {
			s.t.Fatal(err)
		}
		s.t.Cleanup(func() {
			unhold := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
			_ = s.env.Client.Patch(context.Background(), o, unhold)
			_ = s.env.Client.Delete(context.Background(), o)
		})
	}
}

func (s *stage) delete(o client.Object) {
	s.t.Helper()
	if err := s.env.Client.Delete(s.t.Context(), o); err != nil {
		s.t.Fatal(err)
	}
}

// change writes to an object as it is now.
func (s *stage) change(o client.Object, change func()) {
	s.t.Helper()
	if err := s.env.Client.Get(s.t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
		s.t.Fatal(err)
	}
	change()
	if err := s.env.Client.Update(s.t.Context(), o); err != nil {
		s.t.Fatal(err)
	}
}

// gets fails until a claim has the class, nil for none.
func (s *stage) gets(claim *shop.ItemClaim, class *corev1.ObjectReference) func(context.Context) error {
	return func(ctx context.Context) error {
		if err := s.env.Client.Get(ctx, client.ObjectKeyFromObject(claim), claim); err != nil {
			return err
		}
		if got := claim.Spec.ClassReference; fmt.Sprint(got) != fmt.Sprint(class) {
			return fmt.Errorf("%s has class %v, want %v", claim.Name, got, class)
		}
		return nil
	}
}

// shows fails until a claim's condition Ready has the reason, and its message the words.
func (s *stage) shows(claim *shop.ItemClaim, reason string, words ...string) func(context.Context) error {
	return func(ctx context.Context) error {
		if err := s.env.Client.Get(ctx, client.ObjectKeyFromObject(claim), claim); err != nil {
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
				return fmt.Errorf("%s: the message should say %q, it says %q", claim.Name, word, ready.Message)
			}
		}
		return nil
	}
}

// take returns the requests so far for which is is true, and forgets all.
func (s *stage) take(is func(string) bool) (some []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.requests {
		if is(r) {
			some = append(some, r)
		}
	}
	s.requests = nil
	return some
}

func writes(request string) bool { return !strings.HasPrefix(request, "GET ") }

func (s *stage) answer(req *http.Request, next http.RoundTripper) (*http.Response, error) {
	s.mu.Lock()
	if !fault.IsWatch(req) {
		s.requests = append(s.requests, req.Method+" "+strings.ReplaceAll(req.URL.Path, s.env.Namespace, "NS"))
	}
	ask := s.ask
	s.mu.Unlock()
	if ask != nil {
		if err := ask(req); err != nil {
			return nil, err
		}
	}
	return next.RoundTrip(req)
}

func (s *stage) onRequest(ask func(*http.Request) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ask = ask
}

// A hand makes passes of a reconciler one by one, without a controller.
type hand struct {
	*stage
	mgr        manager.Manager
	reconciler reconcile.Reconciler
}

// pass lets the reconciler look at a claim once the manager knows it as it is.
func (h *hand) pass(claim client.Object) (reconcile.Result, error) {
	h.t.Helper()
	key := client.ObjectKeyFromObject(claim)
	h.env.Eventually(h.t, "the cache knows "+claim.GetName(), func(ctx context.Context) error {
		seen, there := claim.DeepCopyObject().(client.Object), claim.DeepCopyObject().(client.Object)
		cached, live := h.mgr.GetClient().Get(ctx, key, seen), h.env.Client.Get(ctx, key, there)
		if (cached == nil) != (live == nil) || seen.GetResourceVersion() != there.GetResourceVersion() {
			return fmt.Errorf("it is at %s (%v), the server at %s (%v)", seen.GetResourceVersion(), cached, there.GetResourceVersion(), live)
		}
		return nil
	})
	return h.reconciler.Reconcile(h.t.Context(), reconcile.Request{NamespacedName: key})
}
