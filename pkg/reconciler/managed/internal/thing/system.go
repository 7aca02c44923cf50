// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package thing

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
)

// A Resource is what the external system holds under a name.
type Resource struct {
	Size     int
	Owner    types.UID
	Token    string
	Password string
}

// A System is an external system in memory. Its fields may be changed between calls; use Do while a reconciler runs.
type System struct {
	mu sync.Mutex

	// Resources by name.
	Resources map[string]Resource
	// Calls are the verbs called, in order: Connect, Observe, Create, Update, Delete.
	Calls []string

	// VendorNames makes the system choose names itself.
	VendorNames bool
	// Unlabelled makes the system unable to keep an owner.
	Unlabelled bool
	// Replays makes the system answer a repeated token with its first answer.
	Replays bool
	// Chooses makes clients choose passwords beforehand; the resource gets what the connection secret holds.
	Chooses bool
	// SlowDelete makes deletion take until somebody removes the resource.
	SlowDelete bool
	// Hidden resources are not seen by Observe, as in a system that is eventually consistent.
	Hidden bool
	// Failed is what the system reports to be wrong with every resource.
	Failed error
	// Fault, if set, is asked at each call of a verb: refuse is returned before the call does anything, lose after it
	// did its work.
	Fault func(verb string) (refuse, lose error)

	made int
}

// NewSystem returns an empty system.
func NewSystem() *System {
	return &System{Resources: map[string]Resource{}}
}

// Do changes the system while nobody calls it.
func (s *System) Do(change func(*System)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s)
}

// Snapshot returns a copy of the resources.
func (s *System) Snapshot() map[string]Resource {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.Resources)
}

// Called returns how often a verb was called since the calls were last taken.
func (s *System) Called(verb string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.Calls {
		if c == verb {
			n++
		}
	}
	return n
}

// TakeCalls returns the calls made so far and forgets them.
func (s *System) TakeCalls() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	calls := s.Calls
	s.Calls = nil
	return calls
}

func (s *System) call(verb string, work func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Calls = append(s.Calls, verb)
	var refuse, lose error
	if s.Fault != nil {
		refuse, lose = s.Fault(verb)
	}
	if refuse != nil {
		return refuse
	}
	if err := work(); err != nil {
		return err
	}
	return lose
}

// Connect satisfies managed.TypedExternalConnecter.
func (s *System) Connect(context.Context, *Thing) (managed.TypedExternalClient[*Thing], error) {
	if err := s.call("Connect", func() error { return nil }); err != nil {
		return nil, err
	}
	if s.Chooses {
		return &chooser{client: client{s}}, nil
	}
	return client{s}, nil
}

type client struct{ s *System }

func (c client) ReplaysCreate() bool { return c.s.Replays }

func (c client) Observe(_ context.Context, t *Thing) (o managed.ExternalObservation, err error) {
	err = c.s.call("Observe", func() error {
		have, ok := c.s.Resources[meta.GetExternalName(t)]
		if !ok || c.s.Hidden {
			return nil
		}
		o.ResourceExists = true
		o.ResourceUpToDate = have.Size == t.Spec.ForProvider.Size && (c.s.Unlabelled || have.Owner == t.GetUID())
		o.ConnectionDetails = managed.ConnectionDetails{xpv1.ResourceCredentialsSecretEndpointKey: []byte("there")}
		o.Failed = c.s.Failed
		if !c.s.Unlabelled {
			o.Owner = &have.Owner
		}
		t.Status.AtProvider.Size = have.Size
		t.SetConditions(xpv1.Available())
		return nil
	})
	return o, err
}

func (c client) Create(_ context.Context, t *Thing) (managed.ExternalCreation, error) {
	return c.create(t, "")
}

func (c client) create(t *Thing, chosen string) (creation managed.ExternalCreation, err error) {
	err = c.s.call("Create", func() error {
		name := meta.GetExternalName(t)
		if c.s.VendorNames {
			name = c.s.vendorName(meta.CreationToken(t))
		}
		have, exists := c.s.Resources[name]
		switch {
		case !exists:
			c.s.made++
			have = Resource{Size: t.Spec.ForProvider.Size, Token: meta.CreationToken(t), Password: chosen}
			if chosen == "" {
				have.Password = fmt.Sprintf("password-%d", c.s.made)
			}
			if !c.s.Unlabelled {
				have.Owner = t.GetUID()
			}
			c.s.Resources[name] = have
		case !c.s.Replays || have.Token != meta.CreationToken(t):
			return errors.New("name is taken")
		}
		meta.SetExternalName(t, name)
		creation.ConnectionDetails = managed.ConnectionDetails{
			xpv1.ResourceCredentialsSecretEndpointKey: []byte("there"),
			xpv1.ResourceCredentialsSecretPasswordKey: []byte(have.Password),
		}
		return nil
	})
	if err != nil {
		return managed.ExternalCreation{}, err
	}
	return creation, nil
}

// vendorName is a new name, or the one that the token got before.
func (s *System) vendorName(token string) string {
	for name, have := range s.Resources {
		if s.Replays && have.Token == token {
			return name
		}
	}
	return fmt.Sprintf("vendor-%d", s.made+1)
}

func (c client) Update(_ context.Context, t *Thing) (managed.ExternalUpdate, error) {
	return managed.ExternalUpdate{}, c.s.call("Update", func() error {
		have := c.s.Resources[meta.GetExternalName(t)]
		have.Size = t.Spec.ForProvider.Size
		if !c.s.Unlabelled {
			have.Owner = t.GetUID()
		}
		c.s.Resources[meta.GetExternalName(t)] = have
		return nil
	})
}

func (c client) Delete(_ context.Context, t *Thing) error {
	return c.s.call("Delete", func() error {
		if !c.s.SlowDelete {
			delete(c.s.Resources, meta.GetExternalName(t))
		}
		return nil
	})
}

// chooser is a client that chooses the password itself.
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

func (c *chooser) Create(_ context.Context, t *Thing) (managed.ExternalCreation, error) {
	return c.create(t, c.password)
}
