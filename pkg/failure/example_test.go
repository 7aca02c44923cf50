// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package failure_test

import (
	"errors"
	"fmt"

	"github.com/bowline-dev/bowline/pkg/failure"
)

func Example() {
	answer := errors.New("403 from https://api.example.org: limit of project 4711 reached")
	err := failure.ForTeam(failure.QuotaExceeded, "the quota of 5 buckets is used up: delete one, or ask for more", answer)
	err = fmt.Errorf("creating the external resource: %w", err)

	class := failure.Of(err)
	fmt.Println(class.Reason)
	fmt.Println(class.Message)
	// Output:
	// QuotaExceeded
	// the quota of 5 buckets is used up: delete one, or ask for more
}
