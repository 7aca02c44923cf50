// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package fcp_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/favouritecloud/sdk"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/network"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/subnet"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
	databasev1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/database/v1alpha3"
)

// What needs a cloud of its own.
func TestLifeAlone(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]func(*testing.T){
		"errors say what was being done (R28)": externalErrors,
		"every change is looked at (T42)":      everyChange,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t)
		})
	}
}

// madeByAnybody has one network made by a person, and one by somebody else's controller, which generates the name, owns
// the object and applies it. Both live alike.
func madeByAnybody(t *testing.T, w *world) {
	owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "owner"}}
	w.Create(t, owner)
	as := rest.CopyConfig(w.Config)
	as.Impersonate = rest.ImpersonationConfig{UserName: "somebody-elses-controller", Groups: []string{"system:masters"}}
	other, err := client.New(as, client.Options{Scheme: w.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	person, controller := w.network("by-person"), w.network("")
	controller.GenerateName, controller.Namespace = "myapp-mynetwork-", w.Namespace
	controller.OwnerReferences = []metav1.OwnerReference{
		*metav1.NewControllerRef(owner, corev1.SchemeGroupVersion.WithKind("ConfigMap")),
	}
	w.Create(t, person)
	if err := other.Create(t.Context(), controller, client.FieldOwner("somebody-else")); err != nil {
		t.Fatal(err)
	}
	for by, n := range map[string]networkObject{"a person": person, "a controller": controller} {
		w.Settled(t, n)
		have := w.networkOf(t, n)
		got := maps.Clone(have.Labels)
		want := map[string]string{
			"crossplane-kind": "network.network.fcp.m.crossplane.io", "crossplane-name": n.GetName(),
			"crossplane-provider": w.Namespace, meta.ExternalLabelUID: string(n.GetUID()),
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("labels of what %s made (P11, P12) -want +got:\n%s", by, diff)
		}
		w.Change(t, n, func() { n.Parameters().MTU = new(9000) })
		if have := w.networkOf(t, n); have.MTU != 9000 {
			t.Errorf("a change of what %s made did not arrive: %+v (K16)", by, have)
		}
		w.Remove(t, n)
		if _, err := w.networks.Get(t.Context(), have.ID); !sdk.IsNotFound(err) {
			t.Errorf("what %s made is still there: %v (K16)", by, err)
		}
	}
}

// imported declares nothing of what creating a subnet needs: it is taken over from the cloud.
func imported(t *testing.T, w *world) {
	n, err := w.networks.Create(t.Context(), network.CreateNetworkInput{CIDRBlock: "10.3.0.0/16"})
	if err != nil {
		t.Fatal(err)
	}
	have, err := w.subnets.Create(t.Context(), subnet.CreateSubnetInput{NetworkID: n.ID, CIDRBlock: "10.3.1.0/24"})
	if err != nil {
		t.Fatal(err)
	}
	s := w.subnet("imported", "", "")
	s.Spec.ForProvider.CIDRBlock = nil
	s.Spec.ManagementPolicies = xpv1.ManagementPolicies{xpv1.ManagementActionObserve, xpv1.ManagementActionLateInitialize}
	meta.SetExternalName(s, have.ID)
	w.Create(t, s)
	w.Settled(t, s)
	p := s.Spec.ForProvider
	if p.NetworkID == nil || *p.NetworkID != n.ID || p.CIDRBlock == nil || *p.CIDRBlock != "10.3.1.0/24" {
		t.Errorf("filled up: %+v", p)
	}
}

// database has a real server. It names no password.
func (w *world) database(name string) *databasev1alpha3.FavouriteDBInstance {
	db := &databasev1alpha3.FavouriteDBInstance{
		ObjectMeta: metav1.ObjectMeta{Name: w.Prefix + name},
	}
	db.Spec.ProviderConfigReference = &xpv1.ProviderConfigReference{Name: w.Namespace}
	db.Spec.ForProvider.FancinessLevel = 10
	return db
}

// generatedPassword has the cloud choose a password, and changes the server afterwards.
func generatedPassword(t *testing.T, w *world) {
	db := w.database("generated")
	db.Spec.WriteConnectionSecretToReference = &xpv1.SecretReference{Namespace: w.Namespace, Name: "connection"}
	w.Create(t, db)
	w.Settled(t, db)
	secret := &corev1.Secret{}
	read := func() map[string][]byte {
		if err := w.Client.Get(t.Context(), client.ObjectKey{Namespace: w.Namespace, Name: "connection"}, secret); err != nil {
			t.Fatal(err)
		}
		return secret.Data
	}
	first := string(read()["password"])
	keys := slices.Sorted(maps.Keys(secret.Data))
	if !cmp.Equal(keys, []string{"database", "endpoint", "password", "port", "username"}) || len(first) < 16 {
		t.Errorf("keys %v, password of %d characters (R211, P62)", keys, len(first))
	}
	w.Eventually(t, "the password opens the server (P62)", func(ctx context.Context) error { return w.opens(ctx, first) })
	for _, level := range []int{20, 30} {
		w.Change(t, db, func() { db.Spec.ForProvider.FancinessLevel = level })
		w.Eventually(t, "the same password opens the server (P65)", func(ctx context.Context) error {
			if got := string(read()["password"]); got != first {
				return fmt.Errorf("the connection Secret has another password")
			}
			return w.opens(ctx, first)
		})
	}
}

// externalErrors has a cloud that fails at one sort of call after the other, for an object of each service.
func externalErrors(t *testing.T) {
	w := newWorld(t)
	n, s, g, db := w.network("net"), w.subnet("sub", "", "10.0.1.0/24"), w.nodeGroup("group"), w.database("db")
	s.Spec.ForProvider.NetworkIDRef = &xpv1.Reference{Name: n.Name}
	g.Spec.ForProvider.SubnetIDRefs = []xpv1.Reference{{Name: s.Name}}
	db.Spec.ForProvider.Name = "orders"
	all := map[string]resource.Managed{"network": n, "subnet": s, "node group": g, "instance": db}
	inOrder := []string{"network", "subnet", "node group", "instance"}
	for _, what := range inOrder {
		w.Create(t, all[what])
	}
	for _, what := range inOrder {
		w.Settled(t, all[what])
	}
	steps := []struct {
		method, says string
		does         func(t *testing.T)
	}{
		{http.MethodGet, "cannot get ", func(*testing.T) {}},
		{http.MethodPatch, "cannot update ", func(t *testing.T) {
			w.edit(t, n, func() { n.Spec.ForProvider.MTU = new(9000) })
			w.edit(t, s, func() { s.Spec.ForProvider.Labels = map[string]string{"a": "b"} })
			w.edit(t, g, func() { g.Spec.ForProvider.Labels = map[string]string{"a": "b"} })
			w.edit(t, db, func() { db.Spec.ForProvider.FancinessLevel = 20 })
		}},
		{http.MethodPost, "cannot create ", func(t *testing.T) { w.another(t, n, all) }},
		{http.MethodDelete, "cannot delete ", func(t *testing.T) {
			for _, mg := range all {
				if err := w.Client.Delete(t.Context(), mg); err != nil {
					t.Fatal(err)
				}
			}
		}},
	}
	for _, step := range steps {
		fails := sdk.FaultRule{ErrorRate: 1, ErrorStatus: http.StatusInternalServerError, Match: &sdk.FaultMatch{Method: step.method}}
		if err := w.admin.SetFaults(t.Context(), fails); err != nil {
			t.Fatal(err)
		}
		step.does(t)
		for what, mg := range all {
			w.says(t, mg, step.says+what)
		}
		if err := w.admin.ClearFaults(t.Context()); err != nil {
			t.Fatal(err)
		}
		if step.method == http.MethodDelete {
			continue
		}
		for _, what := range inOrder {
			w.Settled(t, all[what])
		}
	}
}

// everyChange has changes that an event filter would hold back: of labels and annotations. Nobody polls.
func everyChange(t *testing.T) {
	w := newWorld(t, managed.WithPollInterval(time.Hour), managed.WithBackoff(time.Hour, time.Hour))
	n := w.network("net")
	w.Create(t, n)
	w.Settled(t, n)
	looked := func(ctx context.Context) error {
		stats, err := w.admin.Stats(ctx)
		if err == nil && stats.Count(http.MethodGet, "networks", sdk.OutcomeOK) == 0 {
			err = errors.New("nobody looked")
		}
		return err
	}
	for round := range 2 { // what is left of the creation may count as looking in the first
		for what, change := range map[string]func(){
			"a label":       func() { n.Labels = map[string]string{"round": fmt.Sprint(round)} },
			"an annotation": func() { metav1.SetMetaDataAnnotation(&n.ObjectMeta, "example.org/round", fmt.Sprint(round)) },
		} {
			if err := w.admin.ResetStats(t.Context()); err != nil {
				t.Fatal(err)
			}
			w.edit(t, n, change)
			w.Eventually(t, "the cloud is asked after a change of "+what, looked)
		}
	}
}

// another replaces the objects by new ones of the same kinds, which are there already when the cloud fails at creating.
func (w *world) another(t *testing.T, n resource.Managed, all map[string]resource.Managed) {
	t.Helper()
	s, g, db := w.subnet("sub-2", meta.GetExternalName(n), "10.0.2.0/24"), w.nodeGroup("group-2"), w.database("db-2")
	g.Spec.ForProvider.SubnetIDs = []string{meta.GetExternalName(all["subnet"])}
	db.Spec.ForProvider.Name = "orders-2"
	all["network"], all["subnet"], all["node group"], all["instance"] = w.network("net-2"), s, g, db
	for _, mg := range all {
		w.Create(t, mg)
	}
}

// edit changes an object without waiting for what comes of it.
func (w *world) edit(t *testing.T, o client.Object, change func()) {
	t.Helper()
	before := o.DeepCopyObject().(client.Object)
	change()
	if err := w.Client.Patch(t.Context(), o, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
}
