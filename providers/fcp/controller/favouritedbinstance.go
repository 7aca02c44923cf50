// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strconv"

	"k8s.io/apimachinery/pkg/types"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/favouritecloud/sdk"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/database"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
	"github.com/bowline-dev/bowline/providers/fcp/apis/database/v1alpha3"
)

// databaseConnecter makes clients of the database service.
type databaseConnecter struct{ clouds *clouds }

func (c databaseConnecter) Connect(ctx context.Context, i *v1alpha3.FavouriteDBInstance) (managed.TypedExternalClient[*v1alpha3.FavouriteDBInstance], error) {
	cloud, err := c.clouds.of(ctx, resource.ProviderConfigName(i))
	if err != nil {
		return nil, err
	}
	return &databaseInstance{service: database.NewClient(cloud)}, nil
}

// databaseInstance is the external client of one pass over a FavouriteDBInstance.
type databaseInstance struct {
	service *database.Client
	labels  map[string]string // as last observed
}

// ReplaysCreate is true: the favourite cloud repeats the full answer to an idempotency key, password included.
func (*databaseInstance) ReplaysCreate() bool { return true }

// nameOf is the external name of an instance that was given none (D19).
func nameOf(mg resource.Managed) string {
	if i, ok := mg.(*v1alpha3.FavouriteDBInstance); ok && i.Spec.ForProvider.Name != "" {
		return i.Spec.ForProvider.Name
	}
	return mg.GetName()
}

func (e *databaseInstance) Observe(ctx context.Context, i *v1alpha3.FavouriteDBInstance) (managed.ExternalObservation, error) {
	have, err := e.service.GetInstance(ctx, meta.GetExternalName(i))
	if sdk.IsNotFound(err) {
		return managed.ExternalObservation{}, nil
	}
	if err != nil {
		return managed.ExternalObservation{}, fmt.Errorf("cannot get instance: %w", err)
	}
	e.labels = have.Labels
	i.Status.AtProvider = observation(have)
	owner := types.UID(have.Labels[meta.ExternalLabelUID])
	o := managed.ExternalObservation{
		ResourceExists:   true,
		ResourceUpToDate: upToDate(i, have),
		Owner:            &owner,
		ConnectionDetails: managed.ConnectionDetails{
			xpv1.ResourceCredentialsSecretUserKey: []byte(have.Username),
		},
	}
	if have.Hostname != "" && have.Port != 0 {
		o.ConnectionDetails[xpv1.ResourceCredentialsSecretEndpointKey] = []byte(have.Hostname)
		o.ConnectionDetails[xpv1.ResourceCredentialsSecretPortKey] = []byte(strconv.Itoa(have.Port))
	}
	if want := i.Spec.ForProvider.Version; want != nil && have.Version != "" && *want != have.Version {
		o.Failed = fmt.Errorf("it runs version %s, which cannot change, and spec.forProvider.version says %s: create another "+
			"object with that version and move the data", have.Version, *want)
	}
	switch have.Status {
	case database.StatusOnline:
		i.SetConditions(xpv1.Available())
	case database.StatusCreating:
		i.SetConditions(xpv1.Creating())
	case database.StatusDeleting:
		i.SetConditions(xpv1.Deleting())
	case database.StatusFailed:
		i.SetConditions(xpv1.Unavailable().WithMessage(have.Message))
		o.Failed = errors.New(have.Message)
	}
	return o, nil
}

func (e *databaseInstance) Create(ctx context.Context, i *v1alpha3.FavouriteDBInstance) (managed.ExternalCreation, error) {
	p := i.Spec.ForProvider
	created, err := e.service.CreateInstance(ctx, database.CreateInstanceInput{
		Name:           meta.GetExternalName(i),
		FancinessLevel: p.FancinessLevel,
		Version:        p.Version,
		Labels:         labelsOf(i),
	}, sdk.WithIdempotencyKey(meta.CreationToken(i)))
	if failure, ok := errors.AsType[*sdk.APIError](err); ok && failure.Status >= http.StatusInternalServerError {
		err = managed.OutcomeUnknown(err)
	}
	if err != nil {
		return managed.ExternalCreation{}, fmt.Errorf("cannot create instance: %w", err)
	}
	return managed.ExternalCreation{ConnectionDetails: managed.ConnectionDetails{
		xpv1.ResourceCredentialsSecretUserKey:     []byte(created.Username),
		xpv1.ResourceCredentialsSecretPasswordKey: []byte(created.Password),
	}}, nil
}

func (e *databaseInstance) Update(ctx context.Context, i *v1alpha3.FavouriteDBInstance) (managed.ExternalUpdate, error) {
	labels := maps.Clone(e.labels)
	if labels == nil {
		labels = map[string]string{}
	}
	maps.Copy(labels, labelsOf(i))
	_, err := e.service.UpdateInstance(ctx, meta.GetExternalName(i), database.UpdateInstanceInput{
		FancinessLevel: &i.Spec.ForProvider.FancinessLevel,
		Labels:         labels,
	})
	if err != nil {
		return managed.ExternalUpdate{}, fmt.Errorf("cannot update instance: %w", err)
	}
	return managed.ExternalUpdate{}, nil
}

func (e *databaseInstance) Delete(ctx context.Context, i *v1alpha3.FavouriteDBInstance) error {
	err := resource.Ignore(sdk.IsNotFound, e.service.DeleteInstance(ctx, meta.GetExternalName(i)))
	if err != nil {
		return fmt.Errorf("cannot delete instance: %w", err)
	}
	return nil
}

// upToDate compares what can be updated: the fanciness level and our labels (P15). An instance that is going away is
// left in peace.
func upToDate(i *v1alpha3.FavouriteDBInstance, have *database.Instance) bool {
	if have.Status == database.StatusDeleting {
		return true
	}
	for key, value := range labelsOf(i) {
		if have.Labels[key] != value {
			return false
		}
	}
	return have.FancinessLevel == i.Spec.ForProvider.FancinessLevel
}

func labelsOf(i *v1alpha3.FavouriteDBInstance) map[string]string {
	return meta.GetExternalLabels(i, v1alpha3.FavouriteDBInstanceGroupVersionKind.GroupKind(), resource.ProviderConfigName(i))
}

func observation(have *database.Instance) v1alpha3.FavouriteDBInstanceObservation {
	return v1alpha3.FavouriteDBInstanceObservation{
		ID:             have.ID,
		Status:         have.Status,
		Message:        have.Message,
		FancinessLevel: have.FancinessLevel,
		Version:        have.Version,
		Hostname:       have.Hostname,
		Port:           have.Port,
	}
}
