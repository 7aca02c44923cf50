// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package kind

import (
	"context"
	"crypto/rand"

	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// A finder is a client that finds what an interrupted create left behind (N5).
type finder[C, P, O, V any] struct {
	managed.ExternalClient
	base *client[C, P, O, V]
}

// Unwrap returns the client with its other optional interfaces.
func (f finder[C, P, O, V]) Unwrap() any { return f.ExternalClient }

// FindCreated returns the external name of what an earlier Create of the object created.
func (f finder[C, P, O, V]) FindCreated(ctx context.Context, mg resource.Managed) (string, error) {
	_, copied, err := f.base.object(mg)
	if err != nil {
		return "", err
	}
	d, err := declare(copied)
	if err != nil {
		return "", err
	}
	found, err := f.base.Find(ctx, f.base.lease.client, f.base.request(copied, d.merged))
	if is(f.base.system.IsNotFound, err) || err == nil && found == nil {
		return "", nil
	}
	if err != nil {
		return "", f.base.system.callError("find", f.base.noun, err)
	}
	return f.base.ID(found), nil
}

// A credentialChooser is a client that generates the secrets that the user does not give (P62).
type credentialChooser[C, P, O, V any] struct {
	managed.ExternalClient
	base *client[C, P, O, V]
}

// Unwrap returns the client with its other optional interfaces.
func (c credentialChooser[C, P, O, V]) Unwrap() any { return c.ExternalClient }

// ChooseCredentials returns a random value for each generated field without a Secret (P62, P65). Values of an earlier attempt
// are used again, since an interrupted create may have sent them (N22).
func (c credentialChooser[C, P, O, V]) ChooseCredentials(_ context.Context, stored managed.ConnectionDetails) (managed.ConnectionDetails, error) {
	chosen := managed.ConnectionDetails{}
	for field, key := range c.base.rules.Generated {
		if len(c.base.secrets[field]) > 0 {
			continue
		}
		value := stored[key]
		if len(value) == 0 {
			value = []byte(rand.Text())
		}
		chosen[key] = value
		c.base.secrets = union(c.base.secrets, map[string][]byte{field: value})
	}
	return chosen, nil
}

// UseConnectionDetails takes generated values from the connection Secret, so that Update can send them again. It generates none:
// the vendor's resource may have been replaced, but applications use the stored value (P65).
func (c credentialChooser[C, P, O, V]) UseConnectionDetails(stored managed.ConnectionDetails) {
	for field, key := range c.base.rules.Generated {
		if value := stored[key]; len(value) > 0 && len(c.base.secrets[field]) == 0 {
			c.base.secrets = union(c.base.secrets, map[string][]byte{field: value})
		}
	}
}
