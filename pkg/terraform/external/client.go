// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package external

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/zclconf/go-cty/cty"
	kube "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/clients"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/internal/objects"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
	"github.com/bowline-dev/bowline/pkg/terraform/kinds"
	"github.com/bowline-dev/bowline/pkg/terraform/plugin"
	"github.com/bowline-dev/bowline/pkg/terraform/processes"
	"github.com/bowline-dev/bowline/pkg/terraform/schema"
	"github.com/bowline-dev/bowline/pkg/terraform/state"
	"github.com/bowline-dev/bowline/pkg/terraform/warnings"
	"github.com/bowline-dev/bowline/pkg/terraform/wire"
)

// A client serves one pass over an object.
type client struct {
	*clients.Lease[*processes.Process]
	*Type
	plugin.Resource
	object         resource.Managed // as it was when the pass began
	warnings       *warnings.Reporter
	secrets        map[string][]byte // by the field that refers to them
	published      map[string][]byte // by the connection Secret
	found          plugin.State      // by the last Observe
	stored         *state.State      // before the last Observe
	createdNothing bool              // by the answer to the last creation
	recovered      bool              // from an interrupted creation, in this pass
	had            bool              // what the last Observe found, under another place
	same           bool              // what the last Observe found as the stored one, under another import id
	adopts         bool              // what the last Observe found, unless the reconciler refuses that
	waited         *wait             // before the last Observe
}

// UseSecretInputs takes the values of the Secrets that the parameters refer to.
func (c *client) UseSecretInputs(values map[string][]byte) {
	c.secrets = objects.Union(c.secrets, values)
}

// UseConnectionDetails takes what the connection Secret has.
func (c *client) UseConnectionDetails(stored managed.ConnectionDetails) { c.published = stored }

// Disconnect reports the warnings of the pass, and returns the process.
func (c *client) Disconnect(ctx context.Context) error {
	defer c.Lease.Release()
	c.warnings.Of(ctx, c.object, c.Client, func() [][]byte {
		return slices.AppendSeq(c.SecretValues(), maps.Values(c.secrets))
	})
	return nil
}

// OneTimeKeys has none: the state has whatever an answer contained.
func (c *client) OneTimeKeys() []string { return nil }

// SecretValues are the credentials of the provider, and what its answers have of secrets, which its errors and warnings may repeat.
func (c *client) SecretValues() [][]byte {
	values := slices.Clone(c.Lease.SecretValues()) // which all passes share
	for _, answer := range append(c.Client.Answers(), c.found.Value) {
		values = slices.AppendSeq(values, maps.Values(c.texts(answer)))
	}
	return values
}

// ExternalSystem is where the ProviderConfig leads, as far as its settings show it (N55).
func (c *client) ExternalSystem() xpv1.ExternalSystem { return c.Client.System }

// Observe reads the external resource, and plans what would bring it to what is declared.
func (c *client) Observe(ctx context.Context, mg resource.Managed) (o managed.ExternalObservation, err error) {
	defer func() { err = c.orStopped(ctx, err) }()
	o.System, c.had, c.same, c.adopts, c.waited = c.Client.System, false, false, false, c.lastWait(mg)
	c.found, err = c.prior(ctx, mg)
	known := c.found.Value
	if err == nil && !c.found.Value.IsNull() {
		c.found, err = c.Client.Read(ctx, c.Resource, c.found)
		err = called("reading", err)
	}
	if err == nil && !c.found.Value.IsNull() {
		c.found, err = c.checkLabel(mg, c.found)
	}
	if err == nil && !c.found.Value.IsNull() {
		err = c.checkSystem(mg, known)
	}
	if err == nil && c.found.Value.IsNull() {
		o.Replacing = c.wasReplaced(mg)
		return o, c.checkAbsent(mg)
	}
	if err != nil {
		return o, err
	}
	o.ResourceExists = true
	o.ConnectionDetails, o.LostKeys = c.details(ctx, mg)
	ready := xpv1.Available()
	if len(o.ConnectionDetails) > 0 && c.mayBelongToOthers(mg) {
		for key := range c.texts(c.found.Value) {
			delete(o.ConnectionDetails, key)
		}
		ready = ready.WithMessage(messageSecretsOfOthers)
	}
	if err := kube.SetNestedField(content(mg), kinds.Object(c.Schema.Block, c.found.Value), "status", "atProvider"); err != nil {
		return o, fmt.Errorf("writing status.atProvider: %w", err)
	}
	mg.SetConditions(ready)
	if b, ok := mg.(resource.BindableManaged); ok && mg.GetNamespace() == "" {
		resource.SetBindable(b)
	}
	if meta.WasDeleted(mg) {
		o.ResourceUpToDate = true
		return o, nil
	}
	return c.compare(ctx, mg, o)
}

// orStopped replaces the error of a pass whose calls the end of the controllers ended, and waits for it to reach the pass: it is no failure.
func (c *client) orStopped(ctx context.Context, err error) error {
	if err == nil || !c.Client.Stopped() {
		return err
	}
	<-ctx.Done()
	return fmt.Errorf("the controllers end: %w", ctx.Err())
}

// compare adds to an observation how the external resource differs from what is declared.
func (c *client) compare(ctx context.Context, mg resource.Managed, o managed.ExternalObservation) (managed.ExternalObservation, error) {
	config, err := c.config(mg, c.found.Value)
	if err != nil {
		return o, err
	}
	onlyObserved := !mg.GetManagementPolicies().Allow(xpv1.ManagementActionUpdate)
	plan, err := c.Client.Plan(ctx, c.Resource, c.found, config)
	switch {
	case err != nil && onlyObserved: // the declaration need not be complete
		o.ResourceUpToDate = true
		return o, nil
	case err != nil:
		return o, called("planning", err)
	}
	differences, replaced := c.differences(plan)
	if onlyObserved {
		differences = slices.DeleteFunc(differences, func(d schema.Difference) bool { return !isSet(config, d.Path) })
	}
	for _, d := range differences {
		path := kinds.FieldPath(c.Schema.Block, d.Path)
		o.Drift = append(o.Drift, xpv1.FieldDifference{Path: path, Desired: shown(d.After, d.Sensitive), Observed: shown(d.Before, d.Sensitive)})
		if slices.Contains(replaced, path) {
			o.Fixed = append(o.Fixed, path)
		}
	}
	if o.ResourceUpToDate = len(differences) == 0; !o.ResourceUpToDate && c.recovered { // an import may lack declared secrets
		mg.SetConditions(xpv1.Creating())
	}
	if len(o.Fixed) > 0 {
		if o.Failed = c.checkReplacement(mg, o.Fixed); o.Failed == nil {
			o.Fixed, o.Replacing = nil, true
			mg.SetConditions(xpv1.Unavailable().WithMessage("The external resource is about to be replaced, as permitted."))
			return o, nil
		}
		o.ResourceUpToDate = true
	}
	return o, c.noteReplacing(ctx, mg, false)
}

// Create creates the external resource, and stores its state before anything else. What an earlier attempt made in part is deleted before,
// as Terraform does it: it never was ready, so that it has no data.
func (c *client) Create(ctx context.Context, mg resource.Managed) (created managed.ExternalCreation, err error) {
	ended, err := c.begin()
	if err != nil {
		return created, err
	}
	defer ended()
	if err := c.deletePart(ctx, mg); err != nil {
		return created, err
	}
	plan, err := c.planCreation(ctx, mg)
	if err != nil {
		return created, err
	}
	note, err := c.noteOfCreation(ctx, mg, plan.Config)
	if err != nil {
		return created, err
	}
	defer c.Store.BeginCreation(mg.GetUID())()
	if err := c.Store.Own(ctx, mg, c.Kind, note); err != nil {
		return created, err
	}
	made, err := c.apply(ctx, mg, plan)
	if err != nil || made.Value.IsNull() {
		return created, err
	}
	meta.SetExternalName(mg, c.nameOf(mg, made.Value))
	return managed.ExternalCreation{ConnectionDetails: c.connection(made.Value)}, nil
}

func (c *client) planCreation(ctx context.Context, mg resource.Managed) (*plugin.Plan, error) {
	config, err := c.config(mg, cty.NullVal(c.Schema.Block.Type()))
	if err != nil {
		return nil, err
	}
	plan, err := c.Client.Plan(ctx, c.Resource, c.NoState(), config)
	return plan, called("planning", err)
}

// CheckCreation returns what the provider refuses of a creation beforehand: schemas do not express all of its rules.
func (c *client) CheckCreation(ctx context.Context, mg resource.Managed) error {
	_, err := c.planCreation(ctx, mg)
	return err
}

// deletePart deletes what an earlier creation made in part. What remains of it is not to be forgotten, so that the outcome of the creation
// stays unknown as long as it does.
func (c *client) deletePart(ctx context.Context, mg resource.Managed) error {
	stored, err := c.Store.Load(ctx, mg.GetUID())
	if err != nil || stored == nil || !stored.Tainted || isTaken(mg, stored) {
		return err
	}
	part, err := c.upgraded(ctx, stored)
	if err == nil {
		part, err = c.Client.Read(ctx, c.Resource, part)
		err = called("reading", err)
	}
	if err == nil && !part.Value.IsNull() {
		err = c.delete(ctx, mg, part)
	}
	return failure.OutcomeUnknown(err)
}

// Update changes the external resource. With permission it deletes it instead, so that another one is created.
func (c *client) Update(ctx context.Context, mg resource.Managed) (updated managed.ExternalUpdate, err error) {
	ended, err := c.beginOwn(ctx, mg)
	if err != nil {
		return updated, err
	}
	defer ended()
	config, err := c.config(mg, c.found.Value)
	if err != nil {
		return updated, err
	}
	plan, err := c.Client.Plan(ctx, c.Resource, c.found, config)
	if err != nil {
		return updated, called("planning", err)
	}
	if _, replaced := c.differences(plan); len(replaced) > 0 {
		return updated, c.replace(ctx, mg, replaced)
	}
	changed, err := c.apply(ctx, mg, plan)
	if err != nil || changed.Value.IsNull() {
		return updated, err
	}
	updated.ConnectionDetails = c.connection(changed.Value)
	return updated, nil
}

// Delete deletes the external resource, and stores that.
func (c *client) Delete(ctx context.Context, mg resource.Managed) error {
	if c.found.Value.IsNull() {
		return nil // Observe finds it
	}
	ended, err := c.beginOwn(ctx, mg)
	if err != nil {
		return err
	}
	defer ended()
	return c.delete(ctx, mg, c.found)
}

func (c *client) delete(ctx context.Context, mg resource.Managed, what plugin.State) error {
	plan, err := c.Client.Plan(ctx, c.Resource, what, cty.NullVal(c.Schema.Block.Type()))
	if err != nil {
		return called("planning", err)
	}
	_, err = c.apply(ctx, mg, plan)
	return err
}

// differences returns how a plan changes what it was made of, and the fields that need another resource.
func (c *client) differences(plan *plugin.Plan) (all []schema.Difference, replaced []string) {
	all = c.Schema.Block.Differences(plan.Prior.Value, plan.Planned)
	for _, d := range all {
		if schema.Covers(plan.Replace, d) {
			replaced = append(replaced, kinds.FieldPath(c.Schema.Block, d.Path))
		}
	}
	return all, replaced
}

// begin has the end of the controllers wait for a change, until ended is called. It is called before the first note of the change.
func (c *client) begin() (ended func(), err error) {
	ended, begun := c.Client.Begin()
	if !begun {
		return nil, failure.New(failure.CallTooLate, "the controllers are about to end, and nothing is changed any more")
	}
	return ended, nil
}

// apply does what a plan says, and stores the state, also that of what was made in part.
func (c *client) apply(ctx context.Context, mg resource.Managed, plan *plugin.Plan) (plugin.State, error) {
	former, err := c.Store.Load(ctx, mg.GetUID())
	if err != nil {
		return plan.Prior, err
	}
	creates, last := plan.Prior.Value.IsNull(), ""
	if former != nil {
		last = former.Change
	}
	after, err := c.Client.Apply(ctx, c.Resource, plan, string(mg.GetUID()), last)
	_, unanswered := errors.AsType[*wire.Unanswered](err)
	_, unreadable := errors.AsType[*plugin.Unreadable](err)
	switch _, answered := errors.AsType[plugin.Diagnostics](err); {
	case (unanswered || unreadable) && creates:
		return after, called("changing", failure.OutcomeUnknown(err))
	case err != nil && !answered:
		return after, called("changing", err)
	case creates && c.leavesOpen(after, err, c.Client.Stopped()):
		if err == nil {
			err = errUnidentified
		}
		return c.NoState(), called("changing", failure.OutcomeUnknown(errors.Join(err, c.lose(ctx, mg))))
	}
	if creates && err != nil && !after.Value.IsNull() {
		err = failure.OutcomeUnknown(err)
	}
	return after, errors.Join(called("changing", err), c.saveAnswer(ctx, mg, answer{State: after, name: meta.GetExternalName(mg), creates: creates, failed: err != nil}))
}

// errUnidentified is the error of an answer that names no error and identifies nothing.
var errUnidentified = errors.New("the provider reports neither an error nor what it created, which is a bug in the provider: what exists is looked for")

// leavesOpen is true for the answer to a creation after which something may exist that the answer does not identify: another creation would
// make another one.
func (c *client) leavesOpen(answer plugin.State, err error, stopped bool) bool {
	if !answer.Value.IsNull() {
		id := c.Schema.Block.Attribute("id")
		return id != nil && id.Computed && c.idOf(answer.Value) == ""
	}
	refused, _ := errors.AsType[plugin.Diagnostics](err)
	return err == nil || stopped || refused.MayHaveCreated() // stopped: it may have abandoned a request that had arrived
}

// details are the connection details of what Observe found. A secret of a resource that the object had under a former external name becomes
// empty, and is lost, where nothing replaces it: it opens another one. What a person put there instead stays.
func (c *client) details(ctx context.Context, mg resource.Managed) (details managed.ConnectionDetails, lost []string) {
	details = c.connection(c.found.Value)
	if len(c.published) == 0 {
		return details, nil
	}
	for former := c.stored; former != nil && !meta.WasDeleted(mg); former = former.Former {
		if former.Empty() || former.Observed || former.Name == meta.GetExternalName(mg) {
			continue
		}
		known, err := c.upgraded(ctx, former)
		if err != nil {
			continue // what a later provider wrote cannot be compared
		}
		for key, secret := range c.connection(known.Value) {
			if _, replaced := details[key]; !replaced && bytes.Equal(secret, c.published[key]) {
				details[key], lost = nil, append(lost, key)
			}
		}
	}
	slices.Sort(lost)
	return details, lost
}

// connection returns the connection details of a value: its secrets, and what the settings of the type choose.
func (c *client) connection(value cty.Value) map[string][]byte {
	return c.texts(value, c.settings.Load().ConnectionKeys...)
}

// texts returns the secrets of a value, and what is below other keys.
func (c *client) texts(value cty.Value, also ...string) map[string][]byte {
	if value == cty.NilVal || value.IsNull() {
		return nil
	}
	return kinds.Connection(c.Schema.Block, value, also...)
}
