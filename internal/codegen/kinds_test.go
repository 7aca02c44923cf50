// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package codegen_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	cloud "github.com/bowline-dev/bowline/internal/codegen/testdata/cloud/apis"
	claims "github.com/bowline-dev/bowline/internal/codegen/testdata/cloud/apis/claims/v1alpha1"
	compute "github.com/bowline-dev/bowline/internal/codegen/testdata/cloud/apis/compute/v1alpha1"
	localcompute "github.com/bowline-dev/bowline/internal/codegen/testdata/cloud/apis/namespaced/compute/v1alpha1"
	localconfig "github.com/bowline-dev/bowline/internal/codegen/testdata/cloud/apis/namespaced/v1alpha1"
	network "github.com/bowline-dev/bowline/internal/codegen/testdata/cloud/apis/network/v1alpha1"
	config "github.com/bowline-dev/bowline/internal/codegen/testdata/cloud/apis/v1alpha1"
	"github.com/bowline-dev/bowline/pkg/kind/parameters"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// everyManaged is what every managed kind has to offer.
type everyManaged interface {
	resource.Managed
	resource.ProviderConfigReferencer
	resource.ConnectionSecretWriterTo
	resource.Orphanable
	resource.Recreatable
	resource.Drifting
	resource.SecretInputRecorder
	resource.Bindable
	resource.ReferenceResolver
	Parameters() *compute.MachineParameters
	Observation() *compute.MachineObservation
	InitParameters() any
}

// clusterManaged is what cluster-scoped ones have on top.
type clusterManaged interface {
	everyManaged
	resource.Reclaimer
	resource.ClaimReferencer
	resource.ClassReferencer
}

// anyConfig is what provider configurations have to offer.
type anyConfig interface {
	resource.ProviderConfig
	Settings() config.ProviderConfigSpec
}

// Every kind implements the interfaces of its role (T12).
var (
	_ clusterManaged       = &compute.Machine{}
	_ everyManaged         = &localcompute.Machine{}
	_ resource.Managed     = &network.Group{}
	_                      = network.GroupInitParameters{}.Quotas[corev1.ResourceCPU]
	_ resource.ManagedList = &compute.MachineList{}
	_ resource.ManagedList = &localcompute.MachineList{}
	_ anyConfig            = &config.ProviderConfig{}
	_ anyConfig            = &localconfig.ProviderConfig{}
	_ anyConfig            = &localconfig.ClusterProviderConfig{}
	_ resource.Claim       = &claims.MachineClaim{}
	_ resource.ClaimList   = &claims.MachineClaimList{}
	_ interface {
		resource.Class
		Parameters() *compute.MachineParameters
	} = &compute.MachineClass{}
	_ resource.Class     = &network.GatewayClass{}
	_ resource.ClassList = &compute.MachineClassList{}
	_ resource.ClassList = &network.GatewayClassList{}
)

func TestAccessors(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		object any
		pairs  int
	}{
		"what is set is got, cluster-scoped (T10, T12)": {&compute.Machine{}, 12},
		"what is set is got, namespaced (T10, T12)":     {&localcompute.Machine{}, 9},
		"a claim (T10, T12, K30)":                       {&claims.MachineClaim{}, 5},
		"a class (T10, T12, K20)":                       {&compute.MachineClass{}, 6},
		"a class by hand (T10, T13, K20)":               {&network.GatewayClass{}, 6},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if pairs := setAndGet(t, tc.object); pairs != tc.pairs {
				t.Errorf("%d pairs of methods, want %d", pairs, tc.pairs)
			}
		})
	}
	t.Run("settings, observation and init parameters are those of the object (T12)", func(t *testing.T) {
		t.Parallel()
		mg, class := &localcompute.Machine{}, &compute.MachineClass{}
		mg.Parameters().Size, mg.Observation().Name, class.Parameters().Size = "large", "m", "large"
		mg.InitParameters().(*compute.MachineInitParameters).Size = new("small")
		if mg.Spec.ForProvider.Size != "large" || mg.Status.AtProvider.Name != "m" || *mg.Spec.InitProvider.Size != "small" ||
			class.SpecTemplate.ForProvider.Size != "large" {
			t.Errorf("got %+v %+v %+v", mg.Spec, mg.Status, class)
		}
	})
	t.Run("items of a list are its own (T14)", func(t *testing.T) {
		t.Parallel()
		machines := &compute.MachineList{Items: make([]compute.Machine, 2)}
		classes := &compute.MachineClassList{Items: make([]compute.MachineClass, 2)}
		asked := &claims.MachineClaimList{Items: make([]claims.MachineClaim, 2)}
		machines.GetItems()[1].SetName("b")
		classes.GetItems()[1].SetName("b")
		asked.GetItems()[1].SetName("b")
		if machines.Items[1].Name != "b" || classes.Items[1].Name != "b" || asked.Items[1].Name != "b" {
			t.Errorf("got %+v %+v %+v", machines.Items, classes.Items, asked.Items)
		}
	})
	t.Run("a method written by hand is kept (T13)", func(t *testing.T) {
		t.Parallel()
		claim := &claims.MachineClaim{}
		claim.SetBindingPhase(xpv1.BindingPhaseReleased)
		got := []any{claim.GetBindingPhase(), (&compute.Machine{}).GetDeletionPolicy(), (&network.GatewayClass{}).GetReclaimPolicy(),
			(&localcompute.Machine{}).GetDeletionPolicy(), (&compute.MachineClass{}).GetReclaimPolicy()} // the last two are generated
		want := []any{xpv1.BindingPhaseUnbound, xpv1.DeletionDelete, xpv1.ReclaimRetain, xpv1.DeletionPolicy(""), xpv1.ReclaimPolicy("")}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
}

// setAndGet calls each setter of an object that has a getter, compares, and returns how many there are.
func setAndGet(t *testing.T, object any) int {
	t.Helper()
	of := reflect.ValueOf(object)
	pairs := 0
	for method := range of.Type().Methods() {
		name, isSetter := strings.CutPrefix(method.Name, "Set")
		_, inherited := reflect.TypeFor[*metav1.ObjectMeta]().MethodByName(method.Name)
		get := of.MethodByName("Get" + name)
		if !isSetter || inherited || method.Type.IsVariadic() || !get.IsValid() {
			continue
		}
		value := example(method.Type.In(1))
		of.MethodByName(method.Name).Call([]reflect.Value{value})
		if diff := cmp.Diff(value.Interface(), get.Call(nil)[0].Interface()); diff != "" {
			t.Errorf("%s -set +got:\n%s", method.Name, diff)
		}
		pairs++
	}
	return pairs
}

// example returns a value that is not empty.
func example(t reflect.Type) reflect.Value {
	v := reflect.New(t).Elem()
	switch t.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(t.Elem()))
		if t.Elem().Kind() != reflect.Struct {
			break
		}
		if name := v.Elem().FieldByName("Name"); name.IsValid() {
			name.SetString("example")
		}
	case reflect.Struct:
		for i := range v.NumField() {
			v.Field(i).Set(example(v.Field(i).Type()))
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(t, 1, 1))
	case reflect.String:
		v.SetString("example")
	case reflect.Int64:
		v.SetInt(1)
	}
	return v
}

func TestRegistration(t *testing.T) {
	t.Parallel()
	s := runtime.NewScheme()
	if err := cloud.AddToScheme(s); err != nil {
		t.Fatal(err)
	}
	for name, gvk := range map[string]schema.GroupVersionKind{
		"the kind (A70, A71, A72)":            compute.MachineGroupVersionKind,
		"its second scope (A72, N35)":         {Group: "compute.cloud.m.example.org", Version: "v1alpha1", Kind: "Machine"},
		"a kind called Group (A70, A72)":      {Group: "network.cloud.m.example.org", Version: "v1alpha1", Kind: "Group"},
		"its list (A72)":                      compute.GroupVersion.WithKind("MachineList"),
		"the cluster's config (A72, N2, N35)": {Group: "cloud.m.example.org", Version: "v1alpha1", Kind: "ClusterProviderConfig"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if !s.Recognizes(gvk) {
				t.Errorf("%s is not known", gvk)
			}
		})
	}
	if compute.MachineKind != "Machine" || compute.MachineKindAPIVersion != "Machine.compute.cloud.example.org/v1alpha1" {
		t.Errorf("got %q, %q", compute.MachineKind, compute.MachineKindAPIVersion)
	}
}

func TestFieldRules(t *testing.T) {
	t.Parallel()
	want := parameters.Rules{
		Immutable:  []string{"image", "networkId", "disks.type", "boot.firmware", "placement", "spares"},
		IgnoreCase: []string{"image"},
		Sets:       []string{"neighbours"},
		JSON:       []string{"policy"},
		WriteOnly:  []string{"policy", "passwordSecretRef"},
		Ignored:    []string{"tolerations"},
		Chosen:     []string{"neighbours"},
		Defaults:   map[string]string{"startupDelay": `"5s"`},
		Generated:  map[string]string{"passwordSecretRef": "password"},
		HoldsData:  true,
		Labels:     "tags",
	}
	if diff := cmp.Diff(want, (*compute.MachineParameters)(nil).FieldRules()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
