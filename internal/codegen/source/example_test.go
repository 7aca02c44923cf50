// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package source_test

import (
	"bytes"
	"fmt"

	"github.com/bowline-dev/bowline/internal/codegen/model"
	"github.com/bowline-dev/bowline/internal/codegen/source"
)

func Example() {
	api, err := model.Load("../testdata/cloud", "apis")
	if err != nil {
		fmt.Println(err)
		return
	}
	files, err := source.Files(api)
	if err != nil {
		fmt.Println(err)
		return
	}
	_, method, _ := bytes.Cut(files["apis/network/v1alpha1/zz_generated.accessors.go"], []byte("settings of the gateway.\n"))
	line, _, _ := bytes.Cut(method, []byte("\n"))
	fmt.Printf("%s\n", line)
	// Output: func (r *Gateway) Parameters() *GatewayParameters { return &r.Spec.ForProvider }
}
