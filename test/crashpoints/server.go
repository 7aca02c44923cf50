// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/bowline-dev/bowline/pkg/core"
	"github.com/bowline-dev/bowline/providers/fcp"
)

// definitions are those of the kinds of the cloud and of claims.
func definitions() ([]*apiextensionsv1.CustomResourceDefinition, error) {
	claims, claimsErr := core.Provider().Definitions()
	managed, managedErr := fcp.Provider().Definitions()
	return append(claims, managed...), errors.Join(claimsErr, managedErr)
}
