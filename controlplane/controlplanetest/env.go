// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplanetest

import (
	"context"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Env is one test's share of the server.
type Env struct {
	Config    *rest.Config     // administrator's access; a copy of this Env's own
	Client    client.WithWatch // a client of Config without a cache
	Namespace string           // exists for this test only
	Prefix    string           // unique start for the names of cluster-scoped objects, such as "t-x7k2q-"
	Scheme    *runtime.Scheme  // what Client knows
}

// Main runs the tests of a package against the shared server, in which it installs the CRDs first.
func Main(m *testing.M, crds ...*apiextensionsv1.CustomResourceDefinition) int {
	return m.Run()
}

// New returns an environment for one test and creates objs in it, in order; namespaced objects without a namespace go to
// the test's own. Its namespace is deleted when the test ends.
func New(t testing.TB, objs ...client.Object) *Env {
	t.Helper()
	return &Env{}
}

// NewWithScheme is New with a scheme of the caller's types.
func NewWithScheme(t testing.TB, scheme *runtime.Scheme, objs ...client.Object) *Env {
	t.Helper()
	return &Env{Scheme: scheme}
}

// Eventually calls check until it returns nil. If that takes too long the test fails with what it waited for and why the
// last call was not satisfied.
func (e *Env) Eventually(t testing.TB, what string, check func(ctx context.Context) error) {
	t.Helper()
}
