// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package worked_test

import (
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
	"github.com/bowline-dev/bowline/providers/fcp/apis/database/v1alpha3"
	fcpv1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/v1alpha3"
	"github.com/bowline-dev/bowline/test/worked/database"
)

type FavouriteDBInstanceController struct{}

func (c *FavouriteDBInstanceController) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named(strings.ToLower(fmt.Sprintf("%s.%s", v1alpha3.FavouriteDBInstanceKind, v1alpha3.Group))).
		For(&v1alpha3.FavouriteDBInstance{}).
		Complete(managed.NewReconciler(mgr,
			resource.ManagedKind(v1alpha3.FavouriteDBInstanceGroupVersionKind),
			managed.WithExternalConnecter(&connecter{client: mgr.GetClient()})))
}

// Connecter satisfies managed.ExternalConnecter.
type connecter struct{ client client.Client }

func (c *connecter) Connect(ctx context.Context, mg resource.Managed) (managed.ExternalClient, error) {
	i, ok := mg.(*v1alpha3.FavouriteDBInstance)
	if !ok {
		return nil, errors.New("managed resource is not a FavouriteDBInstance")
	}

	// The provider is cluster-scoped, so the Secret's namespace is a part of the reference; and no
	// client is returned with an error.
	p := &fcpv1alpha3.ProviderConfig{}
	if err := c.client.Get(ctx, types.NamespacedName{Name: i.Spec.ProviderConfigReference.Name}, p); err != nil {
		return nil, fmt.Errorf("cannot get Provider: %w", err)
	}

	s := &corev1.Secret{}
	ref := p.Spec.Credentials.SecretRef
	if err := c.client.Get(ctx, types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}, s); err != nil {
		return nil, fmt.Errorf("cannot get Provider secret: %w", err)
	}

	client, err := database.NewClient(ctx, s.Data[ref.Key])
	if err != nil {
		return nil, fmt.Errorf("cannot create client: %w", err)
	}
	return &external{client: client}, nil
}

// External satisfies managed.ExternalClient.
type external struct{ client database.Client }

func (e *external) Observe(ctx context.Context, mg resource.Managed) (managed.ExternalObservation, error) {
	i, ok := mg.(*v1alpha3.FavouriteDBInstance)
	if !ok {
		return managed.ExternalObservation{}, errors.New("managed resource is not a FavouriteDBInstance")
	}

	existing, err := e.client.GetInstance(ctx, meta.GetExternalName(i)) // one name for all calls
	if database.IsNotFound(err) {
		return managed.ExternalObservation{ResourceExists: false}, nil
	}
	if err != nil {
		return managed.ExternalObservation{}, fmt.Errorf("cannot get instance: %w", err)
	}

	i.Status.AtProvider.Status = existing.GetStatus()
	i.Status.AtProvider.Hostname = existing.GetHostname()
	i.Status.AtProvider.ID = existing.GetID()

	switch i.Status.AtProvider.Status {
	case database.StatusOnline:
		// If the resource is available we also want to mark it as bindable to
		// resource claims.
		resource.SetBindable(i)
		i.SetConditions(xpv1.Available())
	case database.StatusCreating:
		i.SetConditions(xpv1.Creating())
	case database.StatusDeleting:
		i.SetConditions(xpv1.Deleting())
	}

	o := managed.ExternalObservation{
		ResourceExists:   true,
		ResourceUpToDate: existing.GetFancinessLevel() == i.Spec.ForProvider.FancinessLevel,
		ConnectionDetails: managed.ConnectionDetails{
			xpv1.ResourceCredentialsSecretUserKey:     []byte(existing.GetUsername()),
			xpv1.ResourceCredentialsSecretEndpointKey: []byte(existing.GetHostname()),
		},
	}

	return o, nil
}

func (e *external) Create(ctx context.Context, mg resource.Managed) (managed.ExternalCreation, error) {
	i, ok := mg.(*v1alpha3.FavouriteDBInstance)
	if !ok {
		return managed.ExternalCreation{}, errors.New("managed resource is not a FavouriteDBInstance")
	}
	i.SetConditions(xpv1.Creating())

	password := database.GeneratePassword()
	cd := managed.ConnectionDetails{xpv1.ResourceCredentialsSecretPasswordKey: []byte(password)}

	p := i.Spec.ForProvider
	new := database.Instance{Name: meta.GetExternalName(i), FancinessLevel: p.FancinessLevel, Version: p.Version}
	err := e.client.CreateInstance(ctx, new, password)
	if database.IsExists(err) { // then the password is not its password
		return managed.ExternalCreation{}, nil
	}
	if err != nil {
		return managed.ExternalCreation{}, fmt.Errorf("cannot create instance: %w", err)
	}
	return managed.ExternalCreation{ConnectionDetails: cd}, nil
}

func (e *external) Update(ctx context.Context, mg resource.Managed) (managed.ExternalUpdate, error) {
	i, ok := mg.(*v1alpha3.FavouriteDBInstance)
	if !ok {
		return managed.ExternalUpdate{}, errors.New("managed resource is not a FavouriteDBInstance")
	}

	new := database.Instance{Name: meta.GetExternalName(i), FancinessLevel: i.Spec.ForProvider.FancinessLevel}
	if err := e.client.UpdateInstance(ctx, new); err != nil {
		return managed.ExternalUpdate{}, fmt.Errorf("cannot update instance: %w", err)
	}
	return managed.ExternalUpdate{}, nil
}

func (e *external) Delete(ctx context.Context, mg resource.Managed) error {
	i, ok := mg.(*v1alpha3.FavouriteDBInstance)
	if !ok {
		return errors.New("managed resource is not a FavouriteDBInstance")
	}
	i.SetConditions(xpv1.Deleting())

	if err := resource.Ignore(database.IsNotFound, e.client.DeleteInstance(ctx, meta.GetExternalName(i))); err != nil {
		return fmt.Errorf("cannot delete instance: %w", err)
	}
	return nil
}
