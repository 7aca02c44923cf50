// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package thing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/kind/parameters"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
)

// Connect satisfies managed.TypedExternalConnecter. A failed connection returns a client too, as careless
// connecters do (R20).
func (s *System) Connect(ctx context.Context, t *Thing) (managed.TypedExternalClient[*Thing], error) {
	err := s.call(ctx, "Connect", func() error { return nil })
	switch {
	case s.AsService && !s.Chooses && err == nil:
		return s.asService(ctx, t)
	case s.Chooses:
		return &chooser{client: client{s}}, err
	case s.Finds:
		return finder{client{s}}, err
	default:
		return client{s}, err
	}
}

type client struct{ s *System }

func (c client) ReplaysCreate() bool { return c.s.Replays }

// UseSecretInputs takes the password that Create and Update are to set.
func (c client) UseSecretInputs(values map[string][]byte) {
	c.s.Do(func(s *System) { s.Password = string(values["passwordSecretRef"]) })
}

func (c client) PollInterval() time.Duration { return c.s.Poll }

// Observe is as careless as an author may be: it overwrites the spec with all that the system reports, whatever the user set, and
// returns an observation with errors, too.
func (c client) Observe(ctx context.Context, t *Thing) (o managed.ExternalObservation, err error) {
	err = c.s.call(ctx, "Observe", func() error {
		have, ok := c.s.Resources[meta.GetExternalName(t)]
		if !ok || c.s.Hidden {
			return nil
		}
		theirs := have.parameters()
		desired, errDesired := parameters.Tree(t.Spec.ForProvider)
		initial, errInitial := parameters.Tree(t.Spec.InitProvider)
		observed, errObserved := parameters.Tree(theirs)
		if err := errors.Join(errDesired, errInitial, errObserved); err != nil {
			return err
		}
		drift := parameters.Rules{}.Differences(desired, observed, initial)
		o.ResourceExists = true
		o.ResourceUpToDate = len(drift) == 0 && (c.s.Unlabelled || have.Owner == t.GetUID())
		o.Drift = drift
		o.ConnectionDetails = managed.ConnectionDetails{xpv1.ResourceCredentialsSecretEndpointKey: []byte(c.s.Endpoint)}
		o.Failed = c.s.Failed
		if !c.s.Unlabelled {
			o.Owner = &have.Owner
		}
		o.ResourceLateInitialized = !reflect.DeepEqual(t.Spec.ForProvider, theirs)
		t.Spec.ForProvider = theirs
		t.Status.AtProvider = have.parameters()
		t.SetConditions(xpv1.Available())
		return nil
	})
	return o, err
}

func (c client) Create(ctx context.Context, t *Thing) (managed.ExternalCreation, error) {
	return c.create(ctx, t, "")
}

func (c client) create(ctx context.Context, t *Thing, chosen string) (creation managed.ExternalCreation, err error) {
	c.s.send("Create", t)
	err = c.s.call(ctx, "Create", func() error {
		name := meta.GetExternalName(t)
		if c.s.VendorNames {
			name = c.s.vendorName(meta.CreationToken(t))
		}
		have, exists := c.s.Resources[name]
		switch {
		case !exists:
			if have, err = c.s.newResource(t, chosen); err != nil {
				return err
			}
			c.s.Resources[name] = have
		case !c.s.Replays || have.Token != meta.CreationToken(t):
			return errors.New("name is taken")
		}
		meta.SetExternalName(t, name)
		creation.ConnectionDetails = managed.ConnectionDetails{
			xpv1.ResourceCredentialsSecretEndpointKey: []byte(c.s.Endpoint),
			xpv1.ResourceCredentialsSecretPasswordKey: []byte(have.Password),
		}
		return nil
	})
	return creation, err
}

// newResource returns a new resource.
func (s *System) newResource(t *Thing, password string) (Resource, error) {
	s.created++
	have := Resource{Zone: s.Zone, Tags: s.Tags, Token: meta.CreationToken(t), Password: cmp.Or(s.Password, password)}
	if have.Password == "" {
		have.Password = fmt.Sprintf("password-%d", s.created)
	}
	if !s.Unlabelled {
		have.Owner = t.GetUID()
	}
	return have, have.take(t.Spec.ForProvider)
}

// Update changes what is set and keeps the rest.
func (c client) Update(ctx context.Context, t *Thing) (managed.ExternalUpdate, error) {
	c.s.send("Update", t)
	return managed.ExternalUpdate{}, c.s.call(ctx, "Update", func() error {
		if c.s.Stubborn {
			return nil
		}
		have := c.s.Resources[meta.GetExternalName(t)]
		if !c.s.Unlabelled {
			have.Owner = t.GetUID()
		}
		have.Password = cmp.Or(c.s.Password, have.Password)
		err := have.take(t.Spec.ForProvider)
		c.s.Resources[meta.GetExternalName(t)] = have
		return err
	})
}

func (c client) Delete(ctx context.Context, t *Thing) error {
	return c.s.call(ctx, "Delete", func() error {
		if !c.s.SlowDelete {
			delete(c.s.Resources, meta.GetExternalName(t))
		}
		return nil
	})
}

func (s *System) send(verb string, t *Thing) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Sent[verb] = append(s.Sent[verb], *t.Spec.ForProvider.DeepCopy())
}

// parameters are those of the resource.
func (r Resource) parameters() Parameters {
	p := Parameters{Size: r.Size, ScalingConfig: r.Scaling, Tags: r.Tags}
	if r.Zone != "" {
		p.Zone = &r.Zone
	}
	if r.AccessToken != "" {
		p.AccessToken = &r.AccessToken
	}
	if r.Neighbour != "" {
		p.Neighbour = &r.Neighbour
	}
	return *p.DeepCopy()
}

// take applies the parameters that are set.
func (r *Resource) take(sent Parameters) error {
	desired, errDesired := parameters.Tree(sent)
	have, errHave := parameters.Tree(r.parameters())
	all, err := parameters.Typed[Parameters](parameters.Overlay(desired, have))
	if err := errors.Join(errDesired, errHave, err); err != nil {
		return err
	}
	r.Size, r.Scaling, r.Tags = all.Size, all.ScalingConfig, all.Tags
	if all.Zone != nil {
		r.Zone = *all.Zone
	}
	if all.Neighbour != nil {
		r.Neighbour = *all.Neighbour
	}
	if all.AccessToken != nil {
		r.AccessToken = *all.AccessToken
	}
	return nil
}

// finder is a client that finds the result of an interrupted create.
type finder struct{ client }

func (f finder) FindCreated(ctx context.Context, t *Thing) (name string, err error) {
	err = f.s.call(ctx, "FindCreated", func() error {
		for found, have := range f.s.Resources {
			if have.Owner == t.GetUID() && !f.s.Hidden {
				name = found
			}
		}
		return nil
	})
	return name, err
}

// chooser is a client that chooses the password.
type chooser struct {
	client
	password string
}

func (c *chooser) ChooseCredentials(_ context.Context, stored managed.ConnectionDetails) (managed.ConnectionDetails, error) {
	if have := stored[xpv1.ResourceCredentialsSecretPasswordKey]; len(have) > 0 {
		c.password = string(have)
	} else {
		c.password = "chosen"
	}
	return managed.ConnectionDetails{xpv1.ResourceCredentialsSecretPasswordKey: []byte(c.password)}, nil
}

// UseConnectionDetails keeps the password that Update sets again.
func (c *chooser) UseConnectionDetails(stored managed.ConnectionDetails) {
	c.password = string(stored[xpv1.ResourceCredentialsSecretPasswordKey])
}

func (c *chooser) Update(ctx context.Context, t *Thing) (managed.ExternalUpdate, error) {
	update, err := c.client.Update(ctx, t)
	c.s.Do(func(s *System) {
		have := s.Resources[meta.GetExternalName(t)]
		have.Password = cmp.Or(s.Password, c.password, have.Password)
		s.Resources[meta.GetExternalName(t)] = have
	})
	return update, err
}

func (c *chooser) Create(ctx context.Context, t *Thing) (managed.ExternalCreation, error) {
	return c.create(ctx, t, c.password)
}
