// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/favouritecloud/sdk"
	"github.com/bowline-dev/bowline/pkg/credentials"
	"github.com/bowline-dev/bowline/pkg/limits"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
	namespacedv1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/namespaced/v1alpha3"
	"github.com/bowline-dev/bowline/providers/fcp/apis/v1alpha3"
)

// callTimeout bounds one call to the cloud.
const callTimeout = 10 * time.Second

// clouds makes clients of the favourite cloud as provider configurations say. All share one pool of connections, and the
// users of one configuration its limits.
type clouds struct {
	kube      client.Reader
	secrets   *credentials.Secrets
	transport http.RoundTripper
	limits    *limits.Registry
}

// newTransport returns a pool of connections for as many calls at once as there are workers.
func newTransport() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConnsPerHost = 2 * concurrency
	return t
}

// A cloud is the favourite cloud as the users of one provider configuration reach it. The external clients of all kinds
// embed it.
type cloud struct {
	sdk  *sdk.Client
	poll time.Duration
}

// PollInterval is how often the provider configuration wants its users' external resources to be looked at.
func (c cloud) PollInterval() time.Duration { return c.poll }

// A connecter makes external clients of one kind (A53).
type connecter[T resource.Managed] struct {
	clouds *clouds
	client func(cloud) managed.TypedExternalClient[T]
}

func (c connecter[T]) Connect(ctx context.Context, mg T) (managed.TypedExternalClient[T], error) {
	cloud, err := c.clouds.of(ctx, mg)
	if err != nil {
		return nil, err
	}
	return c.client(cloud), nil
}

// of returns the cloud as the managed resource reaches it (R227, R228, N2).
func (c *clouds) of(ctx context.Context, mg resource.Managed) (cloud, error) {
	config, name := configOf(mg)
	if err := c.kube.Get(ctx, client.ObjectKeyFromObject(config), config); err != nil {
		return cloud{}, fmt.Errorf("cannot get %s: %w", name, err)
	}
	settings := config.Settings()
	key, err := c.secrets.ExtractWithin(ctx, config.GetNamespace(), settings.Credentials)
	if err != nil {
		return cloud{}, fmt.Errorf("cannot get credentials of %s: %w", name, err)
	}
	reached := cloud{}
	if settings.PollInterval != nil {
		reached.poll = settings.PollInterval.Duration
	}
	reached.sdk, err = sdk.NewClient(sdk.Config{
		Endpoint: settings.Endpoint,
		Project:  settings.ProjectID,
		APIKey:   strings.TrimSpace(string(key)),
		HTTPClient: &http.Client{
			Timeout:   callTimeout,
			Transport: c.limits.For(limitsOf(config), limits.FromSpec(settings.Limits)).Transport(c.transport),
		},
	})
	if err != nil {
		return cloud{}, fmt.Errorf("cannot create client of %s: %w", name, err)
	}
	return reached, nil
}

// A config is a provider configuration of any kind.
type config interface {
	resource.ProviderConfig
	Settings() v1alpha3.ProviderConfigSpec
}

// limitsOf identifies the limits that the users of a provider configuration share.
func limitsOf(of client.Object) limits.Key {
	kind := xpv1.ProviderConfigKind
	if _, ok := of.(*namespacedv1alpha3.ClusterProviderConfig); ok {
		kind = xpv1.ClusterProviderConfigKind
	}
	return limits.Key{Kind: kind, Namespace: of.GetNamespace(), Name: of.GetName()}
}

// configOf returns the empty provider configuration that the managed resource uses, and how messages name it.
func configOf(mg resource.Managed) (of config, name string) {
	meta := metav1.ObjectMeta{Name: resource.ProviderConfigName(mg)}
	kind := resource.ProviderConfigKind(mg)
	switch {
	case mg.GetNamespace() == "":
		of = &v1alpha3.ProviderConfig{ObjectMeta: meta}
	case kind == xpv1.ClusterProviderConfigKind:
		of = &namespacedv1alpha3.ClusterProviderConfig{ObjectMeta: meta}
	default:
		meta.Namespace = mg.GetNamespace()
		of = &namespacedv1alpha3.ProviderConfig{ObjectMeta: meta}
	}
	return of, fmt.Sprintf("%s %q", kind, meta.Name)
}
