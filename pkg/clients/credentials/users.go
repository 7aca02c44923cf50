// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/internal/objects"
)

// SecretOf returns the Secret that spec.credentials of a ProviderConfig refers to. It is false if there is none, or if it is in
// a namespace that the ProviderConfig must not read.
func SecretOf(config client.Object) (name types.NamespacedName, ok bool, err error) {
	content, err := json.Marshal(config)
	if err != nil {
		return name, false, fmt.Errorf("reading spec.credentials: %w", err)
	}
	parsed := struct {
		Spec xpv1.ProviderSpec `json:"spec"`
	}{}
	if err := json.Unmarshal(content, &parsed); err != nil {
		return name, false, fmt.Errorf("reading spec.credentials: %w", err)
	}
	from := parsed.Spec.Credentials
	if from.Source != xpv1.CredentialsSourceSecret || from.SecretRef == nil {
		return name, false, nil
	}
	name = types.NamespacedName{Namespace: from.SecretRef.Namespace, Name: from.SecretRef.Name}
	foreign := config.GetNamespace() != "" && config.GetNamespace() != name.Namespace
	return name, name.Name != "" && name.Namespace != "" && !foreign, nil
}

// Users returns the ProviderConfigs of a kind whose credentials are in a Secret.
func Users(ctx context.Context, c client.Client, kind schema.GroupVersionKind, secret types.NamespacedName) (users []client.Object, err error) {
	list := objects.MustNewList[client.ObjectList](c.Scheme(), kind)
	if err := c.List(ctx, list); err != nil {
		return nil, fmt.Errorf("listing %s: %w", kind.GroupKind(), err)
	}
	err = meta.EachListItem(list, func(item runtime.Object) error {
		config := item.(client.Object)
		name, ok, err := SecretOf(config)
		if ok && name == secret {
			users = append(users, config)
		}
		return err
	})
	return users, err
}
