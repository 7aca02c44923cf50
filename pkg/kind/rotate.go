// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package kind

import (
	"crypto/rand"
	"fmt"
	"time"

	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
)

// A credentialRotator is a client that replaces the credentials that the user does not choose (N50).
type credentialRotator[C, P, O, V any] struct {
	managed.ExternalClient
	base *client[C, P, O, V]
}

// Unwrap returns the client with its other optional interfaces.
func (c credentialRotator[C, P, O, V]) Unwrap() any { return c.ExternalClient }

// NewCredentials returns a random value for each field in Kind.Rotates.
func (c credentialRotator[C, P, O, V]) NewCredentials() (managed.ConnectionDetails, error) {
	fresh := managed.ConnectionDetails{}
	for _, field := range c.base.Rotates {
		if len(c.base.secrets[field]) > 0 {
			return nil, fmt.Errorf("the credentials cannot be rotated because they are in the Secret that spec.forProvider.%s names: "+
				"change them there, or remove the field", field)
		}
		fresh[c.base.secretKeys[field]] = []byte(rand.Text())
	}
	return fresh, nil
}

// Overlaps is true if Update can do that.
func (c credentialRotator[C, P, O, V]) Overlaps() bool { return c.base.Kind.Overlaps }

// UsePending takes the values that Update sets in place of those in use. Get gets none of the two.
func (c credentialRotator[C, P, O, V]) UsePending(pending managed.ConnectionDetails, overlap time.Duration) {
	c.base.pending, c.base.overlap = map[string][]byte{}, 0
	for _, field := range c.base.Rotates {
		if value := pending[c.base.secretKeys[field]]; len(value) > 0 && len(c.base.secrets[field]) == 0 {
			c.base.pending[field], c.base.overlap = value, overlap
		}
	}
}

// HasPending is true once the vendor reports that the resource is ready, which it is not while it applies an update.
func (c credentialRotator[C, P, O, V]) HasPending() bool {
	return c.base.States == nil || c.base.have != nil && c.base.States[c.base.State(c.base.have)] == Ready
}
