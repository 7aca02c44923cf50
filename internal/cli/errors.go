// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import "errors"

// joined is errors.Join that leaves a single error as it is, on one line.
func joined(errs ...error) error {
	var found []error
	for _, err := range errs {
		if err != nil {
			found = append(found, err)
		}
	}
	if len(found) == 1 {
		return found[0]
	}
	return errors.Join(found...)
}
