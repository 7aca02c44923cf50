// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package target_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/apis/crds"
	workloadv1alpha1 "github.com/bowline-dev/bowline/apis/workload/v1alpha1"
	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/internal/testkit"
	"github.com/bowline-dev/bowline/internal/testkit/shop"
	"github.com/bowline-dev/bowline/pkg/crd"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/target"
	"github.com/bowline-dev/bowline/pkg/resource"
)

func TestMain(m *testing.M) {
	core, err := crd.Load(crds.FS)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	core = slices.DeleteFunc(core, func(d *apiextensionsv1.CustomResourceDefinition) bool {
		return d.Spec.Group != workloadv1alpha1.Group
	})
	os.Exit(controlplanetest.Main(m, append(shop.CRDs(), core...)...))
}

// A stage is a managed resource and a target, on the shared API server, and a reconciler that the test calls by hand, so that
// nothing races. The test itself is what looks after managed resources, and it keeps their Secrets in the namespace of the target.
type stage struct {
	t      *testing.T
	env    *controlplanetest.Env
	events *testkit.Events

	options    []target.Option
	reconciler *target.Reconciler
	cached     *shop.Item // what a cache that is behind has in place of the managed resource
}

func newStage(t *testing.T, o ...target.Option) *stage {
	t.Helper()
	s := stageIn(t, controlplanetest.NewWithScheme(t, newScheme(t)), o...)
	t.Cleanup(s.strike)
	return s
}

// stageIn is newStage in a namespace that the test uses one time after the other; it calls strike in between.
func stageIn(t *testing.T, env *controlplanetest.Env, o ...target.Option) *stage {
	t.Helper()
	s := &stage{t: t, env: env, events: &testkit.Events{}}
	s.options = append([]target.Option{target.WithRecorder(s.events)}, o...)
	s.restart(env.Config)
	return s
}

// restart replaces the reconciler by a fresh one that remembers nothing, as after a crash.
func (s *stage) restart(config *rest.Config) {
	s.t.Helper()
	s.reconciler = s.newReconciler(config, resource.ManagedKind{})
}

func (s *stage) newReconciler(config *rest.Config, kind resource.ManagedKind) *target.Reconciler {
	s.t.Helper()
	mgr, err := manager.New(config, manager.Options{
		Scheme:         newScheme(s.t),
		Metrics:        metricsserver.Options{BindAddress: "0"},
		Logger:         logr.Discard(),
		MapperProvider: mapper,
		NewClient: func(config *rest.Config, o client.Options) (client.Client, error) {
			o.Cache = nil // each pass called by hand sees what the last one wrote
			c, err := client.NewWithWatch(config, o)
			if err != nil {
				return nil, err
			}
			return interceptor.NewClient(c, interceptor.Funcs{Get: func(ctx context.Context, of client.WithWatch, key client.ObjectKey,
				o client.Object, options ...client.GetOption) error {
				if item, ok := o.(*shop.Item); ok && s.cached != nil {
					s.cached.DeepCopyInto(item)
					return nil
				}
				return of.Get(ctx, key, o, options...)
			}}), nil
		},
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return target.NewReconciler(mgr, targetKind(), kind, s.options...)
}

func targetKind() resource.TargetKind {
	return resource.TargetKind(workloadv1alpha1.KubernetesTargetGroupVersionKind)
}

// stranger is a kind that the API server of the mapper serves and the program does not know.
func stranger() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "strange.example.org", Version: "v1", Kind: "Stranger"}
}

// mapper spares each restart the discovery of kinds.
func mapper(*rest.Config, *http.Client) (apimeta.RESTMapper, error) {
	m := apimeta.NewDefaultRESTMapper([]schema.GroupVersion{stranger().GroupVersion()})
	for _, kind := range []schema.GroupVersionKind{shop.ItemGroupVersionKind, shop.GadgetGroupVersionKind, stranger()} {
		m.Add(kind, apimeta.RESTScopeRoot)
	}
	for _, kind := range []schema.GroupVersionKind{workloadv1alpha1.KubernetesTargetGroupVersionKind,
		corev1.SchemeGroupVersion.WithKind("Secret"), corev1.SchemeGroupVersion.WithKind("Event")} {
		m.Add(kind, apimeta.RESTScopeNamespace)
	}
	return m, nil
}

func newScheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	err := errors.Join(clientgoscheme.AddToScheme(scheme), shop.AddToScheme(scheme), workloadv1alpha1.AddToScheme(scheme))
	if err != nil {
		t.Fatal(err)
	}
	return scheme
}

// strike removes what the test left on the shared server.
func (s *stage) strike() {
	ctx := context.Background()
	unhold := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
	var left []client.Object
	for _, list := range []client.ObjectList{&workloadv1alpha1.KubernetesTargetList{}, &shop.ItemList{}, &corev1.SecretList{}} {
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
}

func (s *stage) create(objects ...client.Object) {
	s.t.Helper()
	for _, o := range objects {
		if err := s.env.Client.Create(s.t.Context(), o); err != nil {
			s.t.Fatal(err)
		}
	}
}

// newItem is a managed resource that lets the test's namespace connect.
func (s *stage) newItem(change func(*shop.Item)) *shop.Item {
	item := &shop.Item{ObjectMeta: metav1.ObjectMeta{
		Name: s.env.Prefix + "cluster", Annotations: map[string]string{meta.AnnotationKeyAllowedNamespaces: "other, " + s.env.Namespace},
	}}
	item.Spec.WriteConnectionSecretToReference = &xpv1.SecretReference{Namespace: s.env.Namespace, Name: "hidden-source"}
	if change != nil {
		change(item)
	}
	return item
}

// publish does to an item what its controller does once the external resource can be used.
func (s *stage) publish(item *shop.Item) *corev1.Secret {
	s.t.Helper()
	ref := item.Spec.WriteConnectionSecretToReference
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ref.Namespace, Name: ref.Name}, Type: xpv1.SecretTypeConnection}
	secret.OwnerReferences = []metav1.OwnerReference{meta.AsController(item, shop.ItemGroupVersionKind)}
	secret.Data = map[string][]byte{"kubeconfig": []byte("hunter2")}
	s.create(secret)
	return secret
}

// publishForeign makes a connection Secret that is nobody's.
func (s *stage) publishForeign(name string) *corev1.Secret {
	s.t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.env.Namespace, Name: name}, Type: xpv1.SecretTypeConnection}
	s.create(secret)
	return secret
}

// newTarget is a target that names the item of newItem.
func (s *stage) newTarget(change func(*workloadv1alpha1.KubernetesTarget)) *workloadv1alpha1.KubernetesTarget {
	target := &workloadv1alpha1.KubernetesTarget{ObjectMeta: metav1.ObjectMeta{Namespace: s.env.Namespace, Name: "there"}}
	target.Spec.ResourceReference = &corev1.ObjectReference{
		APIVersion: shop.GroupVersion.String(), Kind: shop.ItemKind, Name: s.env.Prefix + "cluster",
	}
	target.Spec.WriteConnectionSecretToReference = &xpv1.LocalSecretReference{Name: "kube"}
	if change != nil {
		change(target)
	}
	return target
}

// connected puts on stage a target that has its copy.
func (s *stage) connected(change func(*workloadv1alpha1.KubernetesTarget)) (*workloadv1alpha1.KubernetesTarget, *shop.Item) {
	s.t.Helper()
	item := s.newItem(nil)
	s.create(item, s.newTarget(change))
	s.publish(item)
	s.pass()
	s.wantState(xpv1.ReasonAvailable)
	s.events.Take()
	return s.target(), item
}

// pass reconciles the target of the stage once.
func (s *stage) pass() reconcile.Result {
	s.t.Helper()
	result, err := s.tryPass()
	if err != nil {
		s.t.Fatalf("reconciling: %v", err)
	}
	return result
}

func (s *stage) tryPass() (reconcile.Result, error) { return s.tryPassOf(s.reconciler) }

func (s *stage) tryPassOf(r *target.Reconciler) (reconcile.Result, error) {
	return r.Reconcile(s.t.Context(), reconcile.Request{NamespacedName: s.key("there")})
}

func (s *stage) key(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: s.env.Namespace, Name: name}
}

// get reads an object of the test's namespace; it is not ok if there is none.
func (s *stage) get(name string, o client.Object) (ok bool) {
	s.t.Helper()
	err := s.env.Client.Get(s.t.Context(), s.key(name), o)
	if client.IgnoreNotFound(err) != nil {
		s.t.Fatal(err)
	}
	return err == nil
}

func (s *stage) target() *workloadv1alpha1.KubernetesTarget {
	s.t.Helper()
	target := &workloadv1alpha1.KubernetesTarget{}
	if !s.get("there", target) {
		s.t.Fatal("the target is gone")
	}
	return target
}

// edit changes an object as somebody else would, also while controllers write to it.
func (s *stage) edit(o client.Object, change func()) {
	s.t.Helper()
	s.change(o, change, func(ctx context.Context) error { return s.env.Client.Update(ctx, o) })
}

func (s *stage) status(o client.Object, change func()) {
	s.t.Helper()
	s.change(o, change, func(ctx context.Context) error { return s.env.Client.Status().Update(ctx, o) })
}

func (s *stage) change(o client.Object, change func(), update func(context.Context) error) {
	s.t.Helper()
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		if err := s.env.Client.Get(s.t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
			return err
		}
		change()
		return update(s.t.Context())
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *stage) delete(o client.Object, options ...client.DeleteOption) {
	s.t.Helper()
	if err := s.env.Client.Delete(s.t.Context(), o, options...); err != nil {
		s.t.Fatal(err)
	}
}

// secret returns a Secret of the test's namespace, nil if there is none.
func (s *stage) secret(name string) *corev1.Secret {
	s.t.Helper()
	secret := &corev1.Secret{}
	if !s.get(name, secret) {
		return nil
	}
	return secret
}

// checkAgreed wants the copy to have all of the source, to be the target's, and both to agree on that.
func (s *stage) checkAgreed(name string) error {
	s.t.Helper()
	to, from := s.secret(name), s.secret("hidden-source")
	if to == nil || from == nil {
		return fmt.Errorf("there is no Secret %s, or no source", name)
	}
	owner := metav1.GetControllerOf(to)
	if owner == nil || owner.UID != s.target().UID || owner.Kind != "KubernetesTarget" || to.Type != xpv1.SecretTypeConnection {
		return fmt.Errorf("the copy of type %s is controlled by %+v", to.Type, owner)
	}
	if string(to.Data["kubeconfig"]) != "hunter2" || len(to.Data) != 1 {
		return fmt.Errorf("the copy has %v", to.Data)
	}
	if !meta.PropagationAllowed(from, to) || len(meta.PropagatesTo(from)) != 1 {
		return fmt.Errorf("the source goes on to %v, the copy %s has %v", meta.PropagatesTo(from), to.UID, to.Annotations)
	}
	return nil
}

// checkNothing wants the namespace to have nothing of the managed resource.
func (s *stage) checkNothing() error {
	s.t.Helper()
	list := &corev1.SecretList{}
	if err := s.env.Client.List(s.t.Context(), list, client.InNamespace(s.env.Namespace)); err != nil {
		return err
	}
	for _, secret := range list.Items {
		if _, copied := meta.PropagatedFrom(&secret); copied || len(meta.PropagatesTo(&secret)) > 0 {
			return fmt.Errorf("secret %s has the annotations %v", secret.Name, secret.Annotations)
		}
	}
	return nil
}

// wantState checks what the author of a target sees: the reason of condition Ready, parts of its message, and nothing of what is
// the platform team's own.
func (s *stage) wantState(ready xpv1.ConditionReason, parts ...string) {
	s.t.Helper()
	target := s.target()
	r, y := target.GetCondition(xpv1.TypeReady), target.GetCondition(xpv1.TypeSynced)
	good := ready == xpv1.ReasonAvailable
	if r.Reason != ready || (r.Status == corev1.ConditionTrue) != good || (y.Reason == xpv1.ReasonReconcileSuccess) != good {
		s.t.Errorf("Ready is %s, %s (%s), Synced %s (%s); want %s", r.Status, r.Reason, r.Message, y.Reason, y.Message, ready)
	}
	if failed := xpv1.FailureOf(target); (failed.Reason == "") != good || !good && failed.Message != y.Message {
		s.t.Errorf("Synced is %s (%s), and the failure %+v", y.Reason, y.Message, failed)
	}
	for _, part := range parts {
		if !strings.Contains(r.Message, part) {
			s.t.Errorf("the message of condition Ready should say %q, it says %q", part, r.Message)
		}
	}
	said := r.Message + y.Message
	for _, e := range s.events.All() {
		said += e.Message
	}
	if strings.Contains(said, "hidden-source") || strings.Contains(said, "hunter2") {
		s.t.Errorf("the team is told what is not for it: %s", said)
	}
}
