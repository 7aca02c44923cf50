// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bowline-dev/bowline/favouritecloud/sdk"
	"github.com/bowline-dev/bowline/pkg/credentials"
	"github.com/bowline-dev/bowline/providers/fcp/apis/v1alpha3"
)

// callTimeout bounds one call to the cloud.
const callTimeout = 10 * time.Second

// clouds makes clients of the favourite cloud for ProviderConfigs. All share one pool of connections.
type clouds struct {
	kube    client.Reader
	secrets *credentials.Secrets
	http    *http.Client
}

// of returns a client for the ProviderConfig of the given name.
func (c *clouds) of(ctx context.Context, name string) (*sdk.Client, error) {
	config := &v1alpha3.ProviderConfig{}
	if err := c.kube.Get(ctx, types.NamespacedName{Name: name}, config); err != nil {
		return nil, fmt.Errorf("cannot get ProviderConfig %q: %w", name, err)
	}
	key, err := c.secrets.Extract(ctx, config.Spec.Credentials)
	if err != nil {
		return nil, fmt.Errorf("cannot get credentials of ProviderConfig %q: %w", name, err)
	}
	cloud, err := sdk.NewClient(sdk.Config{
		Endpoint:   config.Spec.Endpoint,
		Project:    config.Spec.ProjectID,
		APIKey:     strings.TrimSpace(string(key)),
		HTTPClient: c.http,
	})
	if err != nil {
		return nil, fmt.Errorf("cannot create client of ProviderConfig %q: %w", name, err)
	}
	return cloud, nil
}

// configsUsing returns the names of the ProviderConfigs whose credentials are in the given Secret.
func (c *clouds) configsUsing(ctx context.Context, secret types.NamespacedName) ([]string, error) {
	list := &v1alpha3.ProviderConfigList{}
	if err := c.kube.List(ctx, list); err != nil {
		return nil, fmt.Errorf("listing provider configs: %w", err)
	}
	var names []string
	for _, config := range list.Items {
		ref := config.Spec.Credentials.SecretRef
		if ref != nil && ref.Namespace == secret.Namespace && ref.Name == secret.Name {
			names = append(names, config.Name)
		}
	}
	return names, nil
}
