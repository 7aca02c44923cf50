// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package nodegroup

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/bowline-dev/bowline/favouritecloud/internal/refusal"
	"github.com/bowline-dev/bowline/favouritecloud/internal/services/catalog"
	"github.com/bowline-dev/bowline/favouritecloud/internal/store"

	"github.com/bowline-dev/bowline/favouritecloud/sdk"
	api "github.com/bowline-dev/bowline/favouritecloud/sdk/services/nodegroup"
)

// Config configures a Service. All fields are required.
type Config struct {
	// Store holds the records.
	Store *store.Store
	// SubnetExists reports whether a project has a subnet.
	SubnetExists func(tx *store.Tx, project, id string) (bool, error)
	// AutoscaleInterval is the pause between steps of the autoscaler.
	AutoscaleInterval time.Duration
	// Log receives the errors of the autoscaler.
	Log *slog.Logger
}

// Service is the node group service. Its methods do not require that Run runs.
type Service struct {
	Config
	groups  *catalog.Catalog[group]
	replays store.Table[replay]
}

// group is a node group with its internal fields.
type group struct {
	Shown          api.NodeGroup
	IdempotencyKey string // of the create request; empty for none
	Shrinking      bool   // direction of the autoscaler
}

// replay is the answer to the request that created a group.
type replay struct{ Answer []byte }

// New returns a service whose autoscaler is not running yet.
func New(c Config) *Service {
	labels := func(g group) map[string]string { return g.Shown.Labels }
	return &Service{
		Config: c, groups: catalog.New(c.Store, "node group", labels), replays: store.NewTable[replay]("node group replay"),
	}
}

// Create creates a node group. It returns the answer as JSON, or that to an earlier request with the same idempotency key in the
// same project; then replayed is true and in is ignored.
func (s *Service) Create(_ context.Context, project, idempotencyKey string, in api.CreateNodeGroupInput,
) (body []byte, replayed bool, err error) {
	now := time.Now()
	created, problem := newGroup(in, now)
	err = s.Store.Write(func(tx *store.Tx) error {
		if idempotencyKey != "" {
			earlier, err := s.replays.Get(tx, project, idempotencyKey)
			if !errors.Is(err, store.ErrNotFound) {
				body, replayed = earlier.Answer, err == nil
				return err
			}
		}
		if problem != nil {
			return problem
		}
		if err := s.checkCreate(tx, project, created); err != nil {
			return err
		}
		if body, err = json.Marshal(created); err != nil {
			return err
		}
		if idempotencyKey != "" {
			if err := s.replays.Put(tx, project, idempotencyKey, replay{Answer: body}); err != nil {
				return err
			}
		}
		return s.groups.Put(tx, catalog.Record[group]{
			Project: project, ID: created.Name, CreatedAt: now, Object: group{Shown: created, IdempotencyKey: idempotencyKey},
		})
	})
	return body, replayed, err
}

// checkCreate refuses a group whose name is taken or whose subnets do not exist.
func (s *Service) checkCreate(tx *store.Tx, project string, created api.NodeGroup) error {
	_, err := s.groups.Read(tx, project, created.Name)
	if err == nil {
		return refusal.Exists("node group %q exists in project %q", created.Name, project)
	}
	if !errors.Is(err, store.ErrNotFound) {
		return err
	}
	for _, id := range created.SubnetIDs {
		exists, err := s.SubnetExists(tx, project, id)
		if err != nil {
			return err
		}
		if !exists {
			return refusal.Invalid("subnet_ids: subnet %q does not exist in project %q", id, project)
		}
	}
	return nil
}

// Replay returns the answer to the request that created a node group with this idempotency key, if the project has such a group.
func (s *Service) Replay(project, idempotencyKey string) (body []byte, found bool, err error) {
	err = s.Store.Read(func(tx *store.Tx) error {
		earlier, err := s.replays.Get(tx, project, idempotencyKey)
		body = earlier.Answer
		return err
	})
	if errors.Is(err, store.ErrNotFound) {
		return nil, false, nil
	}
	return body, err == nil, err
}

// Get returns a node group. If asOf is not zero, groups that were created later are not found.
func (s *Service) Get(project, name string, asOf time.Time) (api.NodeGroup, error) {
	g, err := s.groups.Get(project, name, asOf)
	return g.Shown, err
}

// List returns the node groups of a project that have all of the labels, ordered by name. If asOf is not zero, groups that were
// created later are not found.
func (s *Service) List(project string, labels map[string]string, asOf time.Time) (shown []api.NodeGroup, err error) {
	groups, err := s.groups.List(project, labels, asOf)
	for _, g := range groups {
		shown = append(shown, g.Shown)
	}
	return shown, err
}

// Update changes a node group.
func (s *Service) Update(project, name string, in api.UpdateNodeGroupInput) (api.NodeGroup, error) {
	g, err := s.groups.Change(project, name, func(g *group) error {
		if in.ScalingConfig != nil {
			scaling, err := changedScaling(g.Shown.ScalingConfig[0], *in.ScalingConfig)
			if err != nil {
				return err
			}
			g.Shown.ScalingConfig = []api.ScalingConfig{scaling}
		}
		if in.Upgrade != nil {
			g.Shown.Upgrade = changedUpgrade(g.Shown.Upgrade, *in.Upgrade)
		}
		if in.Repair != nil {
			g.Shown.Repair = changedRepair(g.Shown.Repair, *in.Repair)
		}
		if in.InstanceType != nil && *in.InstanceType != g.Shown.InstanceType {
			g.Shown.InstanceType = *in.InstanceType
			g.Shown.Upgrade = upgraded(g.Shown.Upgrade, time.Now())
		}
		if in.Labels != nil {
			g.Shown.Labels = maps.Clone(in.Labels)
		}
		return validate(g.Shown)
	})
	return g.Shown, err
}

// Resize sets the desired size, as the autoscaler does.
func (s *Service) Resize(project, name string, in api.AutoscaleInput) (api.NodeGroup, error) {
	if in.DesiredSize == nil {
		return api.NodeGroup{}, refusal.Invalid("desired_size is required")
	}
	desired := []api.ScalingConfigInput{{DesiredSize: in.DesiredSize}}
	return s.Update(project, name, api.UpdateNodeGroupInput{ScalingConfig: &desired})
}

// Delete removes a node group.
func (s *Service) Delete(project, name string) (api.NodeGroup, error) {
	removed, err := s.groups.Remove(project, name, func(tx *store.Tx, g group) error {
		return s.replays.Delete(tx, project, g.IdempotencyKey)
	})
	removed.Shown.Status = sdk.StatusDeleting
	return removed.Shown, err
}

// CountUsers returns how many node groups of a project use a subnet.
func (s *Service) CountUsers(tx *store.Tx, project, subnetID string) (users int, err error) {
	records, err := s.groups.All(tx, project)
	for _, r := range records {
		if slices.Contains(r.Object.Shown.SubnetIDs, subnetID) {
			users++
		}
	}
	return users, err
}
