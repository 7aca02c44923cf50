// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zclconf/go-cty/cty"
	"google.golang.org/protobuf/proto"

	"github.com/bowline-dev/bowline/pkg/terraform/wire"
)

// ListLimits are those of one list: a provider decides how much it returns, and whether it ends.
type ListLimits struct {
	Resources int           // default: 10,000
	Bytes     int           // default: 256 MiB
	Time      time.Duration // default: 40 seconds, less than a pass may take
}

func (l ListLimits) withDefaults() ListLimits {
	return ListLimits{Resources: cmp.Or(l.Resources, 10_000), Bytes: cmp.Or(l.Bytes, 256<<20), Time: cmp.Or(l.Time, 40*time.Second)}
}

// A Listed is a resource in a list.
type Listed struct {
	Name     string    // for people; may be empty
	Value    cty.Value // null: the provider did not include it. It may lack what only states have
	Identity []byte    // by which it can be imported
}

// A ListLimitError is the error of a list that exceeds a limit: what it lacks is not known.
type ListLimitError struct{ limit string }

func (e *ListLimitError) Error() string {
	return "the list " + e.limit + ": have listConfig of spec.typeSettings select fewer resources"
}

// List calls a function for each resource of a type that the provider lists with a configuration, until that returns an error. Without an error
// the list is whole: a warning about no resource is an error, too. Other warnings are dropped, since most resources belong to others, whose
// secrets they may repeat. r.List must be set.
func (p *Provider) List(ctx context.Context, r Resource, config cty.Value, each func(Listed) error) error {
	encoded, err := encode(config, r.List.Block.Type())
	if err != nil {
		return fmt.Errorf("encoding the configuration of the list: %w", err)
	}
	valid := &wire.ValidateList_Response{}
	if err := p.Call(ctx, wire.MethodValidateList, &wire.ValidateList_Request{TypeName: r.Type, Config: encoded}, valid); err != nil {
		return err
	}
	if _, err := read(valid.GetDiagnostics()); err != nil {
		return err
	}
	list := list{ListLimits: p.Lists.withDefaults(), of: r, each: each}
	slow := &ListLimitError{fmt.Sprintf("takes longer than %s", list.Time)}
	ctx, cancel := context.WithTimeoutCause(ctx, list.Time, slow)
	defer cancel()
	request := &wire.List_Request{TypeName: r.Type, Config: encoded, IncludeResourceObject: true, Limit: int64(list.Resources) + 1}
	err = p.limited(ctx, func(ctx context.Context) error {
		err := p.Conn.List(ctx, request, list.take)
		if list.stopped != nil { // which says nothing about the external system
			return nil
		}
		return err
	})
	if errors.Is(err, slow) {
		return slow
	}
	return cmp.Or(list.stopped, err)
}

// A list that is being received.
type list struct {
	ListLimits
	of          Resource
	each        func(Listed) error
	count, size int
	stopped     error // why no more of it is received
}

func (l *list) take(e *wire.List_Event) error {
	l.stopped = l.add(e)
	return l.stopped
}

func (l *list) add(e *wire.List_Event) error {
	l.count, l.size = l.count+1, l.size+proto.Size(e)
	warnings, err := read(e.GetDiagnostics())
	switch {
	case err != nil:
		return err
	case len(warnings) > 0 && e.GetIdentity() == nil && e.GetResourceObject() == nil:
		return warnings
	case e.GetIdentity() == nil:
		return errors.New("the provider lists a resource without an identity, which is a bug in the provider")
	case l.count > l.Resources:
		return &ListLimitError{fmt.Sprintf("has more than %d resources", l.Resources)}
	case l.size > l.Bytes:
		return &ListLimitError{fmt.Sprintf("has more than %d bytes", l.Bytes)}
	}
	value, err := decode(e.GetResourceObject(), l.of.Schema.Block.Type()) // not noted as seen: most belong to others
	if err != nil {
		return err
	}
	return l.each(Listed{Name: e.GetDisplayName(), Value: value, Identity: encodedIdentity(e.GetIdentity())})
}
