// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package kind

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/pkg/kind/parameters"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// A client is the external client of one pass over one object.
type client[C, P, O, V any] struct {
	*served[C, P, O, V]
	kind  schema.GroupKind
	lease lease[C]

	secrets map[string][]byte       // that the parameters refer to, and those that were generated
	have    *V                      // what the last look found
	changes []parameters.Difference // of it
}

// ReplaysCreate is true where the vendor repeats its first answer (N22).
func (c *client[C, P, O, V]) ReplaysCreate() bool { return c.Identity == ByToken }

// PollInterval is how often the provider configuration wants its users' external resources to be looked at.
func (c *client[C, P, O, V]) PollInterval() time.Duration { return c.lease.poll }

// SecretValues are the credentials of the lease.
func (c *client[C, P, O, V]) SecretValues() [][]byte { return c.lease.secrets }

// UseSecretInputs is told the values of the Secrets that the parameters refer to (P61).
func (c *client[C, P, O, V]) UseSecretInputs(values map[string][]byte) {
	c.secrets = union(c.secrets, values)
}

// Disconnect ends the lease.
func (c *client[C, P, O, V]) Disconnect(context.Context) error {
	c.lease.release()
	return nil
}

func (c *client[C, P, O, V]) Observe(ctx context.Context, mg resource.Managed) (managed.ExternalObservation, error) {
	of, copied, err := c.object(mg)
	if err != nil {
		return managed.ExternalObservation{}, err
	}
	c.have, c.changes = nil, nil
	d, err := declare(copied)
	if err != nil {
		return managed.ExternalObservation{}, err
	}
	have, err := c.Get(ctx, c.lease.client, c.request(copied, d.whole))
	if is(c.system.IsNotFound, err) || err == nil && have == nil {
		return managed.ExternalObservation{}, nil
	}
	if err != nil {
		return managed.ExternalObservation{}, c.system.failure("get", c.noun, err)
	}
	c.have = have
	if *of.Observation(), err = c.observed(have); err != nil {
		return managed.ExternalObservation{}, managed.Terminal(fmt.Errorf("cannot show what the %s is like: %w", c.noun, err))
	}
	return c.judge(of, d)
}

func (c *client[C, P, O, V]) Create(ctx context.Context, mg resource.Managed) (managed.ExternalCreation, error) {
	_, copied, err := c.object(mg)
	if err != nil {
		return managed.ExternalCreation{}, err
	}
	d, err := declare(copied)
	if err != nil {
		return managed.ExternalCreation{}, err
	}
	r := c.request(copied, d.whole)
	r.Have, r.Token = nil, meta.CreationToken(mg)
	c.label(r, nil)
	if err := c.describe(r); err != nil {
		return managed.ExternalCreation{}, c.system.creationFailure(c.noun, err)
	}
	made, err := c.Kind.Create(ctx, c.lease.client, r)
	if err != nil {
		return managed.ExternalCreation{}, c.system.creationFailure(c.noun, err)
	}
	details := c.given(r)
	if made != nil {
		observed, _ := c.observed(made) // what does not fit Observe tells
		details = union(details, c.connection(c.lease.client, made, &observed))
		if c.ID != nil {
			r.Name = c.ID(made)
			meta.SetExternalName(mg, r.Name)
		}
	}
	r.Have = made
	if err := c.await(ctx, r); err != nil {
		err = managed.Accepted(fmt.Errorf("waiting for the creation: %w", err))
		return managed.ExternalCreation{ConnectionDetails: details}, err // what the vendor told is told once
	}
	return managed.ExternalCreation{ConnectionDetails: details}, nil
}

func (c *client[C, P, O, V]) Update(ctx context.Context, mg resource.Managed) (managed.ExternalUpdate, error) {
	_, copied, err := c.object(mg)
	if err != nil || c.Kind.Update == nil {
		return managed.ExternalUpdate{}, err
	}
	p, err := c.sent(copied)
	if err != nil {
		return managed.ExternalUpdate{}, err
	}
	r := c.request(copied, p)
	r.Changes = c.changes
	if c.have != nil {
		seen, _ := c.labelsOf(c.have)
		c.label(r, seen)
	}
	if err := c.describe(r); err != nil {
		return managed.ExternalUpdate{}, c.system.failure("update", c.noun, err)
	}
	if err := c.Kind.Update(ctx, c.lease.client, r); err != nil {
		return managed.ExternalUpdate{}, c.system.failure("update", c.noun, err)
	}
	if err := c.await(ctx, r); err != nil {
		return managed.ExternalUpdate{}, fmt.Errorf("waiting for the update: %w", c.system.failure("update", c.noun, err))
	}
	return managed.ExternalUpdate{ConnectionDetails: c.given(r)}, nil
}

func (c *client[C, P, O, V]) Delete(ctx context.Context, mg resource.Managed) error {
	_, copied, err := c.object(mg)
	if err != nil {
		return err
	}
	p, err := c.lasting(copied)
	if err != nil {
		return err
	}
	r := c.request(copied, p)
	err = c.Kind.Delete(ctx, c.lease.client, r)
	if err == nil {
		err = c.await(ctx, r)
	}
	if is(c.system.IsNotFound, err) {
		return nil
	}
	return c.system.failure("delete", c.noun, err)
}

func (c *client[C, P, O, V]) await(ctx context.Context, r *Request[P, V]) error {
	if c.Await == nil {
		return nil
	}
	return c.Await(ctx, c.lease.client, r)
}

// request is what an author's function gets; of is a copy and p its parameters, so that nothing which the function sets is stored.
func (c *client[C, P, O, V]) request(of Object[P, O], p P) *Request[P, V] {
	r := &Request[P, V]{
		Name:       meta.GetExternalName(of),
		Parameters: p,
		Have:       c.have,
		Secrets:    c.secrets,
		Object:     of,
	}
	r.Want, _ = c.want(r) // Create and Update tell what does not fit; it must not keep anybody from looking and deleting
	return r
}
