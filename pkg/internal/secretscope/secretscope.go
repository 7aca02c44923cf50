// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package secretscope makes controllers work with the right to use Secrets in some namespaces only.
package secretscope

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Limit makes a manager watch Secrets in these namespaces, and refuse to read others, as the API server does. Secrets must be among
// the cache's ByObject.
func Limit(o *ctrl.Options, namespaces ...string) {
	for object, by := range o.Cache.ByObject {
		if _, ok := object.(*corev1.Secret); ok {
			by.Namespaces = map[string]cache.Config{}
			for _, namespace := range namespaces {
				by.Namespaces[namespace] = cache.Config{FieldSelector: by.Field}
			}
			o.Cache.ByObject[object] = by
		}
	}
	newClient := o.NewClient
	if newClient == nil {
		newClient = client.New
	}
	o.NewClient = func(config *rest.Config, options client.Options) (client.Client, error) {
		c, err := newClient(config, options)
		return limited{c, namespaces}, err
	}
}

type limited struct {
	client.Client
	namespaces []string
}

// Get reads an object, of Secrets those that are watched.
func (c limited) Get(ctx context.Context, key client.ObjectKey, into client.Object, o ...client.GetOption) error {
	if _, ok := into.(*corev1.Secret); ok && !slices.Contains(c.namespaces, key.Namespace) {
		return apierrors.NewForbidden(corev1.Resource("secrets"), key.Name, fmt.Errorf(
			"the controllers may use Secrets in the namespaces %s only, not in %s (--secret-namespaces)", strings.Join(c.namespaces, ", "), key.Namespace))
	}
	return c.Client.Get(ctx, key, into, o...)
}
