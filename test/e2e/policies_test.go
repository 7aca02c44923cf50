// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/favouritecloud/sdk"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/network"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/meta"
	networkv1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/network/v1alpha3"
)

// A combination of policies and what it does at each of four events.
type combination struct {
	policies xpv1.ManagementPolicies
	creates  bool // the external resource is missing
	updates  bool // the spec differs
	fills    bool // the cloud chose a setting that the spec leaves open
	deletes  bool // the object is deleted
}

// Scenario 7: ten combinations, four events each.
func policies(t *testing.T, s *stage) {
	const c, d, l, o, u = xpv1.ManagementActionCreate, xpv1.ManagementActionDelete, xpv1.ManagementActionLateInitialize,
		xpv1.ManagementActionObserve, xpv1.ManagementActionUpdate
	for name, tc := range map[string]combination{
		"all (R119)":                 {xpv1.ManagementPolicies{"*"}, true, true, true, true},
		"all by name (R119)":         {xpv1.ManagementPolicies{c, d, l, o, u}, true, true, true, true},
		"C D L O (R120, R135)":       {xpv1.ManagementPolicies{c, d, l, o}, true, false, true, true},
		"C D O U (R121)":             {xpv1.ManagementPolicies{c, d, o, u}, true, true, false, true},
		"C D O (R122, R130)":         {xpv1.ManagementPolicies{c, d, o}, true, false, false, true},
		"C L O U (R123)":             {xpv1.ManagementPolicies{c, l, o, u}, true, true, true, false},
		"C L O (R124)":               {xpv1.ManagementPolicies{c, l, o}, true, false, true, false},
		"C O U (R125)":               {xpv1.ManagementPolicies{c, o, u}, true, true, false, false},
		"C O (R126)":                 {xpv1.ManagementPolicies{c, o}, true, false, false, false},
		"O (R127, R132)":             {xpv1.ManagementPolicies{o}, false, false, false, false},
		"none, a pause (R128, R104)": {xpv1.ManagementPolicies{}, false, false, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &policyRun{stage: s, combination: tc, object: newNetwork("policies-" + slug(name))}
			r.create(t)
			r.change(t)
			if name == "C D O (R122, R130)" {
				r.deleteOutside(t)
			}
			r.delete(t)
		})
	}
}

// slug makes a name of an object of the name of a test.
func slug(name string) string {
	var s []rune
	for _, c := range name {
		switch {
		case c >= 'A' && c <= 'Z':
			s = append(s, c-'A'+'a')
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9':
			s = append(s, c)
		}
	}
	return string(s)
}

// A policyRun leads one object through the four events.
type policyRun struct {
	*stage
	combination

	object   *networkv1alpha3.Network
	external string // its id in the cloud
}

const before, after = "before", "after" // descriptions

// create has an object without an external resource. Where it makes none, it is given one then.
func (r *policyRun) create(t *testing.T) {
	t.Helper()
	r.object.Spec.ManagementPolicies = r.policies
	r.object.Spec.ForProvider.Description = new(before)
	create(t, r.Plane, r.object)
	switch {
	case r.policies.Empty():
		r.reportsSynced(t, r.object, xpv1.ReasonReconcilePaused, "managementPolicies")
		r.has(t, r.object, 0)
		r.manage(t)
	case !r.creates:
		r.reportsSynced(t, r.object, xpv1.ReasonReconcileError)
		if reason := xpv1.FailureOf(r.object).Reason; reason != failure.ExternalResourceMissing {
			t.Errorf("the reason is %s", reason)
		}
		r.has(t, r.object, 0)
		r.adopt(t)
	default:
		awaitSettled(t, r.Plane, r.object)
		r.has(t, r.object, 1)
	}
	r.external = meta.GetExternalName(r.object)
	r.filled(t)
}

// manage lets a paused object work for a moment.
func (r *policyRun) manage(t *testing.T) {
	t.Helper()
	patch(t, r.Plane, r.object, `{"spec":{"managementPolicies":["Create","Observe"]}}`)
	awaitSettled(t, r.Plane, r.object)
	patch(t, r.Plane, r.object, `{"spec":{"managementPolicies":[]}}`)
	r.reportsSynced(t, r.object, xpv1.ReasonReconcilePaused, "managementPolicies")
}

// adopt gives the object an existing network of the cloud.
func (r *policyRun) adopt(t *testing.T) {
	t.Helper()
	in := network.CreateNetworkInput{CIDRBlock: "10.0.0.0/16", Description: new(before)}
	theirs, err := r.cloud.Networks.Create(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	patch(t, r.Plane, r.object, fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, meta.AnnotationKeyExternalName, theirs.ID))
	awaitSettled(t, r.Plane, r.object)
}

// settle waits until the controllers have seen the object as it is.
func (r *policyRun) settle(t *testing.T) {
	t.Helper()
	if !r.policies.Empty() {
		awaitSettled(t, r.Plane, r.object)
	}
}

func (r *policyRun) filled(t *testing.T) {
	t.Helper()
	mtu, err := json.Marshal(r.object.Spec.ForProvider.MTU)
	if want := map[bool]string{true: fmt.Sprint(network.DefaultMTU), false: "null"}[r.fills]; err != nil || string(mtu) != want {
		t.Errorf("spec.forProvider.mtu is %s, want %s", mtu, want)
	}
}

func (r *policyRun) change(t *testing.T) {
	t.Helper()
	patch(t, r.Plane, r.object, `{"spec":{"forProvider":{"description":"`+after+`"}}}`)
	r.settle(t)
	r.filled(t)
	r.described(t)
}

// described checks whether the cloud got the change.
func (r *policyRun) described(t *testing.T) {
	t.Helper()
	have, err := r.cloud.Networks.Get(t.Context(), r.external)
	if want := map[bool]string{true: after, false: before}[r.updates]; err != nil || have.Description != want {
		t.Errorf("the cloud has %+v (%v), want the description %q", have, err, want)
	}
}

// deleteOutside deletes the external resource in the cloud. It is created again.
func (r *policyRun) deleteOutside(t *testing.T) {
	t.Helper()
	if err := r.cloud.Networks.Delete(t.Context(), r.external); err != nil {
		t.Fatal(err)
	}
	r.Eventually(t, within, "another network is created", func(ctx context.Context) error {
		if err := settled(ctx, r.Plane, r.object); err != nil {
			return err
		}
		if meta.GetExternalName(r.object) == r.external {
			return fmt.Errorf("external name is %s still", r.external)
		}
		return nil
	})
	r.external = meta.GetExternalName(r.object)
	r.has(t, r.object, 1)
}

func (r *policyRun) delete(t *testing.T) {
	t.Helper()
	if err := r.Client.Delete(t.Context(), r.object); err != nil {
		t.Fatal(err)
	}
	if r.policies.Empty() {
		r.reportsSynced(t, r.object, xpv1.ReasonReconcilePaused, "managementPolicies", meta.AnnotationKeyOrphanOnDelete)
		r.described(t) // nor was the change applied
		patch(t, r.Plane, r.object, `{"metadata":{"annotations":{"`+meta.AnnotationKeyOrphanOnDelete+`":"true"}}}`)
	}
	r.Eventually(t, within, "the object is deleted", func(ctx context.Context) error { return deleted(ctx, r.Plane, r.object) })
	_, err := r.cloud.Networks.Get(t.Context(), r.external)
	if deleted := sdk.IsNotFound(err); deleted != r.deletes || client.IgnoreNotFound(err) != nil && !deleted {
		t.Errorf("looking for the network: %v; it is to be deleted: %t", err, r.deletes)
	}
}
