// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package apis_test

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/bowline-dev/bowline/apis"
	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	databasev1alpha1 "github.com/bowline-dev/bowline/apis/database/v1alpha1"
)

// What a team asks for.
func Example() {
	claim := databasev1alpha1.PostgreSQLInstance{ObjectMeta: metav1.ObjectMeta{Name: "orders", Namespace: "shop"}}
	claim.SetGroupVersionKind(databasev1alpha1.PostgreSQLInstanceGroupVersionKind)
	claim.Spec.EngineVersion = new("15")
	claim.Spec.ClassSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"size": "small"}}
	claim.Spec.WriteConnectionSecretToReference = &xpv1.LocalSecretReference{Name: "orders-database"}
	text, err := yaml.Marshal(claim)
	fmt.Println(string(text), err)
	// Output:
	// apiVersion: database.crossplane.io/v1alpha1
	// kind: PostgreSQLInstance
	// metadata:
	//   name: orders
	//   namespace: shop
	// spec:
	//   classSelector:
	//     matchLabels:
	//       size: small
	//   engineVersion: "15"
	//   writeConnectionSecretToRef:
	//     name: orders-database
	// status: {}
	//  <nil>
}

// A program that works with claims knows their kinds.
func ExampleAddToScheme() {
	scheme := runtime.NewScheme()
	err := apis.AddToScheme(scheme)
	fmt.Println(scheme.Recognizes(databasev1alpha1.MySQLInstanceGroupVersionKind), err)
	// Output: true <nil>
}
