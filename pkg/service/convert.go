// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package service

import "github.com/bowline-dev/bowline/pkg/service/internal/mapping"

// Convert returns a struct with the fields of another one that have the same names, whatever the spelling: what a vendor is
// to be sent from the parameters of a request. What is absent stays absent, what is empty is sent empty. It fails where
// fields of the same name have types that do not convert, which no value changes.
func Convert[To any](from any) (To, error) {
	var to To
	err := mapping.Into(&to, from)
	return to, err
}
