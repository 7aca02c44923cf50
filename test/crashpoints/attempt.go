// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/testkit"
	"github.com/bowline-dev/bowline/internal/testkit/fault"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// patience is how long an operation may take, and how long its recovery.
const patience = time.Minute

// An attempt is one run of an operation at an empty site, by a process with a fault.
type attempt struct {
	site      *site
	kind      kind
	operation operation
	process   *fault.Process

	claim    resource.Claim // of operations on claims
	object   resource.Managed
	password string // of the user, if any
}

// run runs the operation in the process and, if that crashes, finishes it in another one. Violations are what is wrong at the end; an
// error is a failure of this program.
func (t *attempt) run(ctx context.Context) (found []violation, err error) {
	if err := t.prepare(ctx); err != nil {
		return nil, fmt.Errorf("preparing: %w", err)
	}
	if err := t.operation.begin(ctx, t); err != nil {
		return nil, fmt.Errorf("beginning: %w", err)
	}
	why, err := t.with(ctx, t.process, true)
	if err != nil {
		return nil, err
	}
	if t.process.Kind == "" || why != nil { // a process that survives its fault has to finish
		return t.check(ctx, why)
	}
	why, err = t.with(ctx, &fault.Process{}, false)
	if err != nil {
		return nil, err
	}
	return t.check(ctx, why)
}

// prepare creates what the operation begins with.
func (t *attempt) prepare(ctx context.Context) error {
	for _, o := range t.site.configurations() {
		if err := t.site.client.Create(ctx, o); err != nil {
			return err
		}
	}
	t.process.Overtake = func() error { return t.overtake(ctx) }
	t.object = t.declared()
	if t.operation.write != nil {
		if err := t.operation.write(ctx, t); err != nil {
			return err
		}
	}
	if !t.operation.existing {
		return nil
	}
	if err := create(ctx, t); err != nil {
		return err
	}
	p, err := t.start(ctx, &fault.Process{})
	if err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err = testkit.Poll(limited, func() error { return t.settled(limited) })
	if before := t.operation.before; err == nil && before != nil {
		err = before(limited, t)
	}
	return errors.Join(err, p.stop())
}

func (t *attempt) declared() resource.Managed { return t.kind.declare(t.site, t.site.meta("object")) }

// overtake writes to all objects and claims as another client.
func (t *attempt) overtake(ctx context.Context) error {
	touch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"example.org/touched":"yes"}}}`))
	objects, err := t.site.objects(ctx)
	if err != nil {
		return err
	}
	claims, err := t.site.claims(ctx)
	for _, o := range objects {
		err = errors.Join(err, client.IgnoreNotFound(t.site.client.Patch(ctx, o, touch)))
	}
	for _, c := range claims {
		err = errors.Join(err, client.IgnoreNotFound(t.site.client.Patch(ctx, c, touch)))
	}
	return err
}

// with runs a process until it has crashed, or the operation is done and the process idle. why is the reason if that takes too long.
func (t *attempt) with(ctx context.Context, process *fault.Process, first bool) (why, err error) {
	p, err := t.start(ctx, process)
	if err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if during := t.operation.during; first && during != nil {
		why = testkit.Poll(limited, func() error { return t.cueReached(limited) })
		err = during(ctx, t)
	}
	if err == nil && why == nil {
		why = testkit.Poll(limited, func() error { return t.idle(limited, process) })
	}
	if why != nil {
		why = cmp.Or(t.done(ctx), why) // the state explains more than that the controllers are not idle
	}
	if ctx.Err() != nil {
		err = errors.Join(err, context.Cause(ctx))
	}
	return why, errors.Join(err, p.stop())
}

// cueReached returns nil once it is time for the second event, or the process has crashed.
func (t *attempt) cueReached(ctx context.Context) error {
	if t.process.Finished() {
		return nil
	}
	if t.operation.cue != nil {
		return t.operation.cue(t, ctx)
	}
	if err := t.read(ctx); err != nil {
		return err
	}
	if t.object.GetCondition(xpv1.TypeSynced).Status != corev1.ConditionFalse {
		return errors.New("the object is Synced")
	}
	return nil
}

// idle returns nil once a process has crashed, or is done and has observed everything again without a change.
func (t *attempt) idle(ctx context.Context, process *fault.Process) error {
	if process.Finished() {
		return nil
	}
	isIdle := process.Polled
	if t.operation.deletes || t.operation.noExternal {
		isIdle = func() bool { return process.Silent(5 * pollInterval) }
	}
	if !isIdle() { // checked first, since it is cheap
		return errors.New("the controllers are not idle: " + process.String())
	}
	return t.done(ctx)
}

// done returns nil once the operation has its result.
func (t *attempt) done(ctx context.Context) error {
	switch {
	case t.operation.done != nil:
		return t.operation.done(t, ctx)
	case t.operation.deletes:
		return t.allDeleted(ctx)
	}
	return t.settled(ctx)
}

func (t *attempt) read(ctx context.Context) error {
	return t.site.client.Get(ctx, client.ObjectKeyFromObject(t.object), t.object)
}

// settled returns nil if all objects are healthy, and the claim, if there is one, is bound to one of them.
func (t *attempt) settled(ctx context.Context) error {
	if t.claim != nil {
		if err := t.bound(ctx); err != nil {
			return err
		}
	}
	return t.healthy(ctx)
}

// healthy returns nil if all objects are Ready as declared, and the external resource is as the object declares.
func (t *attempt) healthy(ctx context.Context) error {
	objects, err := t.site.objects(ctx)
	if err != nil {
		return err
	}
	for _, o := range objects {
		if err := isReady(o); err != nil {
			return fmt.Errorf("%s: %w", o.GetName(), err)
		}
	}
	if err := t.read(ctx); err != nil {
		return err
	}
	if err := t.protected(ctx); err != nil {
		return err
	}
	all, err := t.site.project.all(ctx)
	if err != nil {
		return err
	}
	want := t.kind.setting(t.object)
	for _, e := range all {
		if e.Owner == t.object.GetUID() && !e.Deleting && e.Setting == want {
			return nil
		}
	}
	return fmt.Errorf("the object is Ready and Synced, but has no external resource with %q: %s", want, list(all))
}

// interrupted is true for an object that needs manual intervention after an interrupted create.
func interrupted(o resource.Managed) bool {
	return xpv1.FailureOf(o).Reason == failure.CreateInterrupted
}

func isReady(o resource.Managed) error {
	ready, synced := o.GetCondition(xpv1.TypeReady), o.GetCondition(xpv1.TypeSynced)
	switch {
	case interrupted(o):
		return errNeedsHuman
	case ready.Status == corev1.ConditionTrue && synced.Status == corev1.ConditionTrue && synced.ObservedGeneration == o.GetGeneration():
		return nil
	}
	return fmt.Errorf("generation %d; Ready: %s %s; Synced for generation %d: %s %s", o.GetGeneration(), ready.Reason, ready.Message,
		synced.ObservedGeneration, synced.Reason, synced.Message)
}

// allDeleted returns nil if all objects are deleted.
func (t *attempt) allDeleted(ctx context.Context) error {
	objects, err := t.site.objects(ctx)
	if err != nil {
		return err
	}
	var left []error
	for _, o := range objects {
		synced := o.GetCondition(xpv1.TypeSynced)
		if interrupted(o) {
			return errNeedsHuman
		}
		left = append(left, fmt.Errorf("%s is not deleted; Synced: %s %s", o.GetName(), synced.Reason, synced.Message))
	}
	if len(left) > 0 {
		return errors.Join(left...)
	}
	if t.claim != nil {
		return t.claimDeleted(ctx)
	}
	if !t.operation.configs {
		return nil
	}
	for _, o := range t.site.configurations() {
		if err := t.site.client.Get(ctx, client.ObjectKeyFromObject(o), o); !apierrors.IsNotFound(err) {
			return fmt.Errorf("%T %s is not deleted: %v, finalizers %v", o, o.GetName(), err, o.GetFinalizers())
		}
	}
	return nil
}

// protected returns nil if the provider configuration of the object, and its Secret, cannot be deleted before the object.
func (t *attempt) protected(ctx context.Context) error {
	if !t.operation.configs {
		return nil
	}
	var held int
	for _, o := range t.site.configurations() {
		if err := t.site.client.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
			return err
		}
		config, counts := o.(resource.ProviderConfig)
		if len(o.GetFinalizers()) > 0 && (!counts || config.GetUsers() == 1) {
			held++
		}
	}
	if held != 2 {
		return fmt.Errorf("%d of a provider configuration and its Secret are protected", held)
	}
	return nil
}
