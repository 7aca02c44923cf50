// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package kind

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/kind/parameters"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// maxImmutable bounds how many immutable fields an error names, so that a condition stays readable.
const maxImmutable = 8

func (c *client[C, P, O, V]) Observe(ctx context.Context, mg resource.Managed) (managed.ExternalObservation, error) {
	of, copied, err := c.object(mg)
	if err != nil {
		return managed.ExternalObservation{}, err
	}
	c.have, c.changes = nil, nil
	d, err := declare(copied)
	if err != nil {
		return managed.ExternalObservation{}, err
	}
	have, err := c.Get(ctx, c.lease.client, c.request(copied, d.merged))
	if is(c.system.IsNotFound, err) || err == nil && have == nil {
		return managed.ExternalObservation{}, nil
	}
	if err != nil {
		return managed.ExternalObservation{}, c.system.callError("get", c.noun, err)
	}
	c.have = have
	if *of.Observation(), err = c.observed(have); err != nil {
		return managed.ExternalObservation{}, failure.Terminal(fmt.Errorf("cannot convert the %s to status.atProvider: %w", c.noun, err))
	}
	return c.report(of, d)
}

// report describes the external resource in c.have: owner, state and differences. What is being deleted is not compared.
func (c *client[C, P, O, V]) report(of Object[P, O], d declaration[P]) (managed.ExternalObservation, error) {
	o := managed.ExternalObservation{
		ResourceExists: true, ResourceUpToDate: true,
		ConnectionDetails: c.connection(c.lease.client, c.have, of.Observation()),
	}
	labels, can := c.labelsOf(c.have)
	if can {
		owner := types.UID(labels[meta.ExternalLabelUID])
		o.Owner = &owner
	}
	state := c.setReady(of)
	if state == Deleting {
		return o, nil
	}
	if err := c.compare(of, d, labels, &o); err != nil {
		return o, err
	}
	if state == Failed {
		message := c.failureMessage()
		o.Failed = failure.ForTeam(failure.ExternalResourceFailed, message, errors.Join(errors.New(message), o.Failed))
	}
	return o, nil
}

// setReady sets condition Ready to the vendor's state (R31).
func (c *client[C, P, O, V]) setReady(mg resource.Managed) State {
	state := Ready
	if c.States != nil {
		state = c.States[c.State(c.have)]
	}
	switch state {
	case Ready:
		mg.SetConditions(xpv1.Available())
		if b, ok := mg.(resource.BindableManaged); ok {
			resource.SetBindable(b)
		}
	case Creating:
		mg.SetConditions(xpv1.Creating())
	case Deleting:
		mg.SetConditions(xpv1.Deleting())
	case Failed:
		mg.SetConditions(xpv1.Unavailable().WithMessage(c.failureMessage()))
	}
	return state
}

func (c *client[C, P, O, V]) failureMessage() string {
	return cmp.Or(c.Message(c.have), fmt.Sprintf("The external system reports state %s without a message.", c.State(c.have)))
}

// compare late-initializes the parameters and lists the differences.
func (c *client[C, P, O, V]) compare(of Object[P, O], d declaration[P], labels map[string]string, o *managed.ExternalObservation) error {
	declared, err := c.declared(c.have)
	if err != nil {
		return failure.Terminal(fmt.Errorf("cannot read the settings of the %s: %w", c.noun, err))
	}
	observed, err := parameters.Tree(declared)
	if err != nil {
		return fmt.Errorf("cannot compare settings: %w", err)
	}
	returned := c.rules.WithoutUnset(observed, d.desired, c.nullable...)
	rules := c.rules
	rules.Chosen = slices.Concat(rules.Chosen, c.notFilled(of.Parameters()))
	desired, filled := rules.Fill(d.desired, returned, d.initial)
	if o.ResourceLateInitialized = len(filled) > 0; o.ResourceLateInitialized {
		p, err := parameters.Typed[P](desired)
		if err != nil {
			return fmt.Errorf("cannot late-initialize settings: %w", err)
		}
		*of.Parameters() = p
	}
	if observed, err = c.rules.FillDefaults(returned); err != nil {
		return fmt.Errorf("cannot compare settings: %w", err)
	}
	if c.labelsIn != nil || c.Labels != nil {
		at := strings.Split(cmp.Or(c.rules.Labels, "labels"), ".")
		put(desired, at, c.desiredLabels(of))
		put(observed, at, labels)
	}
	c.changes = rules.Differences(desired, observed, d.initial)
	o.Drift = parameters.Shorten(c.changes)
	c.assess(o)
	return nil
}

// assess decides whether an update can settle the differences. Those of immutable fields are a failure.
func (c *client[C, P, O, V]) assess(o *managed.ExternalObservation) {
	var immutable []error
	for _, d := range c.changes {
		if c.Kind.Update != nil && !c.rules.IsImmutable(d.Path) {
			o.ResourceUpToDate = false
			continue
		}
		o.Fixed = append(o.Fixed, d.Path)
		immutable = append(immutable, fmt.Errorf("%s is immutable: it is %s in the external system, and spec.forProvider has %s; "+
			"create another object with that value", d.Path, d.Observed, d.Desired))
	}
	if more := len(immutable) - maxImmutable; more > 0 {
		immutable = append(immutable[:maxImmutable], fmt.Errorf("%d more immutable fields differ", more))
	}
	if err := errors.Join(immutable...); err != nil {
		o.Failed = failure.ForTeam(failure.InvalidSettings, err.Error(), err)
	}
}

// notFilled are fields that late initialization leaves alone although the vendor returned more: maps in which the user set
// anything, since a key that the user removes would come back (R149), unless others add to them (R151); and immutable fields
// that are set, since the API server would refuse the change.
func (k *compiled[C, P, O, V]) notFilled(p *P) []string {
	var paths []string
	for _, f := range k.parameters {
		v, err := reflect.ValueOf(p).Elem().FieldByIndexErr(f.Indices)
		if err != nil {
			continue // in a struct that is nil
		}
		userSet := v.Kind() == reflect.Map && v.Len() > 0 && !slices.Contains(k.rules.Extra, f.Path)
		if userSet || slices.Contains(k.rules.Immutable, f.Path) && !v.IsZero() {
			paths = append(paths, f.Path)
		}
	}
	return paths
}

// put sets a field of a tree to labels.
func put(tree map[string]any, at []string, labels map[string]string) {
	for _, name := range at[:len(at)-1] {
		below, ok := tree[name].(map[string]any)
		if !ok {
			below = map[string]any{}
			tree[name] = below
		}
		tree = below
	}
	object := make(map[string]any, len(labels))
	for key, value := range labels {
		object[key] = value
	}
	tree[at[len(at)-1]] = object
}
