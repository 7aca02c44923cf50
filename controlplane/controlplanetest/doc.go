// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controlplanetest gives tests a real API server with nothing to download: to package controlplane it is what
// httptest is to net/http.
//
// All test binaries of one go test run share one server process, which is built from this module's source, started by the first that
// needs it and stopped when the run ends. Each test has its own namespace and name prefix, so tests may run in parallel.
//
//	func TestMain(m *testing.M) { os.Exit(controlplanetest.Main(m, apis.CRDs()...)) }
//
//	func TestBucket(t *testing.T) {
//		env := controlplanetest.New(t, bucket("b"))
//		...
//		env.Eventually(t, "bucket b is ready", func(ctx context.Context) error { ... })
//	}
//
// Controllers run beside a test by RunManager, servers by Run; both end with it.
//
// BOWLINE_TEST_KUBECONFIG, if set, is the kubeconfig of a running server to use instead.
//
// Importing this package links client code only.
package controlplanetest
