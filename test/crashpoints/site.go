// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/bowline-dev/bowline/apis/cache/v1alpha1"
	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	databasev1alpha1 "github.com/bowline-dev/bowline/apis/database/v1alpha1"
	"github.com/bowline-dev/bowline/internal/testkit/fault"
	"github.com/bowline-dev/bowline/pkg/core"
	"github.com/bowline-dev/bowline/pkg/resource"
	"github.com/bowline-dev/bowline/providers/fcp"
	cachev1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/cache/v1alpha3"
	databasev1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/database/v1alpha3"
	computev1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/namespaced/compute/v1alpha3"
	namespacednetworkv1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/namespaced/network/v1alpha3"
	namespacedv1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/namespaced/v1alpha3"
	networkv1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/network/v1alpha3"
	"github.com/bowline-dev/bowline/providers/fcp/apis/v1alpha3"
)

// siteLabel marks a site's objects with its namespace.
const siteLabel = "bowline.dev/crashpoints"

// A site is where one attempt at a time runs: a namespace, a project in the cloud, and provider configurations of it, all with the
// same name.
type site struct {
	config    *rest.Config
	client    client.Client
	namespace string
	project   *project
	proxy     *fault.Proxy
}

// newSite creates a site on an API server with the provider's kinds.
func newSite(ctx context.Context, config *rest.Config, c *cloud) (s *site, err error) {
	scheme := runtime.NewScheme()
	err = errors.Join(clientgoscheme.AddToScheme(scheme), core.Provider().AddToScheme(scheme), fcp.Provider().AddToScheme(scheme))
	if err != nil {
		return nil, err
	}
	s = &site{config: rest.CopyConfig(config)}
	s.config.QPS, s.config.WarningHandlerWithContext = -1, rest.NoWarnings{}
	if s.client, err = client.New(s.config, client.Options{Scheme: scheme}); err != nil {
		return nil, err
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "crash-"}}
	if err := s.client.Create(ctx, namespace); err != nil {
		return nil, err
	}
	s.namespace = namespace.Name
	if s.project, err = c.newProject(ctx, s.namespace); err != nil {
		return nil, err
	}
	if s.proxy, err = fault.NewProxy(c.endpoint, fault.CloudRequest); err != nil {
		return nil, err
	}
	return s, nil
}

// configurations returns provider configurations of both scopes, and the Secret with the key of the project.
func (s *site) configurations() []client.Object {
	spec := v1alpha3.ProviderConfigSpec{ProjectID: s.project.name, Endpoint: s.proxy.URL()}
	spec.Credentials = xpv1.ProviderCredentials{
		Source:    xpv1.CredentialsSourceSecret,
		SecretRef: &xpv1.SecretKeySelector{Namespace: s.namespace, Name: keySecret, Key: keySecret},
	}
	named := metav1.ObjectMeta{Name: s.namespace}
	return []client.Object{
		&corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: keySecret},
			StringData: map[string]string{keySecret: s.project.key},
		},
		&v1alpha3.ProviderConfig{ObjectMeta: named, Spec: spec},
		&namespacedv1alpha3.ClusterProviderConfig{ObjectMeta: named, Spec: spec},
	}
}

func (s *site) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Labels: map[string]string{siteLabel: s.namespace}}
}

// objects lists all managed resources of the site.
func (s *site) objects(ctx context.Context) (all []resource.Managed, err error) {
	return listed[resource.Managed](ctx, s,
		&databasev1alpha3.FavouriteDBInstanceList{}, &cachev1alpha3.CacheInstanceList{}, &networkv1alpha3.NetworkList{},
		&namespacednetworkv1alpha3.NetworkList{}, &namespacednetworkv1alpha3.SubnetList{}, &computev1alpha3.NodeGroupList{})
}

// claims lists all claims of the site.
func (s *site) claims(ctx context.Context) ([]resource.Claim, error) {
	return listed[resource.Claim](ctx, s, &cachev1alpha1.RedisClusterList{}, &databasev1alpha1.PostgreSQLInstanceList{})
}

// listed returns the objects of the site of these kinds.
func listed[T client.Object](ctx context.Context, s *site, kinds ...client.ObjectList) (all []T, err error) {
	for _, list := range kinds {
		if err := s.client.List(ctx, list, client.MatchingLabels{siteLabel: s.namespace}); err != nil {
			return nil, err
		}
		err := apimeta.EachListItem(list, func(o runtime.Object) error {
			all = append(all, o.(T))
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// cleanUpTime limits the clean-up after an attempt.
const cleanUpTime = time.Minute

// clear deletes all objects, Secrets and external resources in any state. No process may run.
func (s *site) clear(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUpTime)
	defer cancel()
	all, err := s.everything(ctx)
	if err != nil {
		return fmt.Errorf("cleaning up: %w", err)
	}
	release := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
	for _, o := range all {
		if err := client.IgnoreNotFound(s.client.Patch(ctx, o, release)); err != nil {
			return fmt.Errorf("cleaning up: %w", err)
		}
		if err := client.IgnoreNotFound(s.client.Delete(ctx, o)); err != nil {
			return fmt.Errorf("cleaning up: %w", err)
		}
	}
	if err := s.project.empty(ctx); err != nil {
		return fmt.Errorf("cleaning up: %w", err)
	}
	return nil
}

// everything returns all that an attempt may leave on the API server, claims first.
func (s *site) everything(ctx context.Context) (all []client.Object, err error) {
	claims, claimsErr := s.claims(ctx)
	for _, c := range claims {
		all = append(all, c)
	}
	classes, classesErr := listed[resource.Class](ctx, s,
		&cachev1alpha3.CacheInstanceClassList{}, &databasev1alpha3.FavouriteDBInstanceClassList{})
	for _, c := range classes {
		all = append(all, c)
	}
	objects, objectsErr := s.objects(ctx)
	for _, o := range objects {
		all = append(all, o)
	}
	secrets := &corev1.SecretList{}
	secretsErr := s.client.List(ctx, secrets, client.InNamespace(s.namespace))
	for i := range secrets.Items {
		all = append(all, &secrets.Items[i])
	}
	return append(all, s.configurations()...), errors.Join(claimsErr, classesErr, objectsErr, secretsErr)
}

// close deletes the site from the API server. The project stays in the cloud.
func (s *site) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUpTime)
	defer cancel()
	s.proxy.Close()
	err := s.clear(ctx)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.namespace}}
	return errors.Join(err, s.client.Delete(ctx, namespace))
}
