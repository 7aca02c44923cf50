// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package apis adds all kinds of the favourite cloud's provider to a scheme.
package apis

import (
	"errors"

	"k8s.io/apimachinery/pkg/runtime"

	databasev1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/database/v1alpha3"
	"github.com/bowline-dev/bowline/providers/fcp/apis/v1alpha3"
)

// AddToScheme adds all kinds of the provider to a scheme (A72).
func AddToScheme(s *runtime.Scheme) error {
	return errors.Join(v1alpha3.AddToScheme(s), databasev1alpha3.AddToScheme(s))
}
