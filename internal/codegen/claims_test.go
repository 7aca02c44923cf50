// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package codegen_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	claims "github.com/bowline-dev/bowline/internal/codegen/testdata/cloud/apis/claims/v1alpha1"
	compute "github.com/bowline-dev/bowline/internal/codegen/testdata/cloud/apis/compute/v1alpha1"
	network "github.com/bowline-dev/bowline/internal/codegen/testdata/cloud/apis/network/v1alpha1"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// Every kind implements the interfaces of its role (T12).
var (
	_ resource.Claim     = &claims.MachineClaim{}
	_ resource.ClaimList = &claims.MachineClaimList{}
	_ interface {
		resource.Class
		Parameters() *compute.MachineParameters
	} = &compute.MachineClass{}
	_ resource.Class     = &network.GatewayClass{}
	_ resource.ClassList = &compute.MachineClassList{}
	_ resource.ClassList = &network.GatewayClassList{}
)

func TestClaimAccessors(t *testing.T) {
	t.Parallel()
	t.Run("settings are those of the class (T12)", func(t *testing.T) {
		t.Parallel()
		class := &compute.MachineClass{}
		class.Parameters().Size = "large"
		if class.SpecTemplate.ForProvider.Size != "large" {
			t.Errorf("got %+v", class.SpecTemplate)
		}
	})
	t.Run("items of lists are their own (T14)", func(t *testing.T) {
		t.Parallel()
		machines := &compute.MachineClassList{Items: make([]compute.MachineClass, 2)}
		asked := &claims.MachineClaimList{Items: make([]claims.MachineClaim, 2)}
		machines.GetItems()[1].SetName("b")
		asked.GetItems()[1].SetName("b")
		if machines.Items[1].Name != "b" || asked.Items[1].Name != "b" {
			t.Errorf("got %+v %+v", machines.Items, asked.Items)
		}
	})
	t.Run("methods written by hand are kept (T13)", func(t *testing.T) {
		t.Parallel()
		claim := &claims.MachineClaim{}
		claim.SetBindingPhase(xpv1.BindingPhaseReleased)
		if got := claim.GetBindingPhase(); got != xpv1.BindingPhaseUnbound {
			t.Errorf("SetBindingPhase by hand left %q", got)
		}
		if got := (&network.GatewayClass{}).GetReclaimPolicy(); got != xpv1.ReclaimRetain {
			t.Errorf("GetReclaimPolicy by hand: %q", got)
		}
		if got := (&compute.MachineClass{}).GetReclaimPolicy(); got != "" {
			t.Errorf("generated: %q", got)
		}
	})
}

// template returns a class with settings.
func template(t *testing.T, gvk schema.GroupVersionKind, name, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{Object: map[string]any{}}
	if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
		t.Fatal(err)
	}
	u.SetGroupVersionKind(gvk)
	u.SetName(name)
	return u
}

func TestClassAdmission(t *testing.T) {
	t.Parallel()
	env := controlplanetest.New(t)
	c := client.WithFieldValidation(env.Client, metav1.FieldValidationStrict)
	machines, gateways := compute.MachineClassGroupVersionKind, network.GatewayClassGroupVersionKind
	for name, tc := range map[string]struct {
		gvk             schema.GroupVersionKind
		common, refused string
		forProvider     string
	}{
		"a status (K24)":                {gateways, `status: {}`, "unknown field", `{}`},
		"no settings (K23)":             {machines, ``, "forProvider: Required", ``},
		"all by value (K23, O32)":       {machines, ``, "", `{image: a, networkId: b}`},
		"one by selector (K23, O32)":    {machines, ``, "", `{image: a, networkIdSelector: {}}`},
		"without a demanded (K23, O32)": {machines, ``, "specTemplate.forProvider.image is required", `{networkId: b}`},
		"within what is set (K23, O32)": {machines, ``, "boot.firmware is required", `{image: a, networkId: b, boot: {}}`},
		"of other values (K23)":         {machines, ``, "Unsupported value", `{size: huge, image: a, networkId: b}`},
		"resolved anew (N33)": {machines, ``, "must not be Always",
			`{image: a, networkIdRef: {name: a, policy: {resolve: Always}}}`},
		"all that is common (K27)": {gateways, `reclaimPolicy: Retain, claims: {max: 3}, providerConfigRef: {name: a}`, "", `{}`},
		"a configuration of other kinds (K27, N2)": {gateways, `providerConfigRef: {kind: ClusterProviderConfig, name: a}`,
			"leave kind out", `{}`},
		"a policy that is none (K27)": {gateways, `reclaimPolicy: Orphan`, "Unsupported value", `{}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := "writeConnectionSecretsToNamespace: a"
			for _, more := range []string{tc.common, strings.TrimSuffix("forProvider: "+tc.forProvider, "forProvider: ")} {
				if more != "" {
					text += ", " + more
				}
			}
			object := template(t, tc.gvk, env.Prefix+strings.ToLower(strings.Map(letter, name)), "{specTemplate: {"+text+"}}")
			err := c.Create(t.Context(), object)
			expect(t, err, tc.refused)
			if err == nil {
				remove(t, env, object)
			}
		})
	}
}

func TestEmptyClass(t *testing.T) {
	t.Parallel()
	env := controlplanetest.New(t)
	for name, tc := range map[string]struct{ text, refused string }{
		"nothing (K21)":                 {`{}`, "specTemplate: Required"},
		"no namespace of secrets (K27)": {`{specTemplate: {forProvider: {}}}`, "writeConnectionSecretsToNamespace: Required"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			expect(t, env.Client.Create(t.Context(), template(t, network.GatewayClassGroupVersionKind, env.Prefix+"empty", tc.text)), tc.refused)
		})
	}
}

func remove(t *testing.T, env *controlplanetest.Env, object client.Object) {
	t.Helper()
	if err := env.Client.Delete(t.Context(), object); err != nil {
		t.Error(err)
	}
}

// A class may change, although managed resources that were created from it may not.
func TestClassEdit(t *testing.T) {
	t.Parallel()
	env := controlplanetest.New(t)
	class := template(t, compute.MachineClassGroupVersionKind, env.Prefix+"edited", `{specTemplate: {writeConnectionSecretsToNamespace: a,
		forProvider: {image: a, networkId: b, boot: {firmware: f, kernelId: k}, disks: [{name: d, type: ssd}]}}}`)
	if err := env.Client.Create(t.Context(), class); err != nil {
		t.Fatal(err)
	}
	change(t, env, class, "{specTemplate: {forProvider: …}}",
		step{"an immutable setting (K23)", `{image: other}`, ""},
		step{"one within (K23)", `{boot: {firmware: other}}`, ""},
		step{"one by a rule of the author's (K23)", `{boot: {kernelId: other}}`, ""},
		step{"what holds one (K23)", `{boot: null}`, ""},
		step{"one in a list (K23)", `{disks: [{name: d, type: hdd}]}`, ""},
		step{"what it comes from (K23)", `{networkId: null, networkIdRef: {name: c}}`, ""},
	)
	remove(t, env, class)
}

// The immutable settings of a claim do not change once it has its managed resource, at any depth of its spec.
func TestSettled(t *testing.T) {
	t.Parallel()
	env := controlplanetest.New(t)
	claim := template(t, claims.MachineClaimGroupVersionKind, "settled", `{spec: {size: large, place: {zone: a, namespace: here}}}`)
	claim.SetNamespace(env.Namespace)
	if err := env.Client.Create(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	change(t, env, claim, "{spec: …}",
		step{"before, it may change (K38)", `{place: {zone: b}}`, ""},
		step{"it is bound (K38)", `{resourceRef: {apiVersion: a/v1, kind: A, name: a}}`, ""},
		step{"one within a struct (K38)", `{place: {zone: c}}`, "place.zone is settled"},
		step{"one that is taken away (K38)", `{place: {zone: null}}`, "place.zone is settled"},
		step{"what holds it (K38)", `{place: null}`, "place.zone is settled"},
		step{"one of a reserved name (K38)", `{place: {namespace: there}}`, "place.namespace is settled"},
		step{"one at the top (K38)", `{size: small}`, "size is settled"},
		step{"others may change (K38)", `{purpose: p, place: {note: other}}`, ""},
	)
}
