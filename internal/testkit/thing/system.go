// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package thing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/kind/parameters"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// A Resource is an external resource.
// +kubebuilder:object:generate=false
type Resource struct {
	Size        int
	Zone        string
	Scaling     []Scaling
	Tags        map[string]string
	AccessToken string

	ID        string // empty: the system shows none
	Owner     types.UID
	Namespace string // label
	Token     string
	Neighbour string
	Password  string
}

// A System is an external system in memory. Its fields may be changed between calls; use Do while a reconciler runs.
// +kubebuilder:object:generate=false
type System struct {
	mu sync.Mutex

	// Resources by name.
	Resources map[string]Resource
	// Calls are the verbs called, in order: Connect, Observe, FindCreated, Create, Update, Delete.
	Calls []string
	// Sent are the parameters that each Create and Update was called with.
	Sent map[string][]Parameters

	// VendorNames: the system chooses names.
	VendorNames bool
	// Adoption are the rules of the ProviderConfig.
	Adoption resource.Adoption
	// Unlabelled: the system stores no owner.
	Unlabelled bool
	// Replays: the system answers a repeated creation token with the first answer.
	Replays bool
	// Chooses: clients choose passwords before the creation, from the connection Secret if it has one.
	Chooses bool
	// UsersChoose: clients that choose passwords have no other one.
	UsersChoose bool
	// SlowUpdate: updates last until the test ends that.
	SlowUpdate bool
	// Overlaps: former passwords can be accepted beside new ones, for the Overlap of the last update that set one.
	Overlaps bool
	Overlap  time.Duration
	// Finds: clients find the result of an interrupted create by its owner.
	Finds bool
	// Password of the last secret inputs.
	Password string
	// Zone and Tags are the system's defaults for a new resource.
	Zone string
	Tags map[string]string
	// Numbers: the system gives every resource an ID of its own.
	Numbers bool
	// Identity of the system, if it shows any.
	Identity xpv1.ExternalSystem
	// Origin of the system, if it shows one: see managed.ExternalObservation.
	Origin string
	// Silent: clients leave condition Ready as it was.
	Silent bool
	// Endpoint of every resource.
	Endpoint string
	// Stubborn: the system accepts updates and ignores them.
	Stubborn bool
	// Poll is the poll interval of clients. Zero: that of the reconciler.
	Poll time.Duration
	// Latency is how long a call of a verb takes, unless its context ends first: then it does nothing.
	Latency func(verb string) time.Duration
	// SlowDelete: deletion lasts until the test removes the resource.
	SlowDelete bool
	// Hidden resources are not observed, as in an eventually consistent system.
	Hidden bool
	// Failed is the failure that the system reports of every resource.
	Failed error
	// Fault, if set, is called at each call: refuse is returned instead of its work, lose after it. See fault.Process.Request.
	Fault func(verb string) (refuse, lose error)
	// Observed, Created, Updated and Deleted, if set, change what a client returns, and its object. Functions ignores them.
	Observed func(*Thing, *managed.ExternalObservation)
	Created  func(*Thing, *managed.ExternalCreation) error
	Updated  func(*Thing, *managed.ExternalUpdate)
	Deleted  func(*Thing)

	created, rotated int
}

// NewSystem returns an empty system.
func NewSystem() *System {
	return &System{Resources: map[string]Resource{}, Sent: map[string][]Parameters{}, Endpoint: "there"}
}

// Do changes the system between calls.
func (s *System) Do(change func(*System)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s)
}

// Snapshot returns a copy of the resources.
func (s *System) Snapshot() (all map[string]Resource) {
	s.Do(func(s *System) { all = maps.Clone(s.Resources) })
	return all
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

// TakeCalls returns the calls so far and forgets them.
func (s *System) TakeCalls() (calls []string) {
	s.Do(func(s *System) { calls, s.Calls = s.Calls, nil })
	return calls
}

func (s *System) call(ctx context.Context, verb string, work func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Calls = append(s.Calls, verb)
	if s.Latency != nil {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(s.Latency(verb)):
		}
	}
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

// get returns a resource, and whether it exists and shows.
func (s *System) get(ctx context.Context, name string) (have Resource, exists bool, err error) {
	err = s.call(ctx, "Observe", func() error {
		have, exists = s.Resources[name]
		exists = exists && !s.Hidden
		return nil
	})
	return have, exists, err
}

// create creates a resource like want, or returns the one that its token created, and its name.
func (s *System) create(ctx context.Context, name string, want Resource, sent Parameters) (have Resource, as string, err error) {
	s.Do(func(s *System) { s.Sent["Create"] = append(s.Sent["Create"], *sent.DeepCopy()) })
	err = s.call(ctx, "Create", func() error {
		if s.VendorNames {
			name = s.vendorName(want.Token)
		}
		if first, exists := s.Resources[name]; exists {
			if !s.Replays || first.Token != want.Token {
				return errors.New("name is taken")
			}
			have, as = first, name
			return nil
		}
		s.created++
		have = want
		have.Zone, have.Tags = s.Zone, s.Tags
		have.Password = cmp.Or(s.Password, want.Password, fmt.Sprintf("password-%d", s.created))
		if s.Numbers {
			have.ID = fmt.Sprint(s.created)
		}
		if s.Unlabelled {
			have.Owner = ""
		}
		if err := have.take(sent); err != nil {
			return err
		}
		s.Resources[name], as = have, name
		return nil
	})
	return have, as, err
}

// vendorName returns a new name, or that of an earlier creation with the token.
func (s *System) vendorName(token string) string {
	for name, have := range s.Resources {
		if s.Replays && have.Token == token {
			return name
		}
	}
	return fmt.Sprintf("vendor-%d", s.created+1)
}

// update changes what is set of a resource.
func (s *System) update(ctx context.Context, name string, owner types.UID, password string, sent Parameters) error {
	s.Do(func(s *System) { s.Sent["Update"] = append(s.Sent["Update"], *sent.DeepCopy()) })
	return s.call(ctx, "Update", func() error {
		if s.Stubborn {
			return nil
		}
		have := s.Resources[name]
		have.Owner = cmp.Or(owner, have.Owner)
		have.Password = cmp.Or(s.Password, password, have.Password)
		err := have.take(sent)
		s.Resources[name] = have
		return err
	})
}

func (s *System) remove(ctx context.Context, name string) error {
	return s.call(ctx, "Delete", func() error {
		if !s.SlowDelete {
			delete(s.Resources, name)
		}
		return nil
	})
}

func (s *System) find(ctx context.Context, owner types.UID) (name string, err error) {
	err = s.call(ctx, "FindCreated", func() error {
		for found, have := range s.Resources {
			if have.Owner == owner && !s.Hidden {
				name = found
			}
		}
		return nil
	})
	return name, err
}

// parameters are those of the resource.
func (r Resource) parameters() Parameters {
	p := Parameters{Size: r.Size, ScalingConfig: r.Scaling, Tags: r.Tags,
		Zone: optional(r.Zone), AccessToken: optional(r.AccessToken), Neighbour: optional(r.Neighbour)}
	return *p.DeepCopy()
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
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
	for field, set := range map[*string]*string{&r.Zone: all.Zone, &r.Neighbour: all.Neighbour, &r.AccessToken: all.AccessToken} {
		if set != nil {
			*field = *set
		}
	}
	return nil
}
