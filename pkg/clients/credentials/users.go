// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/internal/objects"
)

// SpecOf returns the spec of a ProviderConfig of any Go type: all of it as JSON, and the part that every one has.
func SpecOf(config client.Object) (common xpv1.ProviderSpec, spec json.RawMessage, err error) {
	content, err := json.Marshal(config)
	if err != nil {
		return common, nil, fmt.Errorf("reading spec: %w", err)
	}
	parsed := struct {
		Spec json.RawMessage `json:"spec"`
	}{}
	if err := errors.Join(json.Unmarshal(content, &parsed), json.Unmarshal(parsed.Spec, &common)); err != nil {
		return common, nil, fmt.Errorf("reading spec: %w", err)
	}
	return common, parsed.Spec, nil
}

// SecretOf returns the Secret that spec.credentials of a ProviderConfig refers to. It is false if there is none, or if it is in
// a namespace that the ProviderConfig must not read.
func SecretOf(config client.Object) (name types.NamespacedName, ok bool, err error) {
	spec, _, err := SpecOf(config)
	if err != nil {
		return name, false, err
	}
	from := spec.Credentials
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
