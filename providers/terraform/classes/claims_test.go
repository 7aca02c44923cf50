// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package classes

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/providers/terraform/apis/v1alpha1"
	"github.com/bowline-dev/bowline/providers/terraform/controller"
)

// Claims and classes have passes for changes of the kinds only.
func TestDefiner(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change func(*v1alpha1.TerraformProvider)
		want   bool
	}{
		"nothing":      {func(*v1alpha1.TerraformProvider) {}, false},
		"a label":      {func(of *v1alpha1.TerraformProvider) { of.Labels = map[string]string{"a": "b"} }, false},
		"processes":    {func(of *v1alpha1.TerraformProvider) { of.Status.Processes = []v1alpha1.Process{{Name: "default"}} }, false},
		"their number": {func(of *v1alpha1.TerraformProvider) { of.Status.RunningProcesses, of.Status.Restarts = new(2), new(1) }, false},
		"their condition": {func(of *v1alpha1.TerraformProvider) {
			of.SetConditions(xpv1.Condition{Type: controller.TypeProcessesSteady})
		}, false},
		"Ready's message": {func(of *v1alpha1.TerraformProvider) {
			of.SetConditions(xpv1.Available().WithMessage("m").WithObservedGeneration(1))
		}, false},
		"Ready":            {func(of *v1alpha1.TerraformProvider) { of.SetConditions(xpv1.Unavailable().WithObservedGeneration(1)) }, true},
		"what Ready is of": {func(of *v1alpha1.TerraformProvider) { of.SetConditions(xpv1.Available().WithObservedGeneration(2)) }, true},
		"the spec":         {func(of *v1alpha1.TerraformProvider) { of.Generation = 2 }, true},
		"the deletion":     {func(of *v1alpha1.TerraformProvider) { of.DeletionTimestamp = new(metav1.Now()) }, true},
		"the binary":       {func(of *v1alpha1.TerraformProvider) { of.Status.Binary = "/other" }, true},
		"the kinds": {func(of *v1alpha1.TerraformProvider) {
			of.Status.Kinds = []v1alpha1.ServedKind{{Type: "reef_berth", Kind: "Berth"}}
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := &v1alpha1.TerraformProvider{ObjectMeta: metav1.ObjectMeta{Generation: 1}}
			before.SetConditions(xpv1.Available().WithObservedGeneration(1))
			after := before.DeepCopy()
			tc.change(after)
			_, redefines := claimedKinds{}.Definer()
			if got := redefines.Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after}); got != tc.want {
				t.Errorf("passed on: %t, want %t", got, tc.want)
			}
			if !redefines.Create(event.CreateEvent{Object: before}) || !redefines.Delete(event.DeleteEvent{Object: before}) {
				t.Error("a creation or a deletion is left out")
			}
		})
	}
}
