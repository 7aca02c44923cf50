// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package database

import (
	"fmt"
	"sync"

	"github.com/bowline-dev/bowline/favouritecloud/internal/postgres"
	"github.com/bowline-dev/bowline/favouritecloud/internal/store"
)

// portBook serializes the choice of ports, so that no two instances choose the same.
type portBook struct{ mu sync.Mutex }

// choosePort gives the instance a port that is free and that no other instance has, and records it.
func (s *Service) choosePort(id int) (int, error) {
	s.ports.mu.Lock()
	defer s.ports.mu.Unlock()
	records, err := s.Store.Instances()
	if err != nil {
		return 0, fmt.Errorf("choosing port: %w", err)
	}
	taken := map[int]bool{}
	for _, r := range records {
		taken[r.Port] = true
	}
	port, err := postgres.FreePort(func(port int) bool { return taken[port] })
	if err != nil {
		return 0, err
	}
	_, err = s.Store.UpdateInstance(id, func(i *store.Instance) error {
		i.Port = port
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("recording port: %w", err)
	}
	return port, nil
}
