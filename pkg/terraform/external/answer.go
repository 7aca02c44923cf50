// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package external

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/json"

	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/resource"
	"github.com/bowline-dev/bowline/pkg/terraform/plugin"
	"github.com/bowline-dev/bowline/pkg/terraform/state"
)

// An answer is what is known of an external resource after a change, or an adoption.
type answer struct {
	plugin.State
	name            string // external, so far
	creates, failed bool
	takenBy         state.Owner // another object that has it; zero for none
}

// saveAnswer is save for the answer to a change. Another object that has what a creation returns keeps it: the provider returned what there was.
func (c *client) saveAnswer(ctx context.Context, mg resource.Managed, a answer) (err error) {
	if !a.creates || a.Value.IsNull() {
		return c.save(ctx, mg, a)
	}
	defer c.Store.LockOwners(c.Name)()
	a.takenBy, err = c.Store.Other(ctx, mg.GetUID(), c.place(), true, c.idOf(a.Value))
	if err = failure.OutcomeUnknown(err); err != nil && c.Journal != nil { // the resource exists, and the journal keeps the answer
		return err
	}
	return errors.Join(err, c.save(ctx, mg, a))
}

// save stores an answer, and then removes it from the journal. What a creation made in part stays tainted until it is deleted.
func (c *client) save(ctx context.Context, mg resource.Managed, a answer) error {
	former, err := c.Store.Load(ctx, mg.GetUID())
	if err != nil {
		return failure.OutcomeUnknown(err)
	}
	stored := &state.State{Place: c.place(), Name: a.name, SchemaVersion: c.Schema.Version, Private: a.Private, Identity: a.Identity,
		Observed: onlyObserves(mg), Change: rand.Text(), TakenBy: a.takenBy}
	// A failed deletion may have come to its end nevertheless.
	stored.Replacing = former != nil && former.Replacing && (a.Value.IsNull() || a.failed && !a.creates)
	if !a.Value.IsNull() {
		value, err := json.Marshal(cty.UnknownAsNull(a.Value), c.Schema.Block.Type())
		if err != nil {
			return fmt.Errorf("encoding the state: %w", err)
		}
		stored.Value, stored.Tainted = value, a.failed && (a.creates || former != nil && former.Tainted)
		if a.creates || stored.Name == "" || stored.Tainted { // the name of an object is that of what was lost
			stored.Name = c.nameOf(mg, a.Value)
		}
	}
	if former != nil {
		stored.Former = former.Former
	}
	if another := former != nil && !former.Empty() && !former.Observed && !a.creates && !c.same && former.Name != stored.Name; another {
		kept := *former // a person may set the former name again, and nothing else may have its secrets
		kept.Former, stored.Former = former.Former.Without(stored.Name), &kept
	}
	if err := c.Store.Save(ctx, mg, c.Kind, stored); err != nil {
		return failure.OutcomeUnknown(err)
	}
	return c.Journal.Remove(string(mg.GetUID()))
}
