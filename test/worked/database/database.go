// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package database is the client library that the worked example of the guides imports, as they print it, on top of the
// favourite cloud's own (A90 to A95).
package database

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"

	"github.com/bowline-dev/bowline/favouritecloud/sdk"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/database"
)

// What an instance may be doing (A94).
const (
	StatusOnline   = sdk.StatusOnline
	StatusCreating = sdk.StatusCreating
	StatusDeleting = sdk.StatusDeleting
)

// IsNotFound is true for the error of calls about an instance that does not exist (A95).
func IsNotFound(err error) bool { return sdk.IsNotFound(err) }

// IsExists is true for the error of creating an instance whose name is taken (A95).
func IsExists(err error) bool { return sdk.IsExists(err) }

// GeneratePassword returns a random password (A95).
func GeneratePassword() string { return rand.Text() }

// An Instance is what is asked for (A93).
type Instance struct {
	Name           string
	FancinessLevel int
	Version        *string
}

// An Existing instance is what there is (A92).
type Existing struct{ instance *database.Instance }

// GetID returns the number of the instance.
func (e Existing) GetID() int { return e.instance.ID }

// GetStatus returns what the instance is doing.
func (e Existing) GetStatus() string { return e.instance.Status }

// GetHostname returns where the instance listens.
func (e Existing) GetHostname() string { return e.instance.Hostname }

// GetUsername returns the name of the superuser.
func (e Existing) GetUsername() string { return e.instance.Username }

// GetFancinessLevel returns how many connections the instance allows.
func (e Existing) GetFancinessLevel() int { return e.instance.FancinessLevel }

// A Client calls the service for one project (A91).
type Client struct{ service *database.Client }

// Credentials have the address of the service, and the project.
type Credentials struct{ Endpoint, Project, Key string }

// NewClient returns a client (A90). The credentials are Credentials as JSON.
func NewClient(_ context.Context, credentials []byte) (Client, error) {
	var c Credentials
	if json.Unmarshal(credentials, &c) != nil {
		return Client{}, errors.New("reading credentials: they are no JSON object of endpoint, project and key")
	}
	service, err := sdk.NewClient(sdk.Config{Endpoint: c.Endpoint, Project: c.Project, APIKey: c.Key})
	if err != nil {
		return Client{}, err
	}
	return Client{service: database.NewClient(service)}, nil
}

// GetInstance returns an instance.
func (c Client) GetInstance(ctx context.Context, name string) (Existing, error) {
	i, err := c.service.Get(ctx, name)
	return Existing{i}, err
}

// CreateInstance makes an instance.
func (c Client) CreateInstance(ctx context.Context, i Instance, password string) error {
	_, err := c.service.Create(ctx, database.CreateInstanceInput{
		Name: i.Name, FancinessLevel: i.FancinessLevel, Version: i.Version, Password: &password,
	})
	return err
}

// UpdateInstance lets an instance allow as many connections as asked for.
func (c Client) UpdateInstance(ctx context.Context, i Instance) error {
	_, err := c.service.Update(ctx, i.Name, database.UpdateInstanceInput{FancinessLevel: &i.FancinessLevel})
	return err
}

// DeleteInstance deletes an instance.
func (c Client) DeleteInstance(ctx context.Context, name string) error {
	return c.service.Delete(ctx, name)
}
