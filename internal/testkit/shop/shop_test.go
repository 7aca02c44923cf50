// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package shop_test

import (
	"os"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/internal/testkit/shop"
	"github.com/bowline-dev/bowline/pkg/resource"
)

func TestMain(m *testing.M) { os.Exit(controlplanetest.Main(m, shop.CRDs()...)) }

// The generator gives the kinds what their roles demand.
var (
	_ resource.Claim           = &shop.ItemClaim{}
	_ resource.Claim           = &shop.OtherClaim{}
	_ resource.ClaimList       = &shop.ItemClaimList{}
	_ resource.Class           = &shop.ItemClass{}
	_ resource.Class           = &shop.GadgetClass{}
	_ resource.ClassList       = &shop.GadgetClassList{}
	_ resource.BindableManaged = &shop.Item{}
	_ resource.BindableManaged = &shop.Gadget{}
)

// A server takes what tests of the controllers begin with.
func TestKinds(t *testing.T) {
	t.Parallel()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, shop.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	class := &shop.ItemClass{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
	class.SpecTemplate.WriteConnectionSecretsToNamespace = "shop"
	claim := &shop.ItemClaim{ObjectMeta: metav1.ObjectMeta{Name: "claim"}}
	controlplanetest.NewWithScheme(t, scheme, class, claim, &shop.Item{ObjectMeta: metav1.ObjectMeta{Name: "shop"}})
	if got := class.GetProviderConfigReference(); got == nil || got.Name != "default" {
		t.Errorf("the class uses %+v", got)
	}
}
