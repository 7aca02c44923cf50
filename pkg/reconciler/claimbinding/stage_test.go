// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package claimbinding_test

import (
	"context"
	"errors"
	"net/http"
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/internal/testkit"
	"github.com/bowline-dev/bowline/internal/testkit/shop"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/claimbinding"
	"github.com/bowline-dev/bowline/pkg/resource"
)

func TestMain(m *testing.M) { os.Exit(controlplanetest.Main(m, shop.CRDs()...)) }

// A stage is a class and a claim that names it, on the shared API server, and a reconciler that the test calls by hand, so
// that nothing races. The test itself is what looks after managed resources.
type stage struct {
	t      *testing.T
	env    *controlplanetest.Env
	class  string
	claim  string
	events *testkit.Events

	options    []claimbinding.ReconcilerOption
	reconciler *claimbinding.Reconciler
}

func newStage(t *testing.T, o ...claimbinding.ReconcilerOption) *stage {
	t.Helper()
	s := stageIn(t, controlplanetest.NewWithScheme(t, newScheme(t)), o...)
	t.Cleanup(s.strike)
	return s
}

// stageIn is newStage in a namespace that the test uses one time after the other; it calls strike in between.
func stageIn(t *testing.T, env *controlplanetest.Env, o ...claimbinding.ReconcilerOption) *stage {
	t.Helper()
	s := &stage{t: t, env: env, class: env.Prefix + "gold", claim: "orders", events: &testkit.Events{}}
	s.options = append([]claimbinding.ReconcilerOption{
		claimbinding.WithRecorder(s.events),
		claimbinding.WithManagedConfigurators(
			claimbinding.ManagedConfiguratorFn(configureItem), claimbinding.NewObjectMetaConfigurator(newScheme(t))),
	}, o...)
	s.restart(env.Config)
	return s
}

// configureItem does what a provider does: it replaces the whole spec, and refuses a size that contradicts the class.
func configureItem(_ context.Context, cm resource.Claim, cs resource.Class, mg resource.Managed) error {
	claim, ok := cm.(*shop.ItemClaim)
	if !ok {
		return errors.New("resource claim is not an ItemClaim")
	}
	class, ok := cs.(*shop.ItemClass)
	if !ok {
		return errors.New("resource class is not an ItemClass")
	}
	item, ok := mg.(*shop.Item)
	if !ok {
		return errors.New("managed resource is not an Item")
	}
	item.Spec = shop.ItemSpec{ForProvider: class.SpecTemplate.ForProvider}
	if size := claim.Spec.Size; size != nil {
		if of := class.SpecTemplate.ForProvider.Size; of != nil && *of != *size {
			return errors.New("spec.size contradicts the class: leave it out, or use another class")
		}
		item.Spec.ForProvider.Size = size
	}
	return nil
}

// restart replaces the reconciler by a fresh one that remembers nothing, as after a crash.
func (s *stage) restart(config *rest.Config) {
	s.t.Helper()
	s.reconciler = newReconciler(s.t, config, s.options...)
}

func newReconciler(t *testing.T, config *rest.Config, o ...claimbinding.ReconcilerOption) *claimbinding.Reconciler {
	t.Helper()
	mgr := testkit.NewManager(t, config, manager.Options{Scheme: newScheme(t), MapperProvider: mapper})
	return claimbinding.NewReconciler(mgr, resource.ClaimKind(shop.ItemClaimGroupVersionKind),
		resource.ClassKind(shop.ItemClassGroupVersionKind), resource.ManagedKind(shop.ItemGroupVersionKind), o...)
}

// mapper spares each restart the discovery of kinds.
func mapper(*rest.Config, *http.Client) (apimeta.RESTMapper, error) {
	m := apimeta.NewDefaultRESTMapper(nil)
	for _, kind := range []schema.GroupVersionKind{shop.ItemGroupVersionKind, shop.ItemClassGroupVersionKind,
		corev1.SchemeGroupVersion.WithKind("Namespace")} {
		m.Add(kind, apimeta.RESTScopeRoot)
	}
	for _, kind := range []schema.GroupVersionKind{shop.ItemClaimGroupVersionKind, shop.OtherClaimGroupVersionKind,
		corev1.SchemeGroupVersion.WithKind("Secret"), corev1.SchemeGroupVersion.WithKind("Event")} {
		m.Add(kind, apimeta.RESTScopeNamespace)
	}
	return m, nil
}

func newScheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), shop.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	return scheme
}

// strike removes what the test left on the shared server.
func (s *stage) strike() {
	ctx := context.Background()
	unhold := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
	var left []client.Object
	for _, list := range []client.ObjectList{&shop.ItemClaimList{}, &shop.OtherClaimList{}, &shop.ItemList{}, &shop.ItemClassList{}} {
		if err := s.env.Client.List(ctx, list); err != nil {
			s.t.Error(err)
		}
		_ = apimeta.EachListItem(list, func(o runtime.Object) error {
			if o := o.(client.Object); o.GetNamespace() == s.env.Namespace || strings.HasPrefix(o.GetName(), s.env.Prefix) {
				left = append(left, o)
			}
			return nil
		})
	}
	for _, o := range left {
		_ = client.IgnoreNotFound(s.env.Client.Patch(ctx, o, unhold))
		_ = client.IgnoreNotFound(s.env.Client.Delete(ctx, o))
	}
	if err := s.env.Client.DeleteAllOf(ctx, &corev1.Secret{}, client.InNamespace(s.env.Namespace)); err != nil {
		s.t.Error(err)
	}
}

func (s *stage) create(objects ...client.Object) {
	s.t.Helper()
	for _, o := range objects {
		if err := s.env.Client.Create(s.t.Context(), o); err != nil {
			s.t.Fatal(err)
		}
	}
}

// newClass is a class that keeps connection Secrets in the test's namespace.
func (s *stage) newClass(change func(*shop.ItemClass)) *shop.ItemClass {
	class := &shop.ItemClass{ObjectMeta: metav1.ObjectMeta{Name: s.class}}
	class.SpecTemplate.WriteConnectionSecretsToNamespace = s.env.Namespace
	class.SpecTemplate.ForProvider.Colour = new("red")
	if change != nil {
		change(class)
	}
	return class
}

// newClaim is a claim that names the class and wants a Secret.
func (s *stage) newClaim(name string, change func(*shop.ItemClaim)) *shop.ItemClaim {
	claim := &shop.ItemClaim{ObjectMeta: metav1.ObjectMeta{Namespace: s.env.Namespace, Name: name}}
	claim.Spec.ClassReference = s.classRef(s.class)
	claim.Spec.WriteConnectionSecretToReference = &xpv1.LocalSecretReference{Name: name + "-connection"}
	if change != nil {
		change(claim)
	}
	return claim
}

func (s *stage) classRef(name string) *corev1.ObjectReference {
	return &corev1.ObjectReference{APIVersion: shop.GroupVersion.String(), Kind: shop.ItemClassKind, Name: name}
}

// static lets a claim name an existing item in place of a class.
func (s *stage) static(name string) func(*shop.ItemClaim) {
	return func(claim *shop.ItemClaim) {
		claim.Spec.ClassReference = nil
		claim.Spec.ResourceReference = &corev1.ObjectReference{APIVersion: shop.GroupVersion.String(), Kind: shop.ItemKind, Name: name}
	}
}

// newItem is an item that an administrator made.
func (s *stage) newItem(name string, change func(*shop.Item)) *shop.Item {
	item := &shop.Item{ObjectMeta: metav1.ObjectMeta{Name: s.env.Prefix + name}}
	item.Spec.WriteConnectionSecretToReference = &xpv1.SecretReference{Namespace: s.env.Namespace, Name: name + "-source"}
	if change != nil {
		change(item)
	}
	return item
}

// pass reconciles the claim of the stage once.
func (s *stage) pass() reconcile.Result {
	s.t.Helper()
	return s.passOf(s.claim)
}

func (s *stage) passOf(claim string) reconcile.Result {
	s.t.Helper()
	result, err := s.tryPass(claim)
	if err != nil {
		s.t.Fatalf("reconciling: %v", err)
	}
	return result
}

func (s *stage) tryPass(claim string) (reconcile.Result, error) {
	return s.reconciler.Reconcile(s.t.Context(), reconcile.Request{NamespacedName: s.key(claim)})
}

func (s *stage) key(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: s.env.Namespace, Name: name}
}

// get reads an object; it is not ok if there is none.
func (s *stage) get(name string, o client.Object) (ok bool) {
	s.t.Helper()
	key := types.NamespacedName{Name: name}
	if namespaced, err := s.env.Client.IsObjectNamespaced(o); err != nil {
		s.t.Fatal(err)
	} else if namespaced {
		key.Namespace = s.env.Namespace
	}
	err := s.env.Client.Get(s.t.Context(), key, o)
	if client.IgnoreNotFound(err) != nil {
		s.t.Fatal(err)
	}
	return err == nil
}

func (s *stage) claimOf(name string) *shop.ItemClaim {
	s.t.Helper()
	claim := &shop.ItemClaim{}
	if !s.get(name, claim) {
		s.t.Fatalf("claim %s is gone", name)
	}
	return claim
}

// items are those that name a claim of the test's namespace.
func (s *stage) items() (mine []shop.Item) {
	s.t.Helper()
	list := &shop.ItemList{}
	if err := s.env.Client.List(s.t.Context(), list); err != nil {
		s.t.Fatal(err)
	}
	for _, item := range list.Items {
		ref := item.Spec.ClaimReference
		if ref != nil && ref.Namespace == s.env.Namespace || strings.HasPrefix(item.Name, s.env.Prefix) {
			mine = append(mine, item)
		}
	}
	return mine
}

// item is the only one.
func (s *stage) item() *shop.Item {
	s.t.Helper()
	items := s.items()
	if len(items) != 1 {
		s.t.Fatalf("there are %d managed resources, want 1", len(items))
	}
	return &items[0]
}

// ready does to an item what its controller does once the external resource can be used.
func (s *stage) ready(item *shop.Item, password string) {
	s.t.Helper()
	if ref := item.Spec.WriteConnectionSecretToReference; ref != nil {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ref.Namespace, Name: ref.Name}, Type: xpv1.SecretTypeConnection}
		secret.OwnerReferences = []metav1.OwnerReference{meta.AsController(item, shop.ItemGroupVersionKind)}
		secret.Data = map[string][]byte{"password": []byte(password), "username": []byte("admin")}
		s.create(secret)
	}
	s.edit(item, func() { meta.SetExternalName(item, "item-0815") })
	s.status(item, func() {
		item.SetConditions(xpv1.Available(), xpv1.ReconcileSuccess())
		resource.SetBindable(item)
	})
}

// edit changes an object as somebody else would.
func (s *stage) edit(o client.Object, change func()) {
	s.t.Helper()
	if err := s.env.Client.Get(s.t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
		s.t.Fatal(err)
	}
	change()
	if err := s.env.Client.Update(s.t.Context(), o); err != nil {
		s.t.Fatal(err)
	}
}

func (s *stage) status(o client.Object, change func()) {
	s.t.Helper()
	if err := s.env.Client.Get(s.t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
		s.t.Fatal(err)
	}
	change()
	if err := s.env.Client.Status().Update(s.t.Context(), o); err != nil {
		s.t.Fatal(err)
	}
}

func (s *stage) delete(o client.Object) {
	s.t.Helper()
	if err := s.env.Client.Delete(s.t.Context(), o); err != nil {
		s.t.Fatal(err)
	}
}

// bound puts on stage a claim that is bound to an item made for it.
func (s *stage) bound(change func(*shop.ItemClaim)) (*shop.ItemClaim, *shop.Item) {
	s.t.Helper()
	s.create(s.newClass(nil), s.newClaim(s.claim, change))
	s.pass()
	s.ready(s.item(), "hunter2")
	s.pass()
	s.wantState(s.claim, "Bound", xpv1.ReasonAvailable, xpv1.ReasonReconcileSuccess)
	s.events.Take()
	return s.claimOf(s.claim), s.item()
}

// secret returns the data of a Secret of the test's namespace as text, nil if there is none.
func (s *stage) secret(name string) map[string]string {
	s.t.Helper()
	secret := &corev1.Secret{}
	if !s.get(name, secret) {
		return nil
	}
	data := map[string]string{}
	for key, value := range secret.Data {
		data[key] = string(value)
	}
	return data
}

// wantState checks what the author of a claim sees, and that the message of condition Ready has the given parts.
func (s *stage) wantState(claim string, phase xpv1.BindingPhase, ready, synced xpv1.ConditionReason, parts ...string) {
	s.t.Helper()
	c := s.claimOf(claim)
	r, y := c.GetCondition(xpv1.TypeReady), c.GetCondition(xpv1.TypeSynced)
	if c.GetBindingPhase() != phase || r.Reason != ready || y.Reason != synced {
		s.t.Errorf("claim %s: phase %q, Ready %s (%s), Synced %s (%s); want %q, %s, %s", claim, c.GetBindingPhase(), r.Reason, r.Message,
			y.Reason, y.Message, phase, ready, synced)
	}
	if isReady := r.Status == corev1.ConditionTrue; isReady != (ready == xpv1.ReasonAvailable) {
		s.t.Errorf("claim %s: Ready is %s", claim, r.Status)
	}
	if failed := xpv1.FailureOf(c); (failed.Reason != "") != (synced == xpv1.ReasonReconcileError) || failed.Reason != "" && failed.Message != y.Message {
		s.t.Errorf("claim %s: Synced is %s (%s), and the failure %+v", claim, y.Reason, y.Message, failed)
	}
	for _, part := range parts {
		if !strings.Contains(r.Message, part) {
			s.t.Errorf("claim %s: the message of condition Ready should say %q, it says %q", claim, part, r.Message)
		}
	}
}

// wantFailure checks the typed failure of claim orders.
func (s *stage) wantFailure(reason failure.Reason, stalled bool) {
	s.t.Helper()
	if failed := xpv1.FailureOf(s.claimOf("orders")); failed.Reason != reason || failed.Stalled != stalled {
		s.t.Errorf("the failure is %+v, want %s, stalled: %t", failed, reason, stalled)
	}
}
