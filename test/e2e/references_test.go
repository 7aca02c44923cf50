// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/favouritecloud/sdk"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/network"
	"github.com/bowline-dev/bowline/pkg/meta"
	computev1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/namespaced/compute/v1alpha3"
	networkv1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/namespaced/network/v1alpha3"
)

// atOnce bounds how long a dependent that was waiting takes to be Ready after its target is created. It takes about a second
// with processors to spare; polling would take an hour.
const atOnce = 3 * time.Second

// A family is what testdata/references.yaml declares, in a namespace of its own.
type family struct {
	*stage

	namespace, file string
	network         *networkv1alpha3.Network
	subnets         map[string]*networkv1alpha3.Subnet
	group           *computev1alpha3.NodeGroup

	networkStates, subnetStates, groupStates *journal
	foreign                                  string // id of a network that belongs to no object
}

// newFamily applies the file.
func newFamily(t *testing.T, s *stage, namespace string) *family {
	t.Helper()
	f := &family{
		stage: s, namespace: namespace, file: filepath.Join(t.TempDir(), "references.yaml"),
		network: &networkv1alpha3.Network{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "shop"}},
		subnets: map[string]*networkv1alpha3.Subnet{},
		group:   &computev1alpha3.NodeGroup{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: namespace + "-workers"}},
	}
	for _, name := range []string{"by-name", "by-labels", "by-value"} {
		f.subnets[name] = &networkv1alpha3.Subnet{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	}
	s.newNamespace(t, namespace)
	foreign, err := s.cloud.Networks.Create(t.Context(), network.CreateNetworkInput{CIDRBlock: "10.0.0.0/16"})
	if err != nil {
		t.Fatal(err)
	}
	f.foreign = foreign.ID
	f.networkStates = follow(t, s.Plane, &networkv1alpha3.NetworkList{}, client.InNamespace(namespace))
	f.subnetStates = follow(t, s.Plane, &networkv1alpha3.SubnetList{}, client.InNamespace(namespace))
	f.groupStates = follow(t, s.Plane, &computev1alpha3.NodeGroupList{}, client.InNamespace(namespace))
	manifest, err := os.ReadFile(filepath.Join("testdata", "references.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	text := os.Expand(string(manifest), func(key string) string {
		return map[string]string{"NAMESPACE": namespace, "NETWORK": f.foreign}[key]
	})
	if err := os.WriteFile(f.file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	f.kubectl(t, "apply", "--namespace", namespace, "--filename", f.file)
	awaitSettled(t, s.Plane, f.network, f.subnets["by-name"], f.subnets["by-labels"], f.subnets["by-value"], f.group)
	return f
}

func (s *stage) newNamespace(t *testing.T, name string) {
	t.Helper()
	s.Create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
}

func (s *stage) kubectl(t *testing.T, args ...string) {
	t.Helper()
	if out, err := s.Run(t.Context(), append([]string{"kubectl"}, args...)...); err != nil {
		t.Fatalf("kubectl %v: %v\n%s", args, err, out)
	}
}

// Scenario 9: all in one go, in the wrong order, there and back with their namespace.
func references(t *testing.T, s *stage) {
	f := newFamily(t, s, "references")
	t.Run("resolved (R158, R160, R161, R162, R165, R170, R171, R172)", f.resolved)
	t.Run("in order, at once (R166, R167, N36)", f.prompt)
	t.Run("deleted in order with the namespace (N32)", func(t *testing.T) {
		begin := time.Now()
		s.kubectl(t, "delete", "namespace", f.namespace, "--timeout", within.String())
		t.Logf("kubectl delete namespace took %s", time.Since(begin).Round(time.Millisecond))
		f.departed(t)
		if err := s.Client.Get(t.Context(), client.ObjectKey{Name: f.namespace}, &corev1.Namespace{}); !apierrors.IsNotFound(err) {
			t.Errorf("the namespace is still there: %v", err)
		}
	})
}

// resolved checks what became of the three ways to refer, and of a list.
func (f *family) resolved(t *testing.T) {
	shop := meta.GetExternalName(f.network)
	for name, want := range map[string]string{"by-name": shop, "by-labels": shop, "by-value": f.foreign} {
		p := f.subnets[name].Spec.ForProvider
		have, err := f.cloud.Subnets.Get(t.Context(), meta.GetExternalName(f.subnets[name]))
		if err != nil || have.NetworkID != want || *p.NetworkID != want {
			t.Errorf("%s: spec has network %s, the cloud has %+v (%v), want %s", name, *p.NetworkID, have, err, want)
		}
	}
	if ref := f.subnets["by-labels"].Spec.ForProvider.NetworkIDRef; ref == nil || ref.Name != "shop" {
		t.Errorf("the selector's choice is %+v", ref)
	}
	want := []string{meta.GetExternalName(f.subnets["by-name"]), meta.GetExternalName(f.subnets["by-labels"])}
	have, err := f.cloud.NodeGroups.Get(t.Context(), f.group.Name)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(want)
	slices.Sort(have.SubnetIDs)
	if diff := cmp.Diff(want, have.SubnetIDs); diff != "" {
		t.Errorf("subnets of the node group -want +got:\n%s", diff)
	}
}

// prompt checks that dependents waited for their targets, and not longer.
func (f *family) prompt(t *testing.T) {
	isReady := func(name string) func(entry) bool {
		return func(e entry) bool { return e.is(name, xpv1.ReasonAvailable) }
	}
	isCreated := func(name string) func(entry) bool { // a reference resolves from then on (N36)
		return func(e entry) bool { return e.GetName() == name && !meta.GetExternalCreateSucceeded(e).IsZero() }
	}
	shop := f.networkStates.must(t, f.Plane, "the network is created", isCreated("shop"))
	last := shop
	for _, name := range []string{"by-name", "by-labels"} {
		f.follows(t, shop, f.subnetStates.must(t, f.Plane, name+" is Ready", isReady(name)))
		if part := f.subnetStates.must(t, f.Plane, name+" is created", isCreated(name)); part.version(t) > last.version(t) {
			last = part
		}
	}
	f.follows(t, last, f.groupStates.must(t, f.Plane, "the node group is Ready", isReady(f.group.Name)))
}

func (f *family) follows(t *testing.T, target, dependent entry) {
	t.Helper()
	took := dependent.at.Sub(target.at)
	t.Logf("%s is Ready %s after %s", dependent.GetName(), took.Round(time.Millisecond), target.GetName())
	if dependent.version(t) < target.version(t) || took > atOnce {
		t.Errorf("%s is Ready %s after %s was created, want at once and not before", dependent.GetName(), took, target.GetName())
	}
}

// departed checks that all are gone, dependents first, and that the cloud has none of them.
func (f *family) departed(t *testing.T) {
	t.Helper()
	end := func(e entry) bool { return e.deleted }
	last := func(name string) func(entry) bool {
		return func(e entry) bool { return e.deleted && e.GetName() == name }
	}
	group := f.groupStates.must(t, f.Plane, "the node group is deleted", end)
	shop := f.networkStates.must(t, f.Plane, "the network is deleted", end)
	for _, name := range []string{"by-name", "by-labels"} {
		part := f.subnetStates.must(t, f.Plane, name+" is deleted", last(name))
		if part.version(t) < group.version(t) || part.version(t) > shop.version(t) {
			t.Errorf("%s was not gone after the node group and before the network", name)
		}
	}
	f.subnetStates.must(t, f.Plane, "by-value is deleted", last("by-value"))
	if err := f.absent(t.Context()); err != nil {
		t.Error(err)
	}
}

// absent returns nil if the cloud has nothing of the family.
func (f *family) absent(ctx context.Context) error {
	_, err := f.cloud.Networks.Get(ctx, meta.GetExternalName(f.network))
	if !sdk.IsNotFound(err) {
		return fmt.Errorf("the network is still there: %v", err)
	}
	for name, s := range f.subnets {
		if _, err := f.cloud.Subnets.Get(ctx, meta.GetExternalName(s)); !sdk.IsNotFound(err) {
			return fmt.Errorf("subnet %s is still there: %v", name, err)
		}
	}
	if _, err := f.cloud.NodeGroups.Get(ctx, f.group.Name); !sdk.IsNotFound(err) {
		return errors.New("the node group is still there")
	}
	return nil
}
