// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package kind

import (
	"context"
	"crypto/rand"

	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// A finding client can tell what an interrupted creation left behind (N5).
type finding[C, P, O, V any] struct {
	managed.ExternalClient
	base *client[C, P, O, V]
}

// Unwrap gives access to what else the client can do.
func (f finding[C, P, O, V]) Unwrap() any { return f.ExternalClient }

// FindCreated returns the external name of what an earlier Create of the object made.
func (f finding[C, P, O, V]) FindCreated(ctx context.Context, mg resource.Managed) (string, error) {
	_, copied, err := f.base.object(mg)
	if err != nil {
		return "", err
	}
	d, err := declare(copied)
	if err != nil {
		return "", err
	}
	found, err := f.base.Find(ctx, f.base.lease.client, f.base.request(copied, d.whole))
	if is(f.base.system.IsNotFound, err) || err == nil && found == nil {
		return "", nil
	}
	if err != nil {
		return "", f.base.system.failure("find", f.base.noun, err)
	}
	return f.base.ID(found), nil
}

// A choosing client makes up the secrets that the user does not give (P62).
type choosing[C, P, O, V any] struct {
	managed.ExternalClient
	base *client[C, P, O, V]
}

// Unwrap gives access to what else the client can do.
func (c choosing[C, P, O, V]) Unwrap() any { return c.ExternalClient }

// ChooseCredentials returns a random value for each secret that the object refers to no Secret for (P62, P65). Values of
// an earlier attempt are used again (N22).
func (c choosing[C, P, O, V]) ChooseCredentials(_ context.Context, stored managed.ConnectionDetails) (managed.ConnectionDetails, error) {
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

// UseConnectionDetails is told what the connection secret holds: Update gives a secret that was made up once more, for what
// holds it at the vendor's may be gone, and makes up none (P65).
func (c choosing[C, P, O, V]) UseConnectionDetails(stored managed.ConnectionDetails) {
	for field, key := range c.base.rules.Generated {
		if value := stored[key]; len(value) > 0 && len(c.base.secrets[field]) == 0 {
			c.base.secrets = union(c.base.secrets, map[string][]byte{field: value})
		}
	}
}

// given are the connection details that show the secrets which the external resource was given (P64).
func (c *client[C, P, O, V]) given(r *Request[P, V]) managed.ConnectionDetails {
	details := managed.ConnectionDetails{}
	for field, key := range c.shown {
		if value := r.Secrets[field]; len(value) > 0 {
			details[key] = value
		}
	}
	return details
}
