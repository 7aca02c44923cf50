// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/apis/crds"
	workloadv1alpha1 "github.com/bowline-dev/bowline/apis/workload/v1alpha1"
	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/internal/testkit"
	"github.com/bowline-dev/bowline/internal/testkit/fault"
	"github.com/bowline-dev/bowline/internal/testkit/scenario"
	"github.com/bowline-dev/bowline/internal/testkit/shop"
	"github.com/bowline-dev/bowline/pkg/crd"
	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
)

func TestMain(m *testing.M) {
	core, err := crd.Load(crds.FS)
	if err != nil {
		panic(err)
	}
	core = slices.DeleteFunc(core, func(d *apiextensionsv1.CustomResourceDefinition) bool { return d.Spec.Group != workloadv1alpha1.Group })
	_ = flag.Set("test.parallel", "4") // tests mostly wait for the API server
	os.Exit(controlplanetest.Main(m, append(ported(shop.CRDs()), core...)...))
}

// ported has GadgetClass be one without the status subresource, as in providers that were made for upstream (N58).
func ported(all []*apiextensionsv1.CustomResourceDefinition) []*apiextensionsv1.CustomResourceDefinition {
	for _, d := range all {
		if d.Spec.Names.Kind == shop.GadgetClassKind {
			d.Spec.Versions[0].Subresources = nil
			delete(d.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties, "status")
		}
	}
	return all
}

// scheme knows Kubernetes' own kinds, those of the shop, and targets.
var scheme = sync.OnceValue(func() *runtime.Scheme {
	s := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(s), shop.AddToScheme(s), workloadv1alpha1.AddToScheme(s)); err != nil {
		panic(err)
	}
	return s
})

// A stage is the share of the API server of one test, and what people and the controllers of managed resources do there.
type stage struct {
	*controlplanetest.Env
	t      *testing.T
	events *testkit.Events

	build      func(*rest.Config) reconcile.Reconciler // creates a reconciler that remembers nothing
	reconciler reconcile.Reconciler                    // that the test calls by hand, so that nothing races
	process    *fault.Process                          // of the reconciler; nil for none

	mu       sync.Mutex
	ask      func(*http.Request) error
	requests []string
	last     time.Time // of a request
}

func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{Env: controlplanetest.NewWithScheme(t, scheme()), t: t, events: &testkit.Events{}}
	t.Cleanup(s.Close)
	return s
}

// again is a stage in the same namespace, for a test that uses one after the other.
func (s *stage) again() *stage { return &stage{Env: s.Env, t: s.t, events: &testkit.Events{}} }

// manager returns one for reconcilers that the test calls.
func (s *stage) manager(config *rest.Config) manager.Manager {
	s.t.Helper()
	known := func(*rest.Config, *http.Client) (apimeta.RESTMapper, error) { return s.Client.RESTMapper(), nil }
	return testkit.NewManager(s.t, config, manager.Options{Scheme: scheme(), MapperProvider: known})
}

// access is that of controllers whose requests take returns.
func (s *stage) access() *rest.Config {
	config := fault.Intercept(s.Config, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		s.mu.Lock()
		if !fault.IsWatch(r) {
			s.requests, s.last = append(s.requests, r.Method+" "+strings.ReplaceAll(r.URL.Path, s.Namespace, "NS")), time.Now()
		}
		ask := s.ask
		s.mu.Unlock()
		if ask != nil {
			if err := ask(r); err != nil {
				return nil, err
			}
		}
		return next.RoundTrip(r)
	})
	config.QPS = -1
	return config
}

// onRequest calls ask before each request of access, also of watches. Its error replaces the answer.
func (s *stage) onRequest(ask func(*http.Request) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ask = ask
}

// refuse has requests fail.
func (s *stage) refuse(which func(*http.Request) bool) {
	s.onRequest(func(r *http.Request) error {
		if which(r) {
			return errors.New("refused by the test")
		}
		return nil
	})
}

// take returns the accepted ones of the requests so far but watches, and forgets all.
func (s *stage) take(accept func(request string) bool) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	some := slices.DeleteFunc(s.requests, func(r string) bool { return !accept(r) })
	s.requests = nil
	return some
}

func writes(request string) bool { return !strings.HasPrefix(request, "GET ") }

func all(string) bool { return true }

func (s *stage) lastRequest() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

// as returns the access of a user with these rules.
func (s *stage) as(rules ...rbacv1.PolicyRule) *rest.Config {
	s.t.Helper()
	user := s.Prefix + "controllers"
	role := &rbacv1.ClusterRole{Rules: rules}
	binding := &rbacv1.ClusterRoleBinding{RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: user}}
	role.Name, binding.Name = user, user
	binding.Subjects = []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}}
	s.create(role, binding)
	s.t.Cleanup(func() {
		for _, o := range []client.Object{binding, role} {
			_ = s.Client.Delete(context.Background(), o)
		}
	})
	s.InForce(s.t, user, "", rules[0])
	config := s.access()
	config.Impersonate.UserName = user
	return config
}

// Close deletes what is in the namespace, and what is cluster-scoped and has its name. It satisfies scenario.World.
func (s *stage) Close() {
	ctx := context.Background()
	for _, list := range []client.ObjectList{&workloadv1alpha1.KubernetesApplicationList{}, &workloadv1alpha1.KubernetesApplicationResourceList{},
		&workloadv1alpha1.KubernetesTargetList{}, &shop.ItemClaimList{}, &shop.OtherClaimList{},
		&shop.ItemList{}, &shop.ItemClassList{}, &shop.GadgetClassList{}} {
		if err := s.Client.List(ctx, list); err != nil {
			s.t.Error(err)
		}
		s.removeAll(ctx, list)
	}
	_ = s.Client.DeleteAllOf(ctx, &corev1.Secret{}, client.InNamespace(s.Namespace))
}

// removeAll deletes those objects of a list that are the stage's, whatever their finalizers.
func (s *stage) removeAll(ctx context.Context, list client.ObjectList) {
	_ = apimeta.EachListItem(list, func(item runtime.Object) error {
		o := item.(client.Object)
		if o.GetNamespace() != s.Namespace && !strings.HasPrefix(o.GetName(), s.Prefix) {
			return nil
		}
		return testkit.Remove(ctx, s.Client, o)
	})
}

func (s *stage) create(objects ...client.Object) {
	s.t.Helper()
	for _, o := range objects {
		if err := s.Client.Create(s.t.Context(), o); err != nil {
			s.t.Fatal(err)
		}
	}
}

func (s *stage) delete(o client.Object, options ...client.DeleteOption) {
	s.t.Helper()
	if err := s.Client.Delete(s.t.Context(), o, options...); err != nil {
		s.t.Fatal(err)
	}
}

// edit changes an object as another client would, also while controllers write to it.
func (s *stage) edit(o client.Object, change func()) {
	s.t.Helper()
	s.update(o, change, func() error { return s.Client.Update(s.t.Context(), o) })
}

// status is edit for the status.
func (s *stage) status(o client.Object, change func()) {
	s.t.Helper()
	s.update(o, change, func() error { return s.Client.Status().Update(s.t.Context(), o) })
}

func (s *stage) update(o client.Object, change func(), update func() error) {
	s.t.Helper()
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		if err := s.Client.Get(s.t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
			return err
		}
		change()
		return update()
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *stage) key(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: s.Namespace, Name: name}
}

// get reads an object, of the namespace if it is namespaced. It is false if there is none.
func (s *stage) get(name string, o client.Object) bool {
	s.t.Helper()
	key := s.key(name)
	if namespaced, err := s.Client.IsObjectNamespaced(o); err == nil && !namespaced {
		key.Namespace = ""
	}
	err := s.Client.Get(s.t.Context(), key, o)
	if client.IgnoreNotFound(err) != nil {
		s.t.Fatal(err)
	}
	return err == nil
}

// secret returns a Secret of the namespace, nil if there is none.
func (s *stage) secret(name string) *corev1.Secret {
	s.t.Helper()
	secret := &corev1.Secret{}
	if !s.get(name, secret) {
		return nil
	}
	return secret
}

// text returns the data of a Secret of the namespace, nil if there is none.
func (s *stage) text(name string) map[string]string {
	s.t.Helper()
	secret := s.secret(name)
	if secret == nil {
		return nil
	}
	data := map[string]string{}
	for key, value := range secret.Data {
		data[key] = string(value)
	}
	return data
}

// connectionSecret is one that nothing controls.
func (s *stage) connectionSecret(name string, data map[string]string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: name}, Type: xpv1.SecretTypeConnection, StringData: data}
}

// publish creates the connection Secret of an item, in place of one that it has.
func (s *stage) publish(item *shop.Item, data map[string]string) *corev1.Secret {
	s.t.Helper()
	name := item.Spec.WriteConnectionSecretToReference.Name
	if old := s.secret(name); old != nil {
		s.delete(old)
	}
	secret := s.connectionSecret(name, data)
	secret.OwnerReferences = []metav1.OwnerReference{meta.AsController(item, shop.ItemGroupVersionKind)}
	s.create(secret)
	return secret
}

// reference names an object of the shop.
func reference(kind, name string) *corev1.ObjectReference {
	return &corev1.ObjectReference{APIVersion: shop.GroupVersion.String(), Kind: kind, Name: name}
}

// tryPass reconciles an object of the namespace once.
func (s *stage) tryPass(name string) (reconcile.Result, error) {
	return s.reconciler.Reconcile(s.t.Context(), reconcile.Request{NamespacedName: s.key(name)})
}

func (s *stage) passOf(name string) reconcile.Result {
	s.t.Helper()
	result, err := s.tryPass(name)
	if err != nil {
		s.t.Fatalf("reconciling: %v", err)
	}
	return result
}

// restart replaces the reconciler by a fresh one, as after a crash.
func (s *stage) restart(config *rest.Config) {
	s.t.Helper()
	s.reconciler = s.build(config)
}

// Restart satisfies scenario.World.
func (s *stage) Restart(p *fault.Process) {
	s.process = p
	s.restart(fault.InterceptWrites(s.Config, p.Request))
}

// runScripts runs each script on stages in one namespace of its own. A crash after a request and a lost answer are all the faults that
// differ for a reconciler that remembers nothing: a crash before a request is one after the request before.
func runScripts[W scenario.World](t *testing.T, scripts map[string]scenario.Script[W], on func(*stage) W) {
	t.Helper()
	for name, script := range scripts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first := newStage(t)
			script.Kinds = []fault.Kind{fault.CrashAfter, fault.AnswerLost}
			script.Run(t, func() W { return on(first.again()) })
		})
	}
}

// settle makes passes until one changes nothing and nothing else works, or the process has crashed.
func (s *stage) settle(name string, work func() (worked bool)) {
	s.t.Helper()
	for range 10 {
		before := len(s.process.Requests())
		_, err := s.tryPass(name) // a crashed process has errors
		worked := work()
		if s.process.Crashed() || err == nil && !worked && len(s.process.Requests()) == before {
			return
		}
	}
	s.t.Errorf("%s does not settle: %s", name, s.process)
}

// A served object is a claim or a target.
type served interface {
	client.Object
	resource.Conditioned
}

// wantConditions checks what a team reads: the reasons of Ready and Synced, that the failure is that of Synced, or the one of the managed
// resource for which a claim waits, and parts of the messages.
func (s *stage) wantConditions(o served, ready, synced xpv1.ConditionReason, parts ...string) {
	s.t.Helper()
	r, y, failed := o.GetCondition(xpv1.TypeReady), o.GetCondition(xpv1.TypeSynced), xpv1.FailureOf(o)
	if r.Reason != ready || y.Reason != synced || (r.Status == corev1.ConditionTrue) != (ready == xpv1.ReasonAvailable) {
		s.t.Errorf("%s: Ready is %s, %s (%s), Synced %s (%s); want %s, %s", o.GetName(), r.Status, r.Reason, r.Message, y.Reason, y.Message,
			ready, synced)
	}
	waits := failed.Message == "" && !failed.Stalled && (r.Reason == xpv1.ReasonBinding || r.Reason == xpv1.ReasonUnavailable)
	if bad := synced == xpv1.ReasonReconcileError; bad != (failed.Reason != "") && !waits || bad && failed.Message != y.Message {
		s.t.Errorf("%s: Synced is %s (%s), and the failure %+v", o.GetName(), y.Reason, y.Message, failed)
	}
	for _, part := range parts {
		if !strings.Contains(r.Message+"\n"+y.Message, part) {
			s.t.Errorf("%s: the conditions should contain %q, they are %q and %q", o.GetName(), part, r.Message, y.Message)
		}
	}
}

// wantEvents checks the reasons of the events so far, and forgets them.
func (s *stage) wantEvents(want ...event.Reason) {
	s.t.Helper()
	if diff := cmp.Diff(want, s.events.Take()); diff != "" {
		s.t.Errorf("events, -want +got:\n%s", diff)
	}
}

// shows waits until an object has a condition Ready of the reason.
func (s *stage) shows(o served, ready xpv1.ConditionReason) {
	s.t.Helper()
	s.Eventually(s.t, fmt.Sprintf("%s is %s", o.GetName(), ready), func(ctx context.Context) error {
		if err := s.Client.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
			return err
		}
		if got := o.GetCondition(xpv1.TypeReady); got.Reason != ready {
			return fmt.Errorf("it is %s: %s", got.Reason, got.Message)
		}
		return nil
	})
}

// gone waits until an object is deleted.
func (s *stage) gone(o client.Object) {
	s.t.Helper()
	s.Eventually(s.t, o.GetName()+" is gone", testkit.Gone(s.Client, o))
}

// runOn runs each case on a stage of its own.
func runOn[S any](t *testing.T, newStage func(*testing.T) S, cases map[string]func(S)) {
	t.Helper()
	for name, run := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(newStage(t))
		})
	}
}

// isCopy checks that a Secret is the copy of an item's Secret for its owner, and that both agree on it, and on nothing else.
func (s *stage) isCopy(name string, owner client.Object, item *shop.Item) {
	s.t.Helper()
	source, to := s.secret(item.Spec.WriteConnectionSecretToReference.Name), s.secret(name)
	if source == nil || to == nil {
		s.t.Fatal("one of the Secrets does not exist")
	}
	if diff := cmp.Diff(source.Data, to.Data); diff != "" || to.Type != xpv1.SecretTypeConnection {
		s.t.Errorf("type %q; data, -source +copy:\n%s", to.Type, diff)
	}
	if !metav1.IsControlledBy(to, owner) || !metav1.IsControlledBy(source, item) {
		s.t.Errorf("owners of the copy %v, of the source %v", to.OwnerReferences, source.OwnerReferences)
	}
	if !meta.PropagationAllowed(source, to) || len(meta.PropagatesTo(source)) != 1 {
		s.t.Errorf("annotations of the source %v, of the copy %v", source.Annotations, to.Annotations)
	}
}

func (s *stage) holds(name string, want map[string]string) {
	s.t.Helper()
	if diff := cmp.Diff(want, s.text(name)); diff != "" {
		s.t.Errorf("secret %s, -want +got:\n%s", name, diff)
	}
}
