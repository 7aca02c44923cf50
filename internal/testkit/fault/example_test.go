// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package fault_test

import (
	"fmt"
	"net/http"

	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/internal/testkit/fault"
)

// A process crashes right after it created its second Secret.
func Example() {
	process := &fault.Process{At: fault.Point{Request: "POST secrets", N: 2}, Kind: fault.CrashAfter}
	config := &rest.Config{}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return fault.Transport(func() *fault.Process { return process }, fault.APIRequest, next)
	})
	// ... start a manager with the config, wait until process.Finished(), stop the manager
	fmt.Println(process.Kind, process.Reached())
	// Output: crash after the request false
}
