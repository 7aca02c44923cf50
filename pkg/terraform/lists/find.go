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

// mostImported is how many resources of one list are imported: those that have what is looked for, and those that the provider did not include.
const mostImported = 100

// A Found is a resource that belongs to the object.
type Found struct {
	plugin.State        // as imported
	Name         string // for people
}

// ErrLarge is returned for a list of too many resources to import.
var ErrLarge = fmt.Errorf("the list has more than %d resources to import: have listConfig of spec.typeSettings select fewer", mostImported)

// ErrGone is returned if there is only something in the list that an import does not find, or not as the list has it.
var ErrGone = errors.New("what is in the list is not found by an import: it is being created or deleted")

// Find returns the resources in a list for which owns is true, once they are imported by their identities.
func Find(ctx context.Context, p *plugin.Provider, r plugin.Resource, config map[string]any, owns func(cty.Value) bool) (found []Found, err error) {
	value, err := kinds.Config(r.List.Block, at, config, noSecrets)
	if err != nil {
		return nil, err
	}
	var listed []plugin.Listed
	err = p.List(ctx, r, value, func(l plugin.Listed) error {
		if !l.Value.IsNull() && !owns(l.Value) {
			return nil
		}
		if len(listed) == mostImported {
			return ErrLarge
		}
		listed = append(listed, l)
		return nil
	})
	if err != nil {
		return nil, err
	}
	gone := false
	for _, l := range listed {
		state, err := p.ImportListed(ctx, r, l)
		switch _, refused := errors.AsType[plugin.Diagnostics](err); {
		case refused && l.Value.IsNull(): // it may be another's, whose secrets the error may repeat
			return nil, fmt.Errorf("the provider refuses to import %s of the list", l.Name)
		case err != nil:
			return nil, fmt.Errorf("importing %s of the list: %w", l.Name, err)
		case !state.Value.IsNull() && owns(state.Value):
			found = append(found, Found{state, l.Name})
		case !l.Value.IsNull(): // else it is another's, or was deleted meanwhile
			gone = true
		}
	}
	if gone && len(found) == 0 {
		return nil, ErrGone
	}
	return found, nil
}
