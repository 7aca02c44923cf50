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

// A Resource is an external resource.
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

	// AsService returns clients of package kind instead of those that are written out.
	AsService bool
	// VendorNames: the system chooses names.
	VendorNames bool
	// Unlabelled: the system stores no owner.
	Unlabelled bool
	// Replays: the system answers a repeated creation token with the first answer.
	Replays bool
	// Chooses: clients choose passwords before the creation, from the connection Secret if it has one.
	Chooses bool
	// Finds: clients find the result of an interrupted create by its owner.
	Finds bool
	// Password of the last secret inputs.
	Password string
	// Zone and Tags are the system's defaults for a new resource.
	Zone string
	Tags map[string]string
	// Endpoint of every resource.
	Endpoint string
	// Stubborn: the system accepts updates and ignores them.
	Stubborn bool
	// Poll is the poll interval of clients. Zero: that of the reconciler.
	Poll time.Duration
	// Hang is the verb whose calls block until their context ends.
	Hang string
	// SlowDelete: deletion lasts until the test removes the resource.
	SlowDelete bool
	// Hidden resources are not observed, as in an eventually consistent system.
	Hidden bool
	// Failed is the failure that the system reports of every resource.
	Failed error
	// Fault, if set, is called at each call: refuse is returned instead of its work, lose after it. See fault.Process.Request.
	Fault func(verb string) (refuse, lose error)

	created int
}

// ServiceVariable is the environment variable that sets AsService of new systems.
const ServiceVariable = "BOWLINE_TEST_SERVICES"

// NewSystem returns an empty system.
func NewSystem() *System {
	return &System{Resources: map[string]Resource{}, Sent: map[string][]Parameters{}, Endpoint: "there", AsService: os.Getenv(ServiceVariable) != ""}
}

// Do changes the system between calls.
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

// TakeCalls returns the calls so far and forgets them.
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

// vendorName returns a new name, or that of an earlier creation with the token.
func (s *System) vendorName(token string) string {
	for name, have := range s.Resources {
		if s.Replays && have.Token == token {
			return name
		}
	}
	return fmt.Sprintf("vendor-%d", s.created+1)
}
