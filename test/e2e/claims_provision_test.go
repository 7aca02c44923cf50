// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

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
	"github.com/bowline-dev/bowline/test/inspect"
	"github.com/bowline-dev/bowline/test/plane"
)

func fancy(namespace, name string, labels map[string]string) *databasev1alpha1.FancySQLInstance {
	c := &databasev1alpha1.FancySQLInstance{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	if labels != nil {
		c.Spec.ClassSelector = &metav1.LabelSelector{MatchLabels: labels}
	}
	c.Spec.WriteConnectionSecretToReference = &xpv1.LocalSecretReference{Name: name}
	return c
}

// Scenario 2: a class is chosen by labels; a claim that proposes an external name shows the final one, and one that does not
// shows it too. A new password is there within a second.
func dynamic(t *testing.T, m *market) {
	namespace, labels := m.place(t, "dynamic")
	m.Create(t, plane.FavouriteClass("dynamic", vault, labels))
	claim := fancy(namespace, "db", labels)
	claim.Annotations = map[string]string{meta.AnnotationKeyExternalName: "dynamic-proposed"}
	m.Create(t, claim)
	b := m.bound(t, claim)
	m.hasOne(t, claim, b)
	if name := meta.GetExternalName(b.Managed); name != "dynamic-proposed" {
		t.Errorf("external name %q", name)
	}
	if ref := claim.GetClassReference(); ref == nil || ref.Name != "dynamic" || b.Source.Namespace != vault {
		t.Errorf("class %v, Secret in %s", ref, b.Source.Namespace)
	}
	m.rotated(t, b)
	m.remove(t, claim)
	m.nothingLeft(t, b)
}

// rotated has the server take a new password, and measures how long the claim's Secret lags behind that of the managed
// resource. A machine that is busy with other tests gets three chances.
func (m *market) rotated(t *testing.T, b *inspect.Binding) {
	t.Helper()
	passwords := map[string]string{"one": "the-first-password", "two": "the-second-password", "three": "the-third-password"}
	chosen := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: vault, Name: b.Managed.GetName() + "-chosen"}, StringData: passwords}
	m.Create(t, chosen)
	lag := time.Duration(0)
	for _, key := range []string{"one", "two", "three"} {
		lag = m.rotate(t, b, passwords[key], fmt.Sprintf(`{"namespace":%q,"name":%q,"key":%q}`, vault, chosen.Name, key))
		t.Logf("password %s reached the claim's Secret after %s", key, lag.Round(time.Millisecond))
		if lag < time.Second {
			break
		}
	}
	if lag >= time.Second {
		t.Errorf("a new password takes %s from Secret to Secret, want less than a second (R284)", lag)
	}
	m.Eventually(t, within, "the new password opens the database", func(ctx context.Context) error {
		if err := m.Client.Get(ctx, client.ObjectKeyFromObject(b.Copy), b.Copy); err != nil {
			return err
		}
		return application(ctx, b.Copy.Data, "tea")
	})
}

func (m *market) rotate(t *testing.T, b *inspect.Binding, password, from string) time.Duration {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	arrived := map[string]chan time.Time{}
	for _, s := range []*corev1.Secret{b.Source, b.Copy} {
		w, err := m.Client.Watch(ctx, &corev1.SecretList{}, client.InNamespace(s.Namespace), client.MatchingFields{"metadata.name": s.Name})
		if err != nil {
			t.Fatal(err)
		}
		at := make(chan time.Time, 1)
		arrived[s.Namespace] = at
		go func() {
			defer w.Stop()
			for e := range w.ResultChan() {
				if secret, ok := e.Object.(*corev1.Secret); ok && string(secret.Data["password"]) == password {
					at <- time.Now()
					return
				}
			}
		}()
	}
	patch(t, m.Plane, b.Managed, `{"spec":{"forProvider":{"passwordSecretRef":`+from+`}}}`)
	var at [2]time.Time
	for i, s := range []*corev1.Secret{b.Source, b.Copy} {
		select {
		case at[i] = <-arrived[s.Namespace]:
		case <-ctx.Done():
			t.Fatalf("the new password did not reach Secret %s/%s", s.Namespace, s.Name)
		}
	}
	return at[1].Sub(at[0])
}

// Scenario 3: a claim without a selector gets the default class.
func byDefault(t *testing.T, m *market) {
	namespace, _ := m.place(t, "by-default")
	claim := postgres(namespace, "db", nil)
	m.Create(t, claim)
	m.waits(t, claim, xpv1.ReasonNoMatchingClass)
	class := plane.TenantClass("by-default", vault, nil)
	class.Annotations = map[string]string{"resourceclass.crossplane.io/is-default-class": "true"}
	m.Create(t, class)
	b := m.bound(t, claim)
	m.hasOne(t, claim, b)
	if ref := claim.GetClassReference(); ref == nil || ref.Name != class.Name || ref.Kind != sqlv1alpha1.TenantDatabaseClassKind {
		t.Errorf("class %v", ref)
	}
	m.rotated(t, b)
	m.remove(t, claim)
	m.nothingLeft(t, b)
}

// Scenario 4: a claim is bound to an existing managed resource that allows it; none is created. It stays when the claim is deleted,
// since it has no reclaim policy.
func static(t *testing.T, m *market) {
	namespace, _ := m.place(t, "static")
	for kind, existing := range map[string]resource.BindableManaged{
		databasev1alpha3.FavouriteDBInstanceKind: plane.Database("static", 10),
		sqlv1alpha1.TenantDatabaseKind:           &sqlv1alpha1.TenantDatabase{ObjectMeta: metav1.ObjectMeta{Name: "static"}},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			name := "static-" + map[bool]string{true: "own", false: "shared"}[kind == databasev1alpha3.FavouriteDBInstanceKind]
			existing.SetWriteConnectionSecretToReference(&xpv1.SecretReference{Namespace: vault, Name: name})
			m.Create(t, existing)
			claim := postgres(namespace, name, nil)
			gvk, err := m.Client.GroupVersionKindFor(existing)
			if err != nil {
				t.Fatal(err)
			}
			claim.SetResourceReference(&corev1.ObjectReference{APIVersion: gvk.GroupVersion().String(), Kind: gvk.Kind, Name: existing.GetName()})
			m.Create(t, claim)
			m.waits(t, claim, xpv1.ReasonNotAllowed)
			consent := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, meta.AnnotationKeyAllowedNamespaces, "other, "+namespace)
			patch(t, m.Plane, existing, consent)
			b := m.bound(t, claim)
			if all, err := m.managedOf(t.Context(), claim); err != nil || len(all) != 1 || all[0].GetName() != existing.GetName() {
				t.Errorf("managed resources of the claim: %v, %v", all, err)
			}
			m.remove(t, claim)
			m.released(t, b)
			if err := application(t.Context(), b.Copy.Data, "tea"); err != nil {
				t.Errorf("the data of what the claim did not make: %v (N4)", err)
			}
			t.Run("it is protected, since it holds data (N39)", func(t *testing.T) {
				patch(t, m.Plane, b.Managed, `{"metadata":{"annotations":{"bowline.dev/protect":null}}}`)
				if err := m.Client.Delete(t.Context(), b.Managed); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "hold data") {
					t.Errorf("the deletion: %v", err)
				}
			})
			patch(t, m.Plane, b.Managed, `{"metadata":{"annotations":{"bowline.dev/protect":"false"}}}`)
			m.remove(t, b.Managed)
			m.nothingLeft(t, b)
		})
	}
}

// Scenario 11: classes of two providers match, and the smaller kind wins, for every claim and every time.
func twoProviders(t *testing.T, m *market) {
	namespace, labels := m.place(t, "two-providers")
	m.Create(t, plane.TenantClass("a", vault, labels)) // the smaller name does not count
	m.Create(t, plane.FavouriteClass("z", vault, labels))
	for _, name := range []string{"one", "two"} {
		claim := postgres(namespace, name, labels)
		m.Create(t, claim)
		b := m.bound(t, claim)
		m.hasOne(t, claim, b)
		if _, ok := b.Managed.(*databasev1alpha3.FavouriteDBInstance); !ok {
			t.Errorf("claim %s got a %T", name, b.Managed)
		}
		m.remove(t, claim)
		m.nothingLeft(t, b)
	}
}

// moved has one manifest in which one label changes, and one application.
func moved(t *testing.T, m *market) {
	namespace, _ := m.place(t, "2moved") // what Kubernetes allows in names, the cloud does not
	for size, class := range map[string]client.Object{
		"own":    plane.FavouriteClass("moved", vault, map[string]string{"for": namespace, "server": "own"}),
		"shared": plane.TenantClass("moved", vault, map[string]string{"for": namespace, "server": "shared"}),
	} {
		if class.GetLabels()["server"] != size {
			t.Fatal("labels are mixed up")
		}
		m.Create(t, class)
	}
	folder, err := os.MkdirTemp("", "moved") // kubectl splits paths at the commas in names of tests
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(folder)
	file := filepath.Join(folder, "claim.yaml")
	keys := map[string]struct{}{}
	for _, server := range []string{"own", "shared", "own"} {
		manifest := fmt.Sprintf(`apiVersion: database.crossplane.io/v1alpha1
kind: PostgreSQLInstance
metadata: {name: orders.db, namespace: 2moved}
spec:
  classSelector: {matchLabels: {for: 2moved, server: %s}}
  writeConnectionSecretToRef: {name: db}
`, server)
		if err := os.WriteFile(file, []byte(manifest), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := m.Run(t.Context(), "kubectl", "apply", "-f", file); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		claim := postgres(namespace, "orders.db", nil)
		b := m.bound(t, claim)
		m.hasOne(t, claim, b)
		if err := application(t.Context(), b.Copy.Data, "tea"); err != nil {
			t.Errorf("on server %q: %v", server, err)
		}
		maps.Copy(keys, keysOf(b.Copy))
		if len(keys) != len(b.Copy.Data) {
			t.Errorf("on server %q the Secret has %d keys, want %v", server, len(b.Copy.Data), keys)
		}
		if out, err := m.Run(t.Context(), "kubectl", "delete", "-f", file, "--wait=false"); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		m.nothingLeft(t, b)
		m.Eventually(t, within, "the claim is deleted", testkit.Gone(m.Client, claim))
	}
}

func keysOf(s *corev1.Secret) map[string]struct{} {
	keys := map[string]struct{}{}
	for key := range s.Data {
		keys[key] = struct{}{}
	}
	return keys
}
