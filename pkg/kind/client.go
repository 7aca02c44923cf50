// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package kind

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/kind/parameters"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// A client is the external client of one pass over one object.
type client[C, P, O, V any] struct {
	*compiled[C, P, O, V]
	kind  schema.GroupKind
	lease lease[C]

	secrets map[string][]byte       // that the parameters refer to, and those that were generated
	have    *V                      // result of the last Observe
	changes []parameters.Difference // of have
}

// ReplaysCreate is true if the vendor repeats its first answer (N22).
func (c *client[C, P, O, V]) ReplaysCreate() bool { return c.Identity == ByToken }

// PollInterval returns the poll interval of the provider configuration.
func (c *client[C, P, O, V]) PollInterval() time.Duration { return c.lease.poll }

// SecretValues returns the credentials of the lease.
func (c *client[C, P, O, V]) SecretValues() [][]byte { return c.lease.secrets }

// UseSecretInputs takes the values of the Secrets that the parameters refer to (P61).
func (c *client[C, P, O, V]) UseSecretInputs(values map[string][]byte) {
	c.secrets = union(c.secrets, values)
}

// Disconnect ends the lease.
func (c *client[C, P, O, V]) Disconnect(context.Context) error {
	c.lease.release()
	return nil
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
	r := c.request(copied, d.merged)
	r.Have, r.Token = nil, meta.CreationToken(mg)
	c.addLabels(r, nil)
	if err := c.describe(r); err != nil {
		return managed.ExternalCreation{}, c.system.createError(c.noun, err)
	}
	created, err := c.Kind.Create(ctx, c.lease.client, r)
	if err != nil {
		return managed.ExternalCreation{}, c.system.createError(c.noun, err)
	}
	details := c.sentSecrets(r)
	if created != nil {
		observed, _ := c.observed(created) // Observe reports what does not fit
		details = union(details, c.connection(c.lease.client, created, &observed))
		if c.ID != nil {
			r.Name = c.ID(created)
			meta.SetExternalName(mg, r.Name)
		}
	}
	r.Have = created
	if err := c.await(ctx, r); err != nil { // details may hold one-time values and are returned all the same
		err = failure.Accepted(fmt.Errorf("waiting for the creation: %w", c.system.classified(err)))
		return managed.ExternalCreation{ConnectionDetails: details}, err
	}
	return managed.ExternalCreation{ConnectionDetails: details}, nil
}

func (c *client[C, P, O, V]) Update(ctx context.Context, mg resource.Managed) (managed.ExternalUpdate, error) {
	_, copied, err := c.object(mg)
	if err != nil || c.Kind.Update == nil {
		return managed.ExternalUpdate{}, err
	}
	p, err := c.updateParameters(copied)
	if err != nil {
		return managed.ExternalUpdate{}, err
	}
	r := c.request(copied, p)
	r.Changes = c.changes
	if c.have != nil {
		observed, _ := c.labelsOf(c.have)
		c.addLabels(r, observed)
	}
	if err := c.describe(r); err != nil {
		return managed.ExternalUpdate{}, c.system.callError("update", c.noun, err)
	}
	if err := c.Kind.Update(ctx, c.lease.client, r); err != nil {
		return managed.ExternalUpdate{}, c.system.callError("update", c.noun, err)
	}
	if err := c.await(ctx, r); err != nil {
		return managed.ExternalUpdate{}, fmt.Errorf("waiting for the update: %w", c.system.callError("update", c.noun, err))
	}
	return managed.ExternalUpdate{ConnectionDetails: c.sentSecrets(r)}, nil
}

func (c *client[C, P, O, V]) Delete(ctx context.Context, mg resource.Managed) error {
	_, copied, err := c.object(mg)
	if err != nil {
		return err
	}
	p, err := c.deleteParameters(copied)
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
	return c.system.callError("delete", c.noun, err)
}

func (c *client[C, P, O, V]) await(ctx context.Context, r *Request[P, V]) error {
	if c.Await == nil {
		return nil
	}
	return c.Await(ctx, c.lease.client, r)
}

// request is the argument of an author's function; of is a copy and p its parameters, so that changes to them are discarded.
func (c *client[C, P, O, V]) request(of Object[P, O], p P) *Request[P, V] {
	r := &Request[P, V]{
		Name:       meta.GetExternalName(of),
		Parameters: p,
		Have:       c.have,
		Secrets:    c.secrets,
		Object:     of,
	}
	r.Want, _ = c.want(r) // Create and Update report what does not fit; Get and Delete must work all the same
	return r
}

// sentSecrets are the connection details that show the Secrets which were sent (P64).
func (c *client[C, P, O, V]) sentSecrets(r *Request[P, V]) managed.ConnectionDetails {
	details := managed.ConnectionDetails{}
	for field, key := range c.secretKeys {
		if value := r.Secrets[field]; len(value) > 0 {
			details[key] = value
		}
	}
	return details
}
