// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package thing

import (
	"context"
	"fmt"
	"maps"
	"os"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// A Resource is what the external system holds under a name.
type Resource struct {
	Size        int
	Zone        string
	Scaling     []Scaling
	Tags        map[string]string
	AccessToken string

	Owner     types.UID
	Token     string
	Neighbour string
	Password  string
}

// A System is an external system in memory. Its fields may be changed between calls; use Do while a reconciler runs.
type System struct {
	mu sync.Mutex

	// Resources by name.
	Resources map[string]Resource
	// Calls are the verbs called, in order: Connect, Observe, FindCreated, Create, Update, Delete.
	Calls []string
	// Sent are the parameters that each Create and Update was called with.
	Sent map[string][]Parameters

	// AsService makes clients that are services (package service) in place of those that are written out.
	AsService bool
	// VendorNames makes the system choose names itself.
	VendorNames bool
	// Unlabelled makes the system unable to keep an owner.
	Unlabelled bool
	// Replays makes the system answer a repeated token with its first answer.
	Replays bool
	// Chooses makes clients choose passwords beforehand; the resource gets what the connection secret holds.
	Chooses bool
	// Finds makes clients find what an interrupted creation left behind, by its owner.
	Finds bool
	// Password that clients were last told to set.
	Password string
	// Zone and Tags are what the system itself gives a new resource, if it is not told otherwise.
	Zone string
	Tags map[string]string
	// Endpoint of every resource.
	Endpoint string
	// Stubborn makes the system accept updates and do nothing.
	Stubborn bool
	// Poll is how often clients want resources to be looked at; zero leaves it to the reconciler.
	Poll time.Duration
	// Hang is the verb whose calls last until their context ends.
	Hang string
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

// ServiceVariable is the environment variable that makes the clients of new systems services.
const ServiceVariable = "BOWLINE_TEST_SERVICES"

// NewSystem returns an empty system.
func NewSystem() *System {
	return &System{Resources: map[string]Resource{}, Sent: map[string][]Parameters{}, Endpoint: "there", AsService: os.Getenv(ServiceVariable) != ""}
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

func (s *System) call(ctx context.Context, verb string, work func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Calls = append(s.Calls, verb)
	if s.Hang == verb {
		<-ctx.Done()
		return ctx.Err()
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

// vendorName is a new name, or the one that the token got before.
func (s *System) vendorName(token string) string {
	for name, have := range s.Resources {
		if s.Replays && have.Token == token {
			return name
		}
	}
	return fmt.Sprintf("vendor-%d", s.made+1)
}
