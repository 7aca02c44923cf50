// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package lifeline_test

import (
	"fmt"
	"net/http"

	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/test/crashpoints/lifeline"
)

// A process dies right after it created its second Secret.
func Example() {
	life := lifeline.New(lifeline.Point{Request: "POST secrets", Nth: 2}, lifeline.After)
	config := &rest.Config{}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return lifeline.Tap{Life: func() *lifeline.Life { return life }, Name: lifeline.APIRequest, Next: next}
	})
	// ... start a manager with the config, wait until life.IsOver(), throw the manager away
	fmt.Println(life.Cut(), life.WasReached())
	// Output: cut right after false
}
