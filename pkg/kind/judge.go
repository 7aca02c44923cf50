// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package kind

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/kind/parameters"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// maxComplaints keeps the message of a condition readable.
const maxComplaints = 8

// judge reports the external resource that was found: whose it is, what state it is in, what it differs in. What is going
// away is left in peace.
func (c *client[C, P, O, V]) judge(of Object[P, O], d declaration[P]) (managed.ExternalObservation, error) {
	seen := managed.ExternalObservation{
		ResourceExists: true, ResourceUpToDate: true,
		ConnectionDetails: c.connection(c.lease.client, c.have, of.Observation()),
	}
	labels, can := c.labelsOf(c.have)
	if can {
		owner := types.UID(labels[meta.ExternalLabelUID])
		seen.Owner = &owner
	}
	state := c.markReady(of)
	if state == Deleting {
		return seen, nil
	}
	if err := c.compare(of, d, labels, &seen); err != nil {
		return seen, err
	}
	if state == Failed {
		seen.Failed = errors.Join(errors.New(c.complaint()), seen.Failed)
	}
	return seen, nil
}

// markReady tells the vendor's state in condition Ready (R31).
func (c *client[C, P, O, V]) markReady(mg resource.Managed) State {
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
		mg.SetConditions(xpv1.Unavailable().WithMessage(c.complaint()))
	}
	return state
}

func (c *client[C, P, O, V]) complaint() string {
	if message := c.Message(c.have); message != "" {
		return message
	}
	return fmt.Sprintf("The external system says %s of the resource, and nothing more.", c.State(c.have))
}

// compare takes over what the vendor chose, and lists what differs. A difference that no update heals is a failure that
// says so.
func (c *client[C, P, O, V]) compare(of Object[P, O], d declaration[P], labels map[string]string, seen *managed.ExternalObservation) error {
	theirs, err := c.declared(c.have)
	if err != nil {
		return managed.Terminal(fmt.Errorf("cannot read the settings of the %s: %w", c.noun, err))
	}
	observed, err := parameters.Tree(theirs)
	if err != nil {
		return fmt.Errorf("cannot compare settings: %w", err)
	}
	answered := c.rules.Answered(observed, d.desired, c.told...)
	options := append(c.rules.Options(), parameters.InitProvider(d.initial))
	filling := append(slices.Clip(options), parameters.Ignore(c.closed(of.Parameters())...))
	desired, filled := parameters.Fill(d.desired, answered, filling...)
	if seen.ResourceLateInitialized = len(filled) > 0; seen.ResourceLateInitialized {
		p, err := parameters.Typed[P](desired)
		if err != nil {
			return fmt.Errorf("cannot take over settings: %w", err)
		}
		*of.Parameters() = p
	}
	if observed, err = c.rules.FillDefaults(answered); err != nil {
		return fmt.Errorf("cannot compare settings: %w", err)
	}
	if c.labelsIn != nil || c.Labels != nil {
		at := strings.Split(cmp.Or(c.rules.Labels, "labels"), ".")
		put(desired, at, c.declaredLabels(of))
		put(observed, at, labels)
	}
	c.changes = parameters.AllDifferences(desired, observed, options...)
	seen.Drift = parameters.Shorten(c.changes)
	c.heal(seen)
	return nil
}

// heal says what can be done about differences.
func (c *client[C, P, O, V]) heal(seen *managed.ExternalObservation) {
	var fixed []error
	for _, d := range c.changes {
		if c.Kind.Update != nil && !c.rules.Fixed(d.Path) {
			seen.ResourceUpToDate = false
			continue
		}
		seen.Fixed = append(seen.Fixed, d.Path)
		fixed = append(fixed, fmt.Errorf("%s is %s in the external system, which cannot change, and spec.forProvider says %s: "+
			"create another object with that value", d.Path, d.Observed, d.Desired))
	}
	if more := len(fixed) - maxComplaints; more > 0 {
		fixed = append(fixed[:maxComplaints], fmt.Errorf("%d more fields differ that cannot change", more))
	}
	seen.Failed = errors.Join(fixed...)
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
