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

// An operation is something that the controllers are made to do.
type operation struct {
	name string
	// write changes the object before it is created; nil for as the kind declares it.
	write func(context.Context, *try) error
	// existing operations begin with an object that was created and settled in good health.
	existing bool
	// begin is what a person or the outside world does, while no process runs.
	begin func(context.Context, *try) error
	// history is what else happens in good health to what exists, before the operation begins; nil for nothing.
	history func(context.Context, *try) error
	// meanwhile is what happens once cue returns nil, or the process is dead; nil for nothing. No cue is that the object says
	// that it cannot be reconciled.
	meanwhile func(context.Context, *try) error
	cue       func(*try, context.Context) error
	// done returns nil when all is as the operation leaves it. No done is that all is Ready as last declared, or gone.
	done func(*try, context.Context) error
	// gone operations end with neither object nor external resource, still ones never have any.
	gone, still bool
	// configs operations are about provider configurations, too; others leave their protection out of account.
	configs bool
}

func (k kind) operations() []operation {
	if k.claims != nil {
		return k.more
	}
	common := []operation{
		{name: "create", begin: create},
		{name: "update", existing: true, begin: func(ctx context.Context, t *try) error {
			before := t.object.DeepCopyObject().(client.Object)
			k.change(t.object)
			return t.site.client.Patch(ctx, t.object, client.MergeFrom(before))
		}},
		{name: "recreate", existing: true, begin: func(ctx context.Context, t *try) error { return t.site.project.empty(ctx) }},
		{name: "delete", existing: true, gone: true, begin: func(ctx context.Context, t *try) error {
			return t.site.client.Delete(ctx, t.object)
		}},
	}
	return append(common, k.more...)
}

// create creates the claim, if the try has one by then, or the object.
func create(ctx context.Context, t *try) error {
	if t.claim != nil {
		return t.site.client.Create(ctx, t.claim)
	}
	return t.site.client.Create(ctx, t.object)
}

// withParent are the operations on an object that refers to another: it is created before the other, and deleted together
// with it.
func withParent(of kind, refer func(mg resource.Managed, parent string)) []operation {
	const name = "parent"
	createParent := func(ctx context.Context, t *try) error {
		return t.site.client.Create(ctx, of.declare(t.site, t.site.meta(name)))
	}
	return []operation{
		{
			name:      "resolve",
			write:     func(_ context.Context, t *try) error { refer(t.object, name); return nil },
			begin:     create,
			meanwhile: createParent,
		},
		{
			name:     "delete-with-parent",
			existing: true,
			gone:     true,
			write: func(ctx context.Context, t *try) error {
				refer(t.object, name)
				return createParent(ctx, t)
			},
			begin: func(ctx context.Context, t *try) error {
				parent := of.declare(t.site, t.site.meta(name))
				return errors.Join(t.site.client.Delete(ctx, parent), t.site.client.Delete(ctx, t.object))
			},
		},
	}
}

// withConfig are the operations on an object and its provider configuration: it is protected as soon as it has a user, and
// deleted together with the user it must not go first.
func withConfig() []operation {
	return []operation{
		{name: "create-with-config", begin: create, configs: true},
		{name: "delete-with-config", existing: true, gone: true, configs: true, begin: func(ctx context.Context, t *try) error {
			for _, o := range append(t.site.configurations(), t.object) {
				if err := t.site.client.Delete(ctx, o); err != nil {
					return err
				}
			}
			return nil
		}},
	}
}

// withPassword are the operations on a server whose password a person chose: its creation, and another choice.
func withPassword(refer func(mg resource.Managed, password *xpv1.SecretKeySelector)) []operation {
	choose := func(ctx context.Context, t *try) error {
		t.password = "the first password"
		refer(t.object, &xpv1.SecretKeySelector{Namespace: t.site.namespace, Name: passwordSecret, Key: passwordSecret})
		return t.site.client.Create(ctx, t.passwordSecret())
	}
	return []operation{
		{name: "create-with-password", write: choose, begin: create},
		{name: "rotate", write: choose, existing: true, begin: func(ctx context.Context, t *try) error {
			t.password = "the second password"
			return t.site.client.Update(ctx, t.passwordSecret())
		}},
	}
}

func (t *try) passwordSecret() *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: t.site.namespace, Name: passwordSecret},
		StringData: map[string]string{passwordSecret: t.password},
	}
}
