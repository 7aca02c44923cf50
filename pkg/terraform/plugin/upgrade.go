// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"strconv"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/json"
	"github.com/zclconf/go-cty/cty/msgpack"

	"github.com/bowline-dev/bowline/pkg/terraform/wire"
)

// Upgrade returns a stored state in the present form of its type. version is that of the schema with which it was stored.
func (p *Provider) Upgrade(ctx context.Context, r Resource, version int64, stored []byte) (cty.Value, error) {
	t := r.Schema.Block.Type()
	q := question([]byte("upgrade"), []byte(r.Type), strconv.AppendInt(nil, version, 10), stored)
	if p.answered.has(q) {
		return p.decode(&wire.DynamicValue{Json: stored}, t)
	}
	answer := &wire.UpgradeState_Response{}
	request := &wire.UpgradeState_Request{TypeName: r.Type, Version: version, RawState: &wire.RawState{Json: stored}}
	if err := p.Call(ctx, wire.MethodUpgrade, request, answer); err != nil {
		return cty.NilVal, err
	}
	if err := p.check(answer.GetDiagnostics()); err != nil {
		return cty.NilVal, err
	}
	upgraded, err := p.decode(answer.GetUpgradedState(), t)
	same, unfit := decode(&wire.DynamicValue{Json: stored}, t)
	if err == nil && unfit == nil && len(answer.GetDiagnostics()) == 0 && same.RawEquals(upgraded) {
		p.answered.add(q)
	}
	return upgraded, err
}

// UpgradeAnswer returns an answer to a change in the present form of its type. version is that of the schema in which the provider gave it.
// It is Unreadable if the provider refuses to upgrade it.
func (p *Provider) UpgradeAnswer(ctx context.Context, r Resource, version int64, answer *wire.Apply_Response) (*wire.Apply_Response, error) {
	if version == r.Schema.Version {
		return answer, nil
	}
	former, err := untyped(answer.GetNewState())
	if err != nil {
		return answer, &Unreadable{err}
	}
	if former == nil {
		return answer, nil
	}
	value, err := p.Upgrade(ctx, r, version, former)
	if _, refused := errors.AsType[Diagnostics](err); refused {
		err = &Unreadable{err}
	}
	if err != nil {
		return answer, err
	}
	upgraded := &wire.Apply_Response{Diagnostics: answer.GetDiagnostics(), Private: answer.GetPrivate(), NewIdentity: answer.GetNewIdentity()}
	upgraded.NewState, err = encode(value, r.Schema.Block.Type())
	return upgraded, err
}

// untyped returns a value as JSON, nil for null, without knowing its type. It fails for one that has attributes of dynamic type, whose encoding
// only the former schema tells from others.
func untyped(value *wire.DynamicValue) ([]byte, error) {
	if encoded := value.GetJson(); len(value.GetMsgpack()) == 0 {
		if len(encoded) == 0 || string(encoded) == "null" {
			return nil, nil
		}
		return encoded, nil
	}
	t, err := msgpack.ImpliedType(value.GetMsgpack())
	if err != nil {
		return nil, err
	}
	decoded, err := msgpack.Unmarshal(value.GetMsgpack(), t)
	if err != nil || decoded.IsNull() {
		return nil, err
	}
	decoded = cty.UnknownAsNull(decoded)
	return json.Marshal(decoded, decoded.Type())
}
