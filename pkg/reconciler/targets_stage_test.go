// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	workloadv1alpha1 "github.com/bowline-dev/bowline/apis/workload/v1alpha1"
	"github.com/bowline-dev/bowline/internal/testkit/scenario"
	"github.com/bowline-dev/bowline/internal/testkit/shop"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/target"
	"github.com/bowline-dev/bowline/pkg/resource"
)

var targetKind = resource.TargetKind(workloadv1alpha1.KubernetesTargetGroupVersionKind)

// A targetStage has the name of an item and target "there" that names it. The test itself acts for the controller of managed
// resources, and keeps their Secrets in the namespace of the target.
type targetStage struct {
	*stage
	cached *shop.Item // what a cache that is behind has in place of the managed resource
}

func newTargetStage(t *testing.T) *targetStage {
	t.Helper()
	return targetStageOn(newStage(t))
}

func targetStageOn(of *stage) *targetStage {
	s := &targetStage{stage: of}
	s.build = func(config *rest.Config) reconcile.Reconciler { return s.newReconciler(config, resource.ManagedKind{}) }
	s.restart(s.Config)
	return s
}

func (s *targetStage) newReconciler(config *rest.Config, kind resource.ManagedKind) *target.Reconciler {
	s.t.Helper()
	return target.NewReconciler(behind{s.manager(config), s}, targetKind, kind, target.WithRecorder(s.events))
}

// behind is a manager whose client may have an outdated managed resource.
type behind struct {
	manager.Manager
	s *targetStage
}

func (b behind) GetClient() client.Client { return behindClient{b.Manager.GetClient(), b.s} }

type behindClient struct {
	client.Client
	s *targetStage
}

func (b behindClient) Get(ctx context.Context, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
	if item, ok := o.(*shop.Item); ok && b.s.cached != nil {
		b.s.cached.DeepCopyInto(item)
		return nil
	}
	return b.Client.Get(ctx, key, o, options...)
}

// newItem is a managed resource that lets the test's namespace connect.
func (s *targetStage) newItem(change func(*shop.Item)) *shop.Item {
	item := &shop.Item{ObjectMeta: metav1.ObjectMeta{Name: s.Prefix + "cluster"}}
	s.toNamespace(item)
	item.Spec.WriteConnectionSecretToReference = &xpv1.SecretReference{Namespace: s.Namespace, Name: "hidden-source"}
	if change != nil {
		change(item)
	}
	return item
}

// publish does to an item what its controller does once the external resource can be used.
func (s *targetStage) publish(item *shop.Item) *corev1.Secret {
	s.t.Helper()
	return s.stage.publish(item, map[string]string{"kubeconfig": "hunter2"})
}

// newTarget is a target that names the item of newItem.
func (s *targetStage) newTarget(change func(*workloadv1alpha1.KubernetesTarget)) *workloadv1alpha1.KubernetesTarget {
	target := &workloadv1alpha1.KubernetesTarget{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "there"}}
	target.Spec.ResourceReference = reference(shop.ItemKind, s.Prefix+"cluster")
	target.Spec.WriteConnectionSecretToReference = &xpv1.LocalSecretReference{Name: "kube"}
	if change != nil {
		change(target)
	}
	return target
}

// published puts on stage a target, and an item with its connection Secret.
func (s *targetStage) published() *shop.Item {
	s.t.Helper()
	item := s.newItem(nil)
	s.create(item, s.newTarget(nil))
	s.publish(item)
	return item
}

// connected puts on stage a target that has its copy.
func (s *targetStage) connected() (*workloadv1alpha1.KubernetesTarget, *shop.Item) {
	s.t.Helper()
	item := s.published()
	s.pass()
	s.wantState(xpv1.ReasonAvailable)
	s.events.Take()
	return s.target(), item
}

// pass reconciles the target of the stage once.
func (s *targetStage) pass() reconcile.Result {
	s.t.Helper()
	return s.passOf("there")
}

func (s *targetStage) target() *workloadv1alpha1.KubernetesTarget {
	s.t.Helper()
	target := &workloadv1alpha1.KubernetesTarget{}
	if !s.get("there", target) {
		s.t.Fatal("the target is gone")
	}
	return target
}

// checkAgreed wants the copy to have all of the source, to be the target's, and both to agree on that.
func (s *targetStage) checkAgreed(name string) error {
	s.t.Helper()
	to, from := s.secret(name), s.secret("hidden-source")
	switch {
	case to == nil || from == nil:
		return fmt.Errorf("there is no Secret %s, or no source", name)
	case !metav1.IsControlledBy(to, s.target()) || to.Type != xpv1.SecretTypeConnection:
		return fmt.Errorf("the copy of type %s is controlled by %+v", to.Type, to.OwnerReferences)
	case string(to.Data["kubeconfig"]) != "hunter2" || len(to.Data) != 1:
		return fmt.Errorf("the copy has %v", to.Data)
	case !meta.PropagationAllowed(from, to) || len(meta.PropagatesTo(from)) != 1:
		return fmt.Errorf("the source consents to %v, the copy %s has %v", meta.PropagatesTo(from), to.UID, to.Annotations)
	}
	return nil
}

// checkNothing wants the namespace to have nothing of the managed resource.
func (s *targetStage) checkNothing() error {
	s.t.Helper()
	list := &corev1.SecretList{}
	if err := s.Client.List(s.t.Context(), list, client.InNamespace(s.Namespace)); err != nil {
		return err
	}
	for _, secret := range list.Items {
		if _, copied := meta.PropagatedFrom(&secret); copied || len(meta.PropagatesTo(&secret)) > 0 {
			return fmt.Errorf("secret %s has the annotations %v", secret.Name, secret.Annotations)
		}
	}
	return nil
}

// hasNothing wants no copy, and no consent to one.
func (s *targetStage) hasNothing() {
	s.t.Helper()
	if err := s.checkNothing(); err != nil || s.secret("kube") != nil {
		s.t.Errorf("a Secret: %t, %v", s.secret("kube") != nil, err)
	}
}

// wantState checks what the author of a target sees: the reason of condition Ready, parts of its message, and nothing of what is
// the platform team's own.
func (s *targetStage) wantState(ready xpv1.ConditionReason, parts ...string) {
	s.t.Helper()
	to, synced := s.target(), xpv1.ReasonReconcileError
	if ready == xpv1.ReasonAvailable {
		synced = xpv1.ReasonReconcileSuccess
	}
	s.wantConditions(to, ready, synced, parts...)
	read := to.GetCondition(xpv1.TypeReady).Message + to.GetCondition(xpv1.TypeSynced).Message
	for _, e := range s.events.All() {
		read += e.Message
	}
	if strings.Contains(read, "hidden-source") || strings.Contains(read, "hunter2") {
		s.t.Errorf("the team reads what is not for it: %s", read)
	}
}

// What happens to a target, and what holds then.
var targetScripts = map[string]scenario.Script[*targetStage]{
	"connect (R297, R301)": {Given: func(s *targetStage) { s.published() }, Then: connectedTo("kube"), Requests: 4},
	"rename (K73)": {Given: func(s *targetStage) {
		target, _ := s.connected()
		s.edit(target, func() { target.Spec.WriteConnectionSecretToReference.Name = "renamed" })
	}, Then: connectedTo("renamed"), Requests: 5},
	"follow with a copy that is immutable (R306)": {Given: func(s *targetStage) {
		s.connected()
		to := s.secret("kube")
		s.edit(to, func() { to.Data["kubeconfig"], to.Immutable = []byte("outdated"), new(true) })
	}, Then: connectedTo("kube"), Requests: 3},
	"withdraw (N27)": {Given: func(s *targetStage) {
		_, item := s.connected()
		s.edit(item, func() { item.Annotations = nil })
	}, Then: func(s *targetStage) error {
		s.wantState(xpv1.ReasonNotAllowed)
		return s.checkNothing()
	}, Requests: 3},
	"delete (R302)": {Given: func(s *targetStage) {
		target, _ := s.connected()
		s.delete(target)
	}, Then: func(s *targetStage) error {
		if s.get("there", &workloadv1alpha1.KubernetesTarget{}) {
			return fmt.Errorf("the target exists")
		}
		return s.checkNothing()
	}, Requests: 3},
}

// connectedTo wants the copy of a name to be the only one.
func connectedTo(name string) func(*targetStage) error {
	return func(s *targetStage) error {
		s.wantState(xpv1.ReasonAvailable)
		if own := s.ownedBy(s.target()); len(own) != 1 {
			return fmt.Errorf("the target has Secrets %v", own)
		}
		return s.checkAgreed(name)
	}
}

// Wherever the process crashes, and whichever answer is lost, the next one finishes the work: nothing is left over, and nothing is
// forgotten.
func TestTargetCrashPoints(t *testing.T) {
	t.Parallel()
	runScripts(t, targetScripts, targetStageOn)
}

// Settle satisfies scenario.World.
func (s *targetStage) Settle() {
	s.t.Helper()
	s.settle("there", func() bool { return false })
}
