// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	databasev1alpha1 "github.com/bowline-dev/bowline/apis/database/v1alpha1"
	"github.com/bowline-dev/bowline/internal/testkit"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
	databasev1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/database/v1alpha3"
	sqlv1alpha1 "github.com/bowline-dev/bowline/providers/sql/apis/postgresql/v1alpha1"
	"github.com/bowline-dev/bowline/providers/sql/postgresql"
	"github.com/bowline-dev/bowline/test/inspect"
	"github.com/bowline-dev/bowline/test/plane"
)

// vault is the namespace of the classes' connection Secrets.
const vault = "vault"

// A market is a stage with a server that many share, so that there are two providers for one claim kind.
type market struct {
	*stage

	shared *postgresql.Server
}

func newMarket(t *testing.T, s *stage) *market {
	t.Helper()
	s.Create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: vault}})
	return &market{stage: s, shared: s.Share(t, "max_connections=60")}
}

// place makes a namespace for the claims of a team, and labels for the classes that are for them.
func (m *market) place(t *testing.T, name string) (namespace string, labels map[string]string) {
	t.Helper()
	m.Create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	return name, map[string]string{"for": name}
}

// postgres returns a claim that asks for a class by labels; without any, for the default class.
func postgres(namespace, name string, labels map[string]string) *databasev1alpha1.PostgreSQLInstance {
	c := &databasev1alpha1.PostgreSQLInstance{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	if labels != nil {
		c.Spec.ClassSelector = &metav1.LabelSelector{MatchLabels: labels}
	}
	c.Spec.WriteConnectionSecretToReference = &xpv1.LocalSecretReference{Name: name}
	return c
}

// bound waits until a claim is bound, both sides agree, and the Secret opens the database.
func (m *market) bound(t *testing.T, claim resource.Claim) (b *inspect.Binding) {
	t.Helper()
	m.Eventually(t, within, claim.GetName()+" is bound", func(ctx context.Context) (err error) {
		b, err = inspect.Bound(ctx, m.Client, claim)
		return err
	})
	if err := application(t.Context(), b.Copy.Data, ""); err != nil {
		t.Errorf("%s: %v", claim.GetName(), err)
	}
	return b
}

// application stores orders in the database of its Secret, and reads one.
func application(ctx context.Context, secret map[string][]byte, wanted string) error {
	conn, err := inspect.Connect(ctx, secret)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, "create table if not exists orders (name text primary key)"); err != nil {
		return err
	}
	if wanted == "" {
		_, err := conn.Exec(ctx, "insert into orders values ('tea') on conflict do nothing")
		return err
	}
	var found int
	if err := conn.QueryRow(ctx, "select count(*) from orders where name = $1", wanted).Scan(&found); err != nil {
		return err
	}
	if found != 1 {
		return fmt.Errorf("the order of %s is not there", wanted)
	}
	return nil
}

// managedOf returns the managed resources of both providers that were created for a claim.
func (m *market) managedOf(ctx context.Context, claim resource.Claim) (all []resource.BindableManaged, err error) {
	servers, databases := &databasev1alpha3.FavouriteDBInstanceList{}, &sqlv1alpha1.TenantDatabaseList{}
	err = errors.Join(m.Client.List(ctx, servers), m.Client.List(ctx, databases))
	ours := func(mg resource.BindableManaged) {
		if of := mg.GetClaimReference(); of != nil && of.UID == claim.GetUID() {
			all = append(all, mg)
		}
	}
	for i := range servers.Items {
		ours(&servers.Items[i])
	}
	for i := range databases.Items {
		ours(&databases.Items[i])
	}
	return all, err
}

// hasOne checks that a claim has only the managed resource of the binding, and that this is named after it.
func (m *market) hasOne(t *testing.T, claim resource.Claim, b *inspect.Binding) {
	t.Helper()
	all, err := m.managedOf(t.Context(), claim)
	if err != nil || len(all) != 1 || all[0].GetUID() != b.Managed.GetUID() {
		t.Errorf("%s has %d managed resources (%v), want one", claim.GetName(), len(all), err)
	}
	name := regexp.MustCompile("^" + claim.GetNamespace() + "-" + claim.GetName() + "-[a-z0-9]{5}$")
	if !name.MatchString(b.Managed.GetName()) {
		t.Errorf("the managed resource is called %s, want %s", b.Managed.GetName(), name)
	}
}

// waits waits until a claim is unbound for a reason, with the given words, and checks that it has no managed resource.
func (m *market) waits(t *testing.T, claim resource.Claim, reason xpv1.ConditionReason, words ...string) {
	t.Helper()
	m.Eventually(t, within, claim.GetName()+" reports why it is unbound", func(ctx context.Context) error {
		if err := m.Client.Get(ctx, client.ObjectKeyFromObject(claim), claim); err != nil {
			return err
		}
		ready := claim.GetCondition(xpv1.TypeReady)
		if ready.Status != corev1.ConditionFalse || ready.Reason != reason || claim.GetBindingPhase() != xpv1.BindingPhaseUnbound {
			return fmt.Errorf("it is %q; Ready is %s: %s %s", claim.GetBindingPhase(), ready.Status, ready.Reason, ready.Message)
		}
		return contains(ready.Message, words)
	})
	all, err := m.managedOf(t.Context(), claim)
	if err != nil || len(all) > 0 {
		t.Errorf("%s has %d managed resources (%v), want none", claim.GetName(), len(all), err)
	}
	if _, err := m.Secret(t.Context(), claim.GetNamespace(), claim.GetName()); !apierrors.IsNotFound(err) {
		t.Errorf("Secret of %s, which has nothing: %v", claim.GetName(), err)
	}
}

// remove deletes an object and waits until it is deleted.
func (m *market) remove(t *testing.T, o client.Object) {
	t.Helper()
	if err := m.Client.Delete(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	m.Eventually(t, within, o.GetName()+" is deleted", testkit.Gone(m.Client, o))
}

// nothingLeft waits until nothing is left of a binding: no managed resource, nothing behind it, no Secret of either side.
func (m *market) nothingLeft(t *testing.T, b *inspect.Binding) {
	t.Helper()
	m.Eventually(t, within, "nothing is left of "+b.Managed.GetName(), func(ctx context.Context) error {
		for _, o := range []client.Object{b.Managed, b.Source, b.Copy} {
			o = o.DeepCopyObject().(client.Object)
			if err := m.Client.Get(ctx, client.ObjectKeyFromObject(o), o); !apierrors.IsNotFound(err) {
				return fmt.Errorf("%T %s/%s: %v", o, o.GetNamespace(), o.GetName(), err)
			}
		}
		return m.nothingOutside(ctx, b)
	})
}

func (m *market) nothingOutside(ctx context.Context, b *inspect.Binding) error {
	if _, ok := b.Managed.(*databasev1alpha3.FavouriteDBInstance); ok {
		left, err := m.cloud.Databases.List(ctx, inspect.OwnedBy(b.Managed.GetUID()))
		if err != nil || len(left) > 0 {
			return fmt.Errorf("the cloud has %d instances: %w", len(left), err)
		}
		return nil
	}
	_, noDatabase := postgresql.Get(ctx, m.shared, postgresql.Database{Name: b.Managed.GetName()})
	_, noRole := postgresql.Get(ctx, m.shared, postgresql.Role{Name: b.Managed.GetName()})
	if !postgresql.IsNotFound(noDatabase) || !postgresql.IsNotFound(noRole) {
		return errors.Join(errors.New("the shared server has a database or a role"), noDatabase, noRole)
	}
	return nil
}

// onEachServer tests a bound claim of a class of each provider with a reclaim policy. The class has the labels of the namespace
// and the server.
func (m *market) onEachServer(t *testing.T, namespace string, policy xpv1.ReclaimPolicy,
	test func(*testing.T, *databasev1alpha1.PostgreSQLInstance, *inspect.Binding),
) {
	t.Helper()
	labels := func(server string) map[string]string { return map[string]string{"for": namespace, "server": server} }
	for server, class := range map[string]resource.Class{
		"own":    plane.FavouriteClass(namespace, vault, labels("own")),
		"shared": plane.TenantClass(namespace, vault, labels("shared")),
	} {
		t.Run(namespace+" "+server, func(t *testing.T) {
			t.Parallel()
			class.SetReclaimPolicy(policy)
			claim := postgres(namespace, server, class.GetLabels())
			m.Create(t, class)
			m.Create(t, claim)
			test(t, claim, m.bound(t, claim))
		})
	}
}

// retained deletes a claim with reclaim policy Retain.
func retained(t *testing.T, m *market) { m.leaves(t, "retained", xpv1.ReclaimRetain, m.remove) }

// torn removes the finalizers of a claim with reclaim policy Delete by force. Its deletion waits because of an annotation: without that
// the controller could be faster than the removal, and delete the data.
func torn(t *testing.T, m *market) {
	m.leaves(t, "torn", xpv1.ReclaimDelete, func(t *testing.T, claim client.Object) {
		patch(t, m.Plane, claim, fmt.Sprintf(`{"metadata":{"annotations":{%q:"true"}}}`, meta.AnnotationKeyOrphanOnDelete))
		err := m.Client.Delete(t.Context(), claim)
		if err := errors.Join(err, testkit.Remove(t.Context(), m.Client, claim)); err != nil {
			t.Error(err)
		}
	})
}

// leaves removes a claim so that its data can be read with the old password, and by another claim once an administrator allows that.
func (m *market) leaves(t *testing.T, name string, policy xpv1.ReclaimPolicy, remove func(*testing.T, client.Object)) {
	namespace, _ := m.place(t, name)
	heirs, _ := m.place(t, name+"-heirs")
	m.onEachServer(t, namespace, policy, func(t *testing.T, claim *databasev1alpha1.PostgreSQLInstance, b *inspect.Binding) {
		remove(t, claim)
		m.released(t, b)
		if err := application(t.Context(), b.Copy.Data, "tea"); err != nil {
			t.Errorf("with the old password: %v (R279)", err)
		}
		heir := m.inherited(t, heirs, b)
		patch(t, m.Plane, b.Managed, `{"spec":{"reclaimPolicy":"Delete"}}`)
		m.remove(t, heir)
		m.nothingLeft(t, b)
	})
}

// leftBehind leaves the database of a claim in its external system. Another team proposes its name, and gets it neither if an
// administrator removes the mark of proposed names, nor as a usable one with the administrator's permission: its password is unknown.
func leftBehind(t *testing.T, m *market) {
	namespace, _ := m.place(t, "left-behind")
	m.onEachServer(t, namespace, xpv1.ReclaimDelete, func(t *testing.T, claim *databasev1alpha1.PostgreSQLInstance, b *inspect.Binding) {
		patch(t, m.Plane, b.Managed, fmt.Sprintf(`{"metadata":{"annotations":{%q:"true"}}}`, meta.AnnotationKeyOrphanOnDelete))
		m.remove(t, claim)
		m.Eventually(t, within, "the managed resource is deleted", testkit.Gone(m.Client, b.Managed))

		thief := postgres(namespace, claim.Name+"-thief", claim.Spec.ClassSelector.MatchLabels)
		meta.SetExternalName(thief, meta.GetExternalName(b.Managed))
		thief.Annotations[meta.AnnotationKeyTakeOverFrom] = string(b.Managed.GetUID())
		m.Create(t, thief)
		m.reports(t, thief, xpv1.ReasonBinding, "which the claim proposes, cannot be used")
		all, err := m.managedOf(t.Context(), thief)
		if err != nil || len(all) != 1 {
			t.Fatalf("managed resources %v, error %v", all, err)
		}
		patch(t, m.Plane, all[0], fmt.Sprintf(`{"metadata":{"annotations":{%q:null}}}`, meta.AnnotationKeyExternalNameProposed))
		word := fmt.Sprintf("%s: %s", meta.AnnotationKeyTakeOverFrom, b.Managed.GetUID())
		m.Eventually(t, within, "the managed resource asks for permission", func(ctx context.Context) error {
			err := m.Client.Get(ctx, client.ObjectKeyFromObject(all[0]), all[0])
			return errors.Join(err, contains(all[0].GetCondition(xpv1.TypeSynced).Message, []string{word}))
		})
		m.reports(t, thief, xpv1.ReasonBinding, "Ask your platform team")
		if err := application(t.Context(), b.Copy.Data, "tea"); err != nil {
			t.Errorf("with the old password: %v", err)
		}
		patch(t, m.Plane, all[0], fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, meta.AnnotationKeyTakeOverFrom, b.Managed.GetUID()))
		m.reports(t, thief, failure.ConnectionDetailsLost, "password")
		if err := application(t.Context(), b.Copy.Data, "tea"); err != nil {
			t.Errorf("with the old password: %v", err)
		}
	})
}

// reports waits until a claim is not ready for a reason.
func (m *market) reports(t *testing.T, claim resource.Claim, reason xpv1.ConditionReason, words ...string) {
	t.Helper()
	m.Eventually(t, within, claim.GetName()+" reports "+string(reason), func(ctx context.Context) error {
		if err := m.Client.Get(ctx, client.ObjectKeyFromObject(claim), claim); err != nil {
			return err
		}
		ready := claim.GetCondition(xpv1.TypeReady)
		if ready.Status != corev1.ConditionFalse || ready.Reason != reason {
			return fmt.Errorf("it is %q; Ready is %s: %s %s", claim.GetBindingPhase(), ready.Status, ready.Reason, ready.Message)
		}
		return contains(ready.Message, words)
	})
}

// inherited binds the released managed resource to another claim, once an administrator allows that.
func (m *market) inherited(t *testing.T, namespace string, b *inspect.Binding) resource.Claim {
	t.Helper()
	heir := postgres(namespace, b.Copy.Name, nil)
	gvk, err := m.Client.GroupVersionKindFor(b.Managed)
	if err != nil {
		t.Fatal(err)
	}
	heir.SetResourceReference(&corev1.ObjectReference{APIVersion: gvk.GroupVersion().String(), Kind: gvk.Kind, Name: b.Managed.GetName()})
	m.Create(t, heir)
	patch(t, m.Plane, b.Managed, fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, meta.AnnotationKeyAllowedNamespaces, namespace))
	m.waits(t, heir, xpv1.ReasonNotAllowed)
	patch(t, m.Plane, b.Managed, `{"spec":{"claimRef":null}}`)
	again := m.bound(t, heir)
	if again.Managed.GetUID() != b.Managed.GetUID() {
		t.Errorf("the new claim got %s, want %s", again.Managed.GetName(), b.Managed.GetName())
	}
	if err := application(t.Context(), again.Copy.Data, "tea"); err != nil {
		t.Errorf("the new claim reads what the old one left: %v", err)
	}
	return heir
}

// released waits until what a claim left is kept for an administrator: the managed resource names the claim still, its Secret
// is bound to no other claim, and the claim's is gone.
func (m *market) released(t *testing.T, b *inspect.Binding) {
	t.Helper()
	m.Eventually(t, within, b.Managed.GetName()+" is released", func(ctx context.Context) error {
		mg, source := b.Managed.DeepCopyObject().(resource.BindableManaged), &corev1.Secret{}
		err := errors.Join(m.Client.Get(ctx, client.ObjectKeyFromObject(mg), mg), m.Client.Get(ctx, client.ObjectKeyFromObject(b.Source), source))
		if err != nil {
			return err
		}
		if mg.GetBindingPhase() != xpv1.BindingPhaseReleased || mg.GetClaimReference() == nil || len(meta.PropagatesTo(source)) > 0 {
			return fmt.Errorf("it is %q, names %v, and its Secret is copied to %v", mg.GetBindingPhase(), mg.GetClaimReference(),
				meta.PropagatesTo(source))
		}
		if err := m.Client.Get(ctx, client.ObjectKeyFromObject(b.Copy), &corev1.Secret{}); !apierrors.IsNotFound(err) {
			return fmt.Errorf("the claim's Secret: %w", err)
		}
		return nil
	})
}

// deletedWithAll deletes claims with reclaim policy Delete, and one without a policy.
func deletedWithAll(t *testing.T, m *market) {
	namespace, _ := m.place(t, "deleted")
	silent, _ := m.place(t, "silent")
	for name, policy := range map[string]xpv1.ReclaimPolicy{namespace: xpv1.ReclaimDelete, silent: ""} {
		m.onEachServer(t, name, policy, func(t *testing.T, claim *databasev1alpha1.PostgreSQLInstance, b *inspect.Binding) {
			if b.Managed.GetReclaimPolicy() != xpv1.ReclaimDelete {
				t.Errorf("reclaim policy %q is written down (N4)", b.Managed.GetReclaimPolicy())
			}
			m.remove(t, claim)
			m.nothingLeft(t, b)
		})
	}
}
