// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"cmp"
	"context"
	"fmt"
	"strconv"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/json"
	"github.com/zclconf/go-cty/cty/msgpack"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/terraform/schema"
	"github.com/bowline-dev/bowline/pkg/terraform/wire"
)

// terraformVersion is the version of Terraform whose behaviour providers are to expect.
const terraformVersion = "1.12.0"

// A Provider is a process with a configuration.
type Provider struct {
	*Process
	Schemas *Schemas
	// Warned receives the warnings of the provider's answers. Default: nobody.
	Warned func(Diagnostics)
	// Seen receives the values of resources in the provider's answers, which the warnings may repeat. Default: nobody.
	Seen func(cty.Value)
	// Limit makes the calls that reach the external system, within its limits. It returns the error of the call, or why it was not made.
	// Default: all calls are made.
	Limit func(context.Context, func(context.Context) error) error
	// Lists are the limits of each List. Default: see their fields.
	Lists    ListLimits
	answered answered
}

// reach is Call for calls that reach the external system.
func (p *Provider) reach(ctx context.Context, m wire.Method, request, answer proto.Message) error {
	var unsent error // which says nothing about the external system
	err := p.limited(ctx, func(ctx context.Context) error {
		err := p.Call(ctx, m, request, answer)
		if failure.Of(err).Reason == failure.JournalUnwritable {
			unsent = err
			return nil
		}
		return err
	})
	return cmp.Or(err, unsent)
}

func (p *Provider) limited(ctx context.Context, call func(context.Context) error) error {
	if p.Limit == nil {
		return call(ctx)
	}
	return p.Limit(ctx, call)
}

// A State is what Terraform knows of one external resource.
type State struct {
	Value    cty.Value // null: there is none
	Private  []byte    // of the provider
	Identity []byte    // by which some providers know the resource, as they encode it
}

// A Resource is a resource type.
type Resource struct {
	Type   string
	Schema *schema.Schema
	List   *schema.Schema // of the configuration of a list; nil where the provider does not list the type
}

// NoState returns the state of what does not exist.
func (r Resource) NoState() State { return State{Value: cty.NullVal(r.Schema.Block.Type())} }

// A Plan is what a change would do.
type Plan struct {
	Prior   State
	Config  cty.Value
	Planned cty.Value // null: the resource is to be deleted
	// Replace are the paths whose change an update cannot do.
	Replace  []cty.Path
	private  []byte
	identity *wire.IdentityData
}

// Configure checks a configuration and gives it to a process, once in its life.
func (s *Schemas) Configure(ctx context.Context, p *Process, config cty.Value, warned func(Diagnostics)) (*Provider, error) {
	provider := &Provider{Process: p, Schemas: s, Warned: warned, answered: newAnswered()}
	if !s.optional {
		if _, err := p.Schemas(ctx, func(string) bool { return false }); err != nil {
			return nil, err
		}
	}
	encoded, err := encode(config, s.Provider.Block.Type())
	if err != nil {
		return nil, fmt.Errorf("encoding the configuration: %w", err)
	}
	valid := &wire.ValidateProvider_Response{}
	if err := p.Call(ctx, wire.MethodValidateProvider, &wire.ValidateProvider_Request{Config: encoded}, valid); err != nil {
		return nil, err
	}
	if err := provider.check(valid.GetDiagnostics()); err != nil {
		return nil, err
	}
	done := &wire.ConfigureProvider_Response{}
	if err := p.Call(ctx, wire.MethodConfigureProvider, &wire.ConfigureProvider_Request{TerraformVersion: terraformVersion, Config: encoded,
		ClientCapabilities: capabilities()}, done); err != nil {
		return nil, err
	}
	return provider, provider.check(done.GetDiagnostics())
}

func capabilities() *wire.ClientCapabilities {
	return &wire.ClientCapabilities{WriteOnlyAttributesAllowed: true}
}

func (p *Provider) check(all []*wire.Diagnostic) error {
	warnings, err := read(all)
	if len(warnings) > 0 && p.Warned != nil {
		p.Warned(warnings)
	}
	return err
}

// Read returns the state as it is outside. Its value is null if there is nothing any more.
func (p *Provider) Read(ctx context.Context, r Resource, of State) (State, error) {
	current, err := encode(of.Value, r.Schema.Block.Type())
	if err != nil {
		return of, fmt.Errorf("encoding the state: %w", err)
	}
	answer := &wire.Read_Response{}
	request := &wire.Read_Request{TypeName: r.Type, CurrentState: current, Private: of.Private, ClientCapabilities: capabilities(),
		CurrentIdentity: identity(of.Identity)}
	if err := p.reach(ctx, wire.MethodRead, request, answer); err != nil {
		return of, err
	}
	if err := p.check(answer.GetDiagnostics()); err != nil {
		return of, err
	}
	found, err := p.decode(answer.GetNewState(), r.Schema.Block.Type())
	return State{Value: found, Private: answer.GetPrivate(), Identity: encodedIdentity(answer.GetNewIdentity())}, err
}

// Validate checks a configuration.
func (p *Provider) Validate(ctx context.Context, r Resource, config cty.Value) error {
	encoded, err := encode(config, r.Schema.Block.Type())
	if err != nil {
		return fmt.Errorf("encoding the configuration: %w", err)
	}
	q := question([]byte("validate"), []byte(r.Type), encoded.GetMsgpack())
	if p.answered.has(q) {
		return nil
	}
	answer := &wire.ValidateResource_Response{}
	request := &wire.ValidateResource_Request{TypeName: r.Type, Config: encoded, ClientCapabilities: capabilities()}
	if err := p.Call(ctx, wire.MethodValidate, request, answer); err != nil {
		return err
	}
	if len(answer.GetDiagnostics()) == 0 {
		p.answered.add(q)
	}
	return p.check(answer.GetDiagnostics())
}

// Plan returns what would bring a resource to its configuration. A null configuration plans its deletion.
func (p *Provider) Plan(ctx context.Context, r Resource, prior State, config cty.Value) (*Plan, error) {
	plan, t := &Plan{Prior: prior, Config: config, private: prior.Private, identity: identity(prior.Identity)}, r.Schema.Block.Type()
	proposed := cty.NullVal(t)
	switch {
	case !config.IsNull():
		if err := p.Validate(ctx, r, config); err != nil {
			return nil, err
		}
		proposed = r.Schema.Block.Proposed(prior.Value, config)
	case !p.Schemas.PlansDestroy:
		plan.Planned = proposed
		return plan, nil
	}
	request := &wire.Plan_Request{TypeName: r.Type, PriorPrivate: prior.Private, ClientCapabilities: capabilities(),
		PriorIdentity: identity(prior.Identity)}
	var err error
	if request.PriorState, request.ProposedNewState, request.Config, err = encodeThree(t, prior.Value, proposed, config); err != nil {
		return nil, err
	}
	answer := &wire.Plan_Response{}
	if err := p.Call(ctx, wire.MethodPlan, request, answer); err != nil {
		return nil, err
	}
	if err := p.check(answer.GetDiagnostics()); err != nil {
		return nil, err
	}
	plan.private, plan.identity = answer.GetPlannedPrivate(), answer.GetPlannedIdentity()
	for _, path := range answer.GetRequiresReplace() {
		plan.Replace = append(plan.Replace, pathOf(path))
	}
	plan.Planned, err = p.decode(answer.GetPlannedState(), t)
	return plan, err
}

// Apply does what a plan says. The state is what there is afterwards, also where Diagnostics say that the change failed in part; errors of
// wire.Unanswered and Unreadable say that it is not known, any other that the call was not made. The journal notes the UID of the object that it
// is for, after which change, and the version of the schema.
func (p *Provider) Apply(ctx context.Context, r Resource, plan *Plan, object, after string) (State, error) {
	request, t := &wire.Apply_Request{TypeName: r.Type, PlannedPrivate: plan.private, PlannedIdentity: plan.identity}, r.Schema.Block.Type()
	var err error
	if request.PriorState, request.PlannedState, request.Config, err = encodeThree(t, plan.Prior.Value, plan.Planned, plan.Config); err != nil {
		return plan.Prior, err
	}
	answer := &wire.Apply_Response{}
	ctx = metadata.AppendToOutgoingContext(ctx, wire.HeaderObject, object, wire.HeaderAfter, after,
		wire.HeaderVersion, strconv.FormatInt(r.Schema.Version, 10))
	if err := p.reach(ctx, wire.MethodApply, request, answer); err != nil {
		return plan.Prior, err
	}
	return p.Applied(r, plan.Prior, answer)
}

// An Unreadable answer to a change does not fit the schema: what there is now is not known.
type Unreadable struct{ err error }

func (u *Unreadable) Error() string {
	return "the answer to the change cannot be read: " + u.err.Error()
}

func (u *Unreadable) Unwrap() error { return u.err }

// Applied returns the result of a change by its answer. Some providers answer a deletion that failed with no state: then the resource is as it
// was.
func (p *Provider) Applied(r Resource, prior State, answer *wire.Apply_Response) (State, error) {
	value, err := p.decode(answer.GetNewState(), r.Schema.Block.Type())
	if err != nil {
		return prior, &Unreadable{err}
	}
	refused := p.check(answer.GetDiagnostics())
	if refused != nil && value.IsNull() {
		return prior, refused
	}
	return State{Value: value, Private: answer.GetPrivate(), Identity: encodedIdentity(answer.GetNewIdentity())}, refused
}

// Import returns the state of what exists outside, by what the provider documents as its import id. Its value is null if there is nothing of
// that id.
func (p *Provider) Import(ctx context.Context, r Resource, id string) (State, error) {
	return p.imported(ctx, r, &wire.Import_Request{TypeName: r.Type, Id: id, ClientCapabilities: capabilities()})
}

// ImportListed is Import by the identity of what a list returned.
func (p *Provider) ImportListed(ctx context.Context, r Resource, of Listed) (State, error) {
	quiet := *p // it may be another's, whose secrets warnings may repeat
	quiet.Warned = nil
	return quiet.imported(ctx, r, &wire.Import_Request{TypeName: r.Type, Identity: identity(of.Identity), ClientCapabilities: capabilities()})
}

func (p *Provider) imported(ctx context.Context, r Resource, request *wire.Import_Request) (State, error) {
	answer := &wire.Import_Response{}
	if err := p.reach(ctx, wire.MethodImport, request, answer); err != nil {
		return r.NoState(), err
	}
	if err := p.check(answer.GetDiagnostics()); err != nil {
		return r.NoState(), err
	}
	for _, one := range answer.GetImported() {
		if one.GetTypeName() != r.Type {
			continue
		}
		value, err := p.decode(one.GetState(), r.Schema.Block.Type())
		if err != nil || value.IsNull() {
			return r.NoState(), err
		}
		return p.Read(ctx, r, State{Value: value, Private: one.GetPrivate(), Identity: encodedIdentity(one.GetIdentity())})
	}
	return r.NoState(), nil
}

// identity decodes what encodedIdentity returned.
func identity(encoded []byte) *wire.IdentityData {
	data := &wire.IdentityData{}
	if len(encoded) == 0 || proto.Unmarshal(encoded, data) != nil {
		return nil
	}
	return data
}

// encodedIdentity is nil for none.
func encodedIdentity(data *wire.IdentityData) []byte {
	encoded, _ := proto.Marshal(data) // of bytes only, which cannot fail
	return encoded
}

func encodeThree(t cty.Type, a, b, c cty.Value) (x, y, z *wire.DynamicValue, err error) {
	if x, err = encode(a, t); err != nil {
		return x, y, z, fmt.Errorf("encoding the prior state: %w", err)
	}
	if y, err = encode(b, t); err != nil {
		return x, y, z, fmt.Errorf("encoding the planned state: %w", err)
	}
	if z, err = encode(c, t); err != nil {
		return x, y, z, fmt.Errorf("encoding the configuration: %w", err)
	}
	return x, y, z, nil
}

func encode(value cty.Value, t cty.Type) (*wire.DynamicValue, error) {
	encoded, err := msgpack.Marshal(value, t)
	return &wire.DynamicValue{Msgpack: encoded}, err
}

func (p *Provider) decode(value *wire.DynamicValue, t cty.Type) (cty.Value, error) {
	decoded, err := decode(value, t)
	if err == nil && p.Seen != nil {
		p.Seen(decoded)
	}
	return decoded, err
}

// decode decodes a value in whichever encoding the provider chose. A missing one is null.
func decode(value *wire.DynamicValue, t cty.Type) (decoded cty.Value, err error) {
	switch {
	case len(value.GetMsgpack()) > 0:
		decoded, err = msgpack.Unmarshal(value.GetMsgpack(), t)
	case len(value.GetJson()) > 0:
		decoded, err = json.Unmarshal(value.GetJson(), t)
	default:
		return cty.NullVal(t), nil
	}
	if err != nil {
		return cty.NullVal(t), fmt.Errorf("the provider's answer does not fit its schema: %w", err)
	}
	return decoded, nil
}
