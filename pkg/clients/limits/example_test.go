// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package limits_test

import (
	"context"
	"fmt"
	"time"

	"github.com/bowline-dev/bowline/pkg/clients/limits"
	"github.com/bowline-dev/bowline/pkg/failure"
)

// A client that does not use HTTP reports the state of the external system by the errors of this package.
func Example() {
	registry := limits.NewRegistry()
	limiter := registry.For(limits.Key{Kind: "ProviderConfig", Name: "default"}, limits.Version{}, limits.Config{CallsPerSecond: 5})

	login := func(context.Context) error { return fmt.Errorf("login as admin: %w", limits.ErrRefused) }
	fmt.Println(limiter.Do(context.Background(), login))

	err := limiter.Do(context.Background(), login) // not made
	fmt.Println(err)

	after, _ := failure.RetryAfter(err)
	fmt.Println(failure.Of(err).Reason, after > 9*time.Second)
	// Output:
	// login as admin: the external system does not accept the credentials
	// the external system refuses the credentials of ProviderConfig "default": correct what its spec.credentials names
	// ExternalSystemRefused true
}
