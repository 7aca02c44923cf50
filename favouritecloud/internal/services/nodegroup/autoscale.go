// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package nodegroup

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/bowline-dev/bowline/favouritecloud/internal/services/catalog"
	"github.com/bowline-dev/bowline/favouritecloud/internal/store"
	api "github.com/bowline-dev/bowline/favouritecloud/sdk/services/nodegroup"
)

// Run changes the size of all groups with autoscaling, one step at a time, until ctx ends.
func (s *Service) Run(ctx context.Context) error {
	tick := time.NewTicker(s.AutoscaleInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if err := s.step(); err != nil {
			s.Log.Error("scaling node groups failed; retrying", "error", err)
		}
	}
}

// step changes every group with autoscaling. If there is none, it writes nothing.
func (s *Service) step() error {
	busy := false
	err := s.Store.Read(func(tx *store.Tx) error {
		records, err := s.groups.All(tx, "")
		busy = slices.ContainsFunc(records, func(r catalog.Record[group]) bool { return autoscales(r.Object) })
		return err
	})
	if err != nil || !busy {
		return err
	}
	return s.Store.Write(func(tx *store.Tx) error {
		records, err := s.groups.All(tx, "")
		for _, r := range records {
			if autoscales(r.Object) {
				r.Object = scaled(r.Object)
				err = errors.Join(err, s.groups.Put(tx, r))
			}
		}
		return err
	})
}

// scaled returns the group after one step: up to the maximum size, down to the minimum, and so on.
func scaled(g group) group {
	size := &g.Shown.ScalingConfig[0]
	switch {
	case size.DesiredSize >= size.MaxSize:
		g.Shrinking = true
	case size.DesiredSize <= size.MinSize:
		g.Shrinking = false
	}
	if g.Shrinking {
		size.DesiredSize = max(size.DesiredSize-1, size.MinSize)
	} else {
		size.DesiredSize++
	}
	return g
}

func autoscales(g group) bool {
	size := g.Shown.ScalingConfig[0]
	return g.Shown.Labels[api.AutoscaleLabel] == "true" && size.MinSize < size.MaxSize
}
