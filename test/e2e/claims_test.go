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

// classes returns a class of each provider, for the claims of a namespace that choose their server.
func (m *market) classes(namespace string, policy xpv1.ReclaimPolicy) map[string]resource.Class {
	labels := func(server string) map[string]string { return map[string]string{"for": namespace, "server": server} }
	all := map[string]resource.Class{
		"own":    plane.FavouriteClass(namespace, vault, labels("own")),
		"shared": plane.TenantClass(namespace, vault, labels("shared")),
	}
	for _, class := range all {
		class.SetReclaimPolicy(policy)
	}
	return all
}

// retained deletes a claim with reclaim policy Retain: its data can be read with the old password, and by another claim once an
// administrator allows that.
func retained(t *testing.T, m *market) {
	namespace, _ := m.place(t, "retained")
	heirs, _ := m.place(t, "heirs")
	for server, class := range m.classes(namespace, xpv1.ReclaimRetain) {
		t.Run(server, func(t *testing.T) {
			t.Parallel()
			m.Create(t, class)
			claim := postgres(namespace, server, class.GetLabels())
			m.Create(t, claim)
			b := m.bound(t, claim)
			m.remove(t, claim)
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
		for server, class := range m.classes(name, policy) {
			t.Run(name+" "+server, func(t *testing.T) {
				t.Parallel()
				m.Create(t, class)
				claim := postgres(name, server, class.GetLabels())
				m.Create(t, claim)
				b := m.bound(t, claim)
				if b.Managed.GetReclaimPolicy() != xpv1.ReclaimDelete {
					t.Errorf("reclaim policy %q is written down (N4)", b.Managed.GetReclaimPolicy())
				}
				m.remove(t, claim)
				m.nothingLeft(t, b)
			})
		}
	}
}
