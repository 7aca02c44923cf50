// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package definition_test

import (
	"bytes"
	"context"
	"fmt"

	"github.com/bowline-dev/bowline/internal/codegen/definition"
	"github.com/bowline-dev/bowline/internal/codegen/model"
	"github.com/bowline-dev/bowline/internal/codegen/source"
)

func Example() {
	api, err := model.Load("../testdata/cloud", "apis")
	if err != nil {
		fmt.Println(err)
		return
	}
	written, err := source.Files(api)
	if err != nil {
		fmt.Println(err)
		return
	}
	files, err := definition.Files(context.Background(), api, written)
	if err != nil {
		fmt.Println(err)
		return
	}
	for line := range bytes.Lines(files["apis/crds/network.cloud.m.example.org_networks.yaml"]) {
		if bytes.Contains(line, []byte("scope:")) {
			fmt.Printf("%s", line)
		}
	}
	// Output: scope: Namespaced
}
