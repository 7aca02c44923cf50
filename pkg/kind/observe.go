// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package kind

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/internal/objects"
	"github.com/bowline-dev/bowline/pkg/kind/internal/mapping"
	"github.com/bowline-dev/bowline/pkg/kind/parameters"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// maxImmutable bounds how many immutable fields an error names, so that a condition stays readable.
const maxImmutable = 8

func (c *client[C, P, O, V]) Observe(ctx context.Context, mg resource.Managed) (managed.ExternalObservation, error) {
	c.have, c.changes, c.accepted, c.refused, c.unapplied = nil, nil, nil, nil, nil
	d, err := declare[P, O](mg)
	if err != nil {
		return managed.ExternalObservation{}, err
	}
	r := c.request(d.copied, d.merged)
	for field := range c.pending { // either of the two may be the present one
		delete(r.Secrets, field)
	}
	have, err := c.Get(ctx, c.Client, r)
	if is(c.system.IsNotFound, err) || err == nil && have == nil {
		return c.system.identify(c.Client, managed.ExternalObservation{}), nil
	}
	if err != nil {
		return managed.ExternalObservation{}, c.system.callError("get", c.noun, err)
	}
	c.have, c.outside = have, r.Outside
	if err := c.checkSecrets(ctx, r); err != nil {
		return managed.ExternalObservation{}, err
	}
	if *d.of.Observation(), err = c.observed(have); err != nil {
		return managed.ExternalObservation{}, failure.Terminal(fmt.Errorf("cannot convert the %s to status.atProvider: %w", c.noun, err))
	}
	return c.report(d)
}

// report describes the external resource in c.have: owner, state and differences. What is being deleted is not compared.
func (c *client[C, P, O, V]) report(d declaration[P, O]) (managed.ExternalObservation, error) {
	o := c.system.identify(c.Client, managed.ExternalObservation{
		ResourceExists: true, ResourceUpToDate: true,
		ConnectionDetails: objects.Union(c.connection(c.Client, c.have, d.of.Observation()), c.accepted),
	})
	if c.UniqueID != nil {
		o.ID = c.UniqueID(c.have)
	}
	if c.Describe != nil {
		o.Description = c.Describe(c.have)
	}
	labels, can := c.labelsOf(c.have)
	if can {
		o.Owner, o.OwnerNamespace = new(types.UID(labels[meta.ExternalLabelUID])), labels[meta.ExternalLabelNamespace]
	}
	state := c.setReady(d.of)
	if state == Deleting {
		return o, nil
	}
	if err := c.compare(d, labels, &o); err != nil {
		return o, err
	}
	if state == Failed {
		message := c.failureMessage()
		o.Failed = failure.ForTeam(failure.ExternalResourceFailed, message, errors.Join(errors.New(message), o.Failed))
	}
	return o, nil
}

func (c *client[C, P, O, V]) setReady(mg resource.Managed) State {
	state := Ready
	if c.States != nil {
		state = c.States[c.State(c.have)]
	}
	switch {
	case state == Ready && len(c.outside) > 0:
		mg.SetConditions(xpv1.Unavailable().WithMessage("The external resource was changed outside: see status.drift."))
	case state == Ready:
		mg.SetConditions(xpv1.Available())
		if b, ok := mg.(resource.BindableManaged); ok {
			resource.SetBindable(b)
		}
	case state == Creating:
		mg.SetConditions(xpv1.Creating())
	case state == Deleting:
		mg.SetConditions(xpv1.Deleting())
	case state == Failed:
		mg.SetConditions(xpv1.Unavailable().WithMessage(c.failureMessage()))
	}
	return state
}

func (c *client[C, P, O, V]) failureMessage() string {
	return cmp.Or(c.Message(c.have), fmt.Sprintf("The external system reports state %s without a message.", c.State(c.have)))
}

// compare late-initializes the parameters and lists the differences.
func (c *client[C, P, O, V]) compare(d declaration[P, O], labels map[string]string, o *managed.ExternalObservation) error {
	declared, err := c.declared(c.have)
	if err != nil {
		return failure.Terminal(fmt.Errorf("cannot read the settings of the %s: %w", c.noun, err))
	}
	observed, err := parameters.Tree(declared)
	if err != nil {
		return fmt.Errorf("cannot compare settings: %w", err)
	}
	returned := parameters.WithoutUnset(observed, d.desired, c.defaults, c.nullable...)
	rules := c.rules
	rules.Chosen = slices.Concat(rules.Chosen, c.notFilled(d.of.Parameters()))
	desired, filled := rules.Fill(d.desired, returned, d.initial)
	if o.ResourceLateInitialized = len(filled) > 0; o.ResourceLateInitialized {
		p, err := parameters.Typed[P](desired)
		if err != nil {
			return fmt.Errorf("cannot late-initialize settings: %w", err)
		}
		*d.of.Parameters() = p
	}
	observed = parameters.Overlay(returned, c.defaults)
	if c.labelsIn != nil || c.Labels != nil {
		at := strings.Split(cmp.Or(c.rules.Labels, "labels"), ".")
		if err := errors.Join(unstructured.SetNestedStringMap(desired, c.desiredLabels(d.of), at...),
			unstructured.SetNestedStringMap(observed, labels, at...)); err != nil {
			return fmt.Errorf("cannot compare labels: %w", err)
		}
	}
	c.changes = slices.Concat(rules.Differences(desired, observed, d.initial), c.outside, c.unapplied)
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

// notFilled are maps in which the user set anything, since a removed key would come back, unless others add to them, and
// immutable fields that are set, since the API server would refuse the change (R149, R151).
func (k *compiled[C, P, O, V]) notFilled(p *P) []string {
	var paths []string
	for _, f := range k.parameters {
		v, err := reflect.ValueOf(p).Elem().FieldByIndexErr(f.Indices)
		if err != nil {
			continue // in a struct that is nil
		}
		if v.Kind() == reflect.Map && v.Len() > 0 && !slices.Contains(k.rules.Extra, f.Path) ||
			slices.Contains(k.rules.Immutable, f.Path) && !v.IsZero() {
			paths = append(paths, f.Path)
		}
	}
	return paths
}

func (k *compiled[C, P, O, V]) findLabels() error {
	if k.rules.Labels == "" {
		return nil
	}
	for _, f := range k.parameters {
		if f.Path == k.rules.Labels && !f.Pointer && mapping.Holds[map[string]string](f.Type) {
			k.labelsIn = func(p *P) *map[string]string {
				field := reflect.ValueOf(p).Elem().FieldByIndex(f.Indices).Addr()
				labels, _ := field.Convert(reflect.TypeFor[*map[string]string]()).Interface().(*map[string]string)
				return labels
			}
			return nil
		}
	}
	return fmt.Errorf("there is no field %s for labels that is a map of strings to strings outside lists and pointers", k.rules.Labels)
}

func (k *compiled[C, P, O, V]) labelsOf(have *V) (labels map[string]string, can bool) {
	switch {
	case k.Labels != nil:
		return k.Labels(have), true
	case k.labelsIn != nil:
		declared, _ := k.declared(have) // compare reports what does not fit
		return *k.labelsIn(&declared), true
	}
	return nil, false
}

func (c *client[C, P, O, V]) ownershipLabels(mg resource.Managed) map[string]string {
	return meta.GetExternalLabels(mg, c.kind, resource.ProviderConfigName(mg))
}

func (c *client[C, P, O, V]) userLabels(p *P) map[string]string {
	if c.labelsIn == nil {
		return nil
	}
	return *c.labelsIn(p)
}

// desiredLabels are the user's labels and, where they can be updated, those of ownership (P15).
func (c *client[C, P, O, V]) desiredLabels(of Object[P, O]) map[string]string {
	if c.Kind.Update == nil || !of.GetManagementPolicies().Allow(xpv1.ManagementActionUpdate) {
		return c.userLabels(of.Parameters())
	}
	return objects.Union(c.userLabels(of.Parameters()), c.ownershipLabels(of))
}

// addLabels gives a request all labels that the external resource shall carry. Those that others put there are kept, but not the
// namespace of a former owner (N48).
func (c *client[C, P, O, V]) addLabels(r *Request[P, V], observed map[string]string) {
	if c.labelsIn == nil && c.Labels == nil {
		return
	}
	if observed[meta.ExternalLabelUID] != string(r.Object.GetUID()) {
		observed = maps.Clone(observed)
		delete(observed, meta.ExternalLabelNamespace)
	}
	r.Labels = objects.Union(observed, c.userLabels(&r.Parameters), c.ownershipLabels(r.Object))
	if c.labelsIn != nil {
		*c.labelsIn(&r.Parameters) = r.Labels
	}
}
