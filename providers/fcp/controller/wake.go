// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"slices"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/bowline-dev/bowline/pkg/limits"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	namespacedv1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/namespaced/v1alpha3"
	"github.com/bowline-dev/bowline/providers/fcp/apis/v1alpha3"
)

// A scope is which kinds of provider configurations the managed kinds of one scope use (N2).
type scope []configKind

type configKind struct {
	object config
	list   client.ObjectList
}

func clusterScope() scope {
	return scope{{&v1alpha3.ProviderConfig{}, &v1alpha3.ProviderConfigList{}}}
}

func namespacedScope() scope {
	return scope{
		{&namespacedv1alpha3.ClusterProviderConfig{}, &namespacedv1alpha3.ClusterProviderConfigList{}},
		{&namespacedv1alpha3.ProviderConfig{}, &namespacedv1alpha3.ProviderConfigList{}},
	}
}

// A waker finds the objects of one kind that have to look again because what they connect with changed.
type waker struct {
	kube       client.Reader
	limits     *limits.Registry
	scope      scope
	reconciler *managed.Reconciler
	log        logr.Logger
}

// whenConfigChanges reconciles the users of a provider configuration that changed.
func (w waker) whenConfigChanges() handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(w.users)
}

// whenSecretChanges reconciles the users of all provider configurations whose credentials changed.
func (w waker) whenSecretChanges(onChange func(func(types.NamespacedName))) source.Source {
	return source.Func(func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		onChange(func(secret types.NamespacedName) {
			configs, err := w.configsWith(ctx, secret)
			if err != nil {
				w.log.Error(err, "Cannot find the provider configurations of a Secret", "secret", secret)
			}
			for _, config := range configs {
				for _, user := range w.users(ctx, config) {
					queue.Add(user)
				}
			}
		})
		return nil
	})
}

// users returns the users of a provider configuration that changed, and perhaps some of another kind's of the same name.
// What the cloud said to them before no longer counts.
func (w waker) users(ctx context.Context, config client.Object) []reconcile.Request {
	w.limits.Reset(limitsOf(config))
	users, err := w.reconciler.Users(ctx, config.GetName())
	if err != nil {
		w.log.Error(err, "Cannot find the users of a provider configuration", "name", config.GetName())
	}
	if config.GetNamespace() == "" {
		return users
	}
	return slices.DeleteFunc(users, func(user reconcile.Request) bool { return user.Namespace != config.GetNamespace() })
}

// configsWith returns the provider configurations whose credentials are in the given Secret.
func (w waker) configsWith(ctx context.Context, secret types.NamespacedName) ([]client.Object, error) {
	var with []client.Object
	for _, kind := range w.scope {
		list := kind.list.DeepCopyObject().(client.ObjectList)
		if err := w.kube.List(ctx, list); err != nil {
			return with, fmt.Errorf("listing provider configurations: %w", err)
		}
		err := meta.EachListItem(list, func(item runtime.Object) error {
			config := item.(config)
			ref := config.Settings().Credentials.SecretRef
			if ref != nil && ref.Namespace == secret.Namespace && ref.Name == secret.Name {
				with = append(with, config)
			}
			return nil
		})
		if err != nil {
			return with, err
		}
	}
	return with, nil
}
