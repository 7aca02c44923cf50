// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package lists

import (
	"context"
	"errors"
	"fmt"

	"github.com/zclconf/go-cty/cty"

	"github.com/bowline-dev/bowline/pkg/terraform/kinds"
	"github.com/bowline-dev/bowline/pkg/terraform/plugin"
)

// mostImported is how many resources of one list are imported, which the provider did not include in it.
const mostImported = 100

// A Found is a resource that belongs to the object.
type Found struct {
	plugin.State        // as imported
	Name         string // for people
}

// ErrLarge is returned for a list of too many resources that are not included in it.
var ErrLarge = fmt.Errorf("the list does not include the resources themselves, and has more than %d: have listConfig of spec.typeSettings select fewer", mostImported)

// Find returns the resources in a list for which owns is true. If there is only one it is imported, by its identity, else State is what the list
// had of it.
func Find(ctx context.Context, p *plugin.Provider, r plugin.Resource, config map[string]any, owns func(cty.Value) bool) ([]Found, error) {
	value, err := kinds.Config(r.List.Block, at, config, noSecrets)
	if err != nil {
		return nil, err
	}
	var owned, unseen []plugin.Listed
	err = p.List(ctx, r, value, func(l plugin.Listed) error {
		switch {
		case l.Value.IsNull():
			if unseen = append(unseen, l); len(unseen) > mostImported {
				return ErrLarge
			}
		case owns(l.Value):
			owned = append(owned, l)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	var found []Found
	for _, l := range unseen {
		state, err := p.ImportListed(ctx, r, l)
		if err != nil {
			return nil, fmt.Errorf("importing %s of the list: %w", l.Name, err)
		}
		if !state.Value.IsNull() && owns(state.Value) { // else it is another's, or gone
			found = append(found, Found{state, l.Name})
		}
	}
	for _, l := range owned {
		found = append(found, Found{plugin.State{Value: l.Value}, l.Name})
	}
	if len(found) != 1 || len(owned) == 0 {
		return found, nil
	}
	if found[0].State, err = p.ImportListed(ctx, r, owned[0]); err != nil {
		return nil, fmt.Errorf("importing %s of the list: %w", owned[0].Name, err)
	}
	if found[0].Value.IsNull() || !owns(found[0].Value) {
		return nil, errChanged
	}
	return found, nil
}

var errChanged = errors.New("what is in the list was changed or deleted meanwhile")
