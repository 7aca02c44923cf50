// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// An operation is an event that the controllers react to, and its result.
type operation struct {
	name string
	// write changes the declared object before it is created. Optional.
	write func(context.Context, *attempt) error
	// existing operations begin with an object that is ready.
	existing bool
	// begin is the event. No process runs then.
	begin func(context.Context, *attempt) error
	// before is what happens to the existing object before the operation, without a fault. Optional.
	before func(context.Context, *attempt) error
	// during is a second event, once cue returns nil or the process has crashed. Optional. Default cue: the object is not Synced.
	during func(context.Context, *attempt) error
	cue    func(*attempt, context.Context) error
	// done returns nil when the operation has its result. Default: all objects are Ready as declared, or deleted.
	done func(*attempt, context.Context) error
	// deletes is true if neither object nor external resource remains, noExternal if there never is an external resource.
	deletes, noExternal bool
	// configs is true if requests that protect provider configurations are points.
	configs bool
}

func (k kind) operations() []operation {
	if k.claims != nil {
		return k.more
	}
	common := []operation{
		{name: "create", begin: create},
		{name: "update", existing: true, begin: func(ctx context.Context, t *attempt) error {
			before := t.object.DeepCopyObject().(client.Object)
			k.change(t.object)
			return t.site.client.Patch(ctx, t.object, client.MergeFrom(before))
		}},
		{name: "recreate", existing: true, begin: func(ctx context.Context, t *attempt) error { return t.site.project.empty(ctx) }},
		{name: "delete", existing: true, deletes: true, begin: func(ctx context.Context, t *attempt) error {
			return t.site.client.Delete(ctx, t.object)
		}},
	}
	return append(common, k.more...)
}

// create creates the claim, if there is one, or the object.
func create(ctx context.Context, t *attempt) error {
	if t.claim != nil {
		return t.site.client.Create(ctx, t.claim)
	}
	return t.site.client.Create(ctx, t.object)
}

// withParent returns the operations on an object that refers to another: creation before the other, and deletion together with it.
func withParent(of kind, refer func(mg resource.Managed, parent string)) []operation {
	const name = "parent"
	createParent := func(ctx context.Context, t *attempt) error {
		return t.site.client.Create(ctx, of.declare(t.site, t.site.meta(name)))
	}
	return []operation{
		{
			name:   "resolve",
			write:  func(_ context.Context, t *attempt) error { refer(t.object, name); return nil },
			begin:  create,
			during: createParent,
		},
		{
			name:     "delete-with-parent",
			existing: true,
			deletes:  true,
			write: func(ctx context.Context, t *attempt) error {
				refer(t.object, name)
				return createParent(ctx, t)
			},
			begin: func(ctx context.Context, t *attempt) error {
				parent := of.declare(t.site, t.site.meta(name))
				return errors.Join(t.site.client.Delete(ctx, parent), t.site.client.Delete(ctx, t.object))
			},
		},
	}
}

// withConfig returns the operations on an object and its provider configuration, which is protected while it has users: when both
// are deleted, it is deleted last.
func withConfig() []operation {
	return []operation{
		{name: "create-with-config", begin: create, configs: true},
		{name: "delete-with-config", existing: true, deletes: true, configs: true, begin: func(ctx context.Context, t *attempt) error {
			for _, o := range append(t.site.configurations(), t.object) {
				if err := t.site.client.Delete(ctx, o); err != nil {
					return err
				}
			}
			return nil
		}},
	}
}

// withPassword returns the operations on a server with a password of the user: its creation, and a change of the password.
func withPassword(refer func(mg resource.Managed, password *xpv1.SecretKeySelector)) []operation {
	choose := func(ctx context.Context, t *attempt) error {
		t.password = "the first password"
		refer(t.object, &xpv1.SecretKeySelector{Namespace: t.site.namespace, Name: passwordSecret, Key: passwordSecret})
		return t.site.client.Create(ctx, t.passwordSecret())
	}
	return []operation{
		{name: "create-with-password", write: choose, begin: create},
		{name: "rotate", write: choose, existing: true, begin: func(ctx context.Context, t *attempt) error {
			t.password = "the second password"
			return t.site.client.Update(ctx, t.passwordSecret())
		}},
	}
}

func (t *attempt) passwordSecret() *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: t.site.namespace, Name: passwordSecret},
		StringData: map[string]string{passwordSecret: t.password},
	}
}
