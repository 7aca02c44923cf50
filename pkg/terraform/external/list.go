// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package external

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/zclconf/go-cty/cty"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
	"github.com/bowline-dev/bowline/pkg/terraform/labels"
	"github.com/bowline-dev/bowline/pkg/terraform/lists"
	"github.com/bowline-dev/bowline/pkg/terraform/plugin"
	"github.com/bowline-dev/bowline/pkg/terraform/state"
	"github.com/bowline-dev/bowline/pkg/terraform/wire"
)

// noteLabel notes in which field the configuration of a creation has the label of the object, and how to list what has it: what the object
// declares may be changed before an interrupted creation is looked for. It fails while the list has a former resource with the label.
func (c *client) noteLabel(ctx context.Context, mg resource.Managed, config cty.Value, note *state.State) error {
	of := c.settings.Load()
	if labels.Get(config, of.owner, meta.ExternalLabelUID) != string(mg.GetUID()) {
		return nil
	}
	note.Ownership = of.Ownership
	list, err := of.list.Config(c.Resource, declaredBy(mg), string(mg.GetUID()))
	if err != nil { // nothing can be listed, which findListed reports if it matters
		return nil
	}
	if note.ListConfig, err = json.Marshal(list); err != nil {
		return err
	}
	former, err := c.Store.Load(ctx, mg.GetUID())
	if err != nil || former == nil {
		return err
	}
	found, err := c.listed(ctx, mg, list)
	switch {
	case len(found) > 0 && c.wasInterrupted(former):
		return appeared()
	case len(found) > 0:
		return failure.New(failure.ExternalCallFailed, fmt.Sprintf("the former resource %s is still in the list: it is looked at again", c.namesOf(mg, found)))
	case err != nil && !errors.Is(err, lists.ErrGone) && former.Creating == "": // what is found later could be the former one
		note.Ownership, note.ListConfig = "", nil
	}
	return nil
}

// findListed looks for what an interrupted creation made by a list of its type: it is what has the label of the object. That there is nothing is
// only proven by the list that was noted before the creation.
func (c *client) findListed(ctx context.Context, mg resource.Managed, stored *state.State) (string, error) {
	const unknown = "nothing tells whether it was made"
	of, list := c.settings.Load(), map[string]any{}
	switch {
	case of.owner == nil:
		return "", c.interrupted(unknown, nil)
	case stored.Ownership != of.Ownership:
		return "", c.interrupted(fmt.Sprintf("%s: no label in %s was noted before", unknown, of.Ownership), nil)
	}
	var err error
	if stored.ListConfig != nil {
		err = utiljson.Unmarshal(stored.ListConfig, &list)
	} else {
		list, err = of.list.Config(c.Resource, declaredBy(mg), string(mg.GetUID()))
	}
	if err != nil {
		return "", c.interrupted(fmt.Sprintf("%s: %s", unknown, err), nil)
	}
	found, err := c.listed(ctx, mg, list)
	if len(found) > 0 || errors.Is(err, lists.ErrGone) {
		if err := c.noteSeen(ctx, mg, stored); err != nil {
			return "", err
		}
	}
	switch _, unanswered := errors.AsType[*wire.Unanswered](err); {
	case unanswered:
		return "", called("listing", err)
	case err != nil:
		return "", c.interrupted(fmt.Sprintf("a list of %s, which is tried again, fails", c.Name), err)
	case len(found) == 0 && stored.ListConfig == nil:
		return "", c.interrupted(fmt.Sprintf("a list of %s, which was not configured when the creation began, has nothing with %s=%s", c.Name,
			meta.ExternalLabelUID, mg.GetUID()), nil)
	case len(found) == 0:
		return "", c.awaitAbsence(ctx, mg, stored, fmt.Sprintf("in the list of %s by the label %s=%s", c.Name, meta.ExternalLabelUID, mg.GetUID()))
	case len(found) > 1:
		return "", failure.Terminal(failure.New(failure.CreateInterrupted, fmt.Sprintf("a creation of %s was interrupted, and %d have the label %s=%s (%s): "+
			"delete all but one in the external system, and the one that is left is taken over", c.Name, len(found), meta.ExternalLabelUID, mg.GetUID(),
			c.namesOf(mg, found))))
	}
	return c.takeInterrupted(ctx, mg, c.nameOf(mg, found[0].Value), found[0].State)
}

// listed returns the resources in a list with the label of the object.
func (c *client) listed(ctx context.Context, mg resource.Managed, list map[string]any) ([]lists.Found, error) {
	if c.List == nil { // any more
		return nil, fmt.Errorf("the provider does not list %s", c.Name)
	}
	return lists.Find(ctx, c.Client.Provider, c.Resource, list, func(value cty.Value) bool { return c.isLabelled(mg, value) })
}

// mostNamed is how many resources a message names.
const mostNamed = 10

func (c *client) namesOf(mg resource.Managed, found []lists.Found) string {
	var names []string
	for _, f := range found[:min(len(found), mostNamed)] {
		name := c.nameOf(mg, f.Value)
		if f.Name != "" && f.Name != name {
			name += " " + f.Name
		}
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}

// listLost returns the state of the resource in a list that has the label and the name of an object, null for none.
func (c *client) listLost(ctx context.Context, mg resource.Managed) (plugin.State, error) {
	of := c.settings.Load()
	list, err := of.list.Config(c.Resource, declaredBy(mg), string(mg.GetUID()))
	if of.owner == nil || err != nil {
		return c.NoState(), nil
	}
	found, err := c.listed(ctx, mg, list)
	if _, unanswered := errors.AsType[*wire.Unanswered](err); unanswered {
		return c.NoState(), called("listing", err)
	}
	if err != nil {
		return c.NoState(), fmt.Errorf("%w; a list of %s fails: %w", lostState(mg), c.Name, err)
	}
	if len(found) != 1 || c.nameOf(mg, found[0].Value) != meta.GetExternalName(mg) {
		return c.NoState(), nil
	}
	return found[0].State, nil
}
