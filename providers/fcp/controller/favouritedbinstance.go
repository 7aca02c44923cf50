// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/favouritecloud/sdk"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/database"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/parameters"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
	"github.com/bowline-dev/bowline/providers/fcp/apis/database/v1alpha3"
)

func favouriteDBInstances(c *clouds, o []managed.ReconcilerOption) Controller {
	return &kind[*v1alpha3.FavouriteDBInstance]{
		gvk:    v1alpha3.FavouriteDBInstanceGroupVersionKind,
		object: &v1alpha3.FavouriteDBInstance{},
		scope:  clusterScope(),
		clouds: c,
		client: func(c cloud) managed.TypedExternalClient[*v1alpha3.FavouriteDBInstance] {
			return newDatabaseInstance(c)
		},
		own:     []managed.ReconcilerOption{managed.WithDefaultName(nameOf)},
		options: o,
	}
}

// passwordField is where the parameters refer to a Secret.
const passwordField = "passwordSecretRef"

// databaseInstance is the external client of one pass over a FavouriteDBInstance.
type databaseInstance struct {
	cloud
	service  *database.Client
	labels   labels
	password []byte // that the user chose, if any
}

func newDatabaseInstance(c cloud) *databaseInstance {
	kind := v1alpha3.FavouriteDBInstanceGroupVersionKind.GroupKind()
	return &databaseInstance{cloud: c, service: database.NewClient(c.sdk), labels: labels{kind: kind}}
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

// UseSecretInputs is told the password that the user chose (P61).
func (e *databaseInstance) UseSecretInputs(values map[string][]byte) {
	e.password = values[passwordField]
}

func (e *databaseInstance) Observe(ctx context.Context, i *v1alpha3.FavouriteDBInstance) (managed.ExternalObservation, error) {
	have, err := e.service.GetInstance(ctx, meta.GetExternalName(i))
	if sdk.IsNotFound(err) {
		return managed.ExternalObservation{}, nil
	}
	if err != nil {
		return managed.ExternalObservation{}, fmt.Errorf("cannot get instance: %w", err)
	}
	e.labels.seen = have.Labels
	i.Status.AtProvider = observation(have)
	markReady(i, have.Status)
	theirs := settings{FavouriteDBInstanceParameters: instanceParameters(have), Labels: have.Labels}
	named := parameters.Ignore("name") // the external name says it (D19)
	filled, err := parameters.LateInitialize(&i.Spec.ForProvider, theirs.FavouriteDBInstanceParameters, named)
	if err != nil {
		return managed.ExternalObservation{}, fmt.Errorf("cannot take over settings: %w", err)
	}
	ours := settings{FavouriteDBInstanceParameters: i.Spec.ForProvider, Labels: e.labels.declared(i, nil)}
	o, err := judge(judgement{status: have.Status, labels: have.Labels, fixed: []string{"version"}}, ours, theirs, named)
	if err != nil {
		return o, err
	}
	o.ResourceLateInitialized = filled
	o.ConnectionDetails = connectionDetails(have)
	switch have.Status {
	case database.StatusOnline:
		i.SetConditions(xpv1.Available())
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
		Password:       optional(string(e.password)),
		Labels:         e.labels.forCreate(i, nil),
	}, sdk.WithIdempotencyKey(meta.CreationToken(i)))
	if err != nil {
		return managed.ExternalCreation{}, fmt.Errorf("cannot create instance: %w", unlessRefused(err))
	}
	return managed.ExternalCreation{ConnectionDetails: managed.ConnectionDetails{
		xpv1.ResourceCredentialsSecretUserKey:     []byte(created.Username),
		xpv1.ResourceCredentialsSecretPasswordKey: []byte(created.Password),
	}}, nil
}

// Update sends what can change. Without a chosen password that of the server stays as it is.
func (e *databaseInstance) Update(ctx context.Context, i *v1alpha3.FavouriteDBInstance) (managed.ExternalUpdate, error) {
	_, err := e.service.UpdateInstance(ctx, meta.GetExternalName(i), database.UpdateInstanceInput{
		FancinessLevel: optional(i.Spec.ForProvider.FancinessLevel),
		Password:       optional(string(e.password)),
		Labels:         e.labels.forUpdate(i, nil),
	})
	if err != nil {
		return managed.ExternalUpdate{}, fmt.Errorf("cannot update instance: %w", err)
	}
	if len(e.password) == 0 {
		return managed.ExternalUpdate{}, nil
	}
	return managed.ExternalUpdate{ConnectionDetails: managed.ConnectionDetails{
		xpv1.ResourceCredentialsSecretPasswordKey: e.password,
	}}, nil
}

func (e *databaseInstance) Delete(ctx context.Context, i *v1alpha3.FavouriteDBInstance) error {
	err := resource.Ignore(sdk.IsNotFound, e.service.DeleteInstance(ctx, meta.GetExternalName(i)))
	if err != nil {
		return fmt.Errorf("cannot delete instance: %w", err)
	}
	return nil
}

// Settings are what is compared: the parameters and the labels, which users cannot choose.
type settings struct {
	v1alpha3.FavouriteDBInstanceParameters `json:",inline"`

	Labels map[string]string `json:"labels,omitempty"`
}

// instanceParameters are the settings that the cloud reports, as an object would declare them.
func instanceParameters(have *database.Instance) v1alpha3.FavouriteDBInstanceParameters {
	return v1alpha3.FavouriteDBInstanceParameters{
		Name:           have.Name,
		FancinessLevel: have.FancinessLevel,
		Version:        optional(have.Version),
	}
}

// connectionDetails are what can be read at any time; the password is told at creation only.
func connectionDetails(have *database.Instance) managed.ConnectionDetails {
	details := managed.ConnectionDetails{xpv1.ResourceCredentialsSecretUserKey: []byte(have.Username)}
	if have.Hostname != "" && have.Port != 0 {
		details[xpv1.ResourceCredentialsSecretEndpointKey] = []byte(have.Hostname)
		details[xpv1.ResourceCredentialsSecretPortKey] = []byte(strconv.Itoa(have.Port))
	}
	return details
}

func observation(have *database.Instance) v1alpha3.FavouriteDBInstanceObservation {
	return v1alpha3.FavouriteDBInstanceObservation{
		ID:             have.ID,
		Name:           have.Name,
		Status:         have.Status,
		Message:        have.Message,
		FancinessLevel: have.FancinessLevel,
		Version:        have.Version,
		Hostname:       have.Hostname,
		Port:           have.Port,
		Username:       have.Username,
		Labels:         have.Labels,
		CreatedAt:      metav1.NewTime(have.CreatedAt),
	}
}
