// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"context"
	"errors"

	"github.com/bowline-dev/bowline/favouritecloud"
	"github.com/bowline-dev/bowline/favouritecloud/sdk"
	"github.com/bowline-dev/bowline/internal/testkit"
)

// A Cloud is a favourite cloud in this process.
type Cloud struct {
	*favouritecloud.Server

	// Stop stops the cloud.
	Stop  func() error
	token string
}

// StartCloud starts a cloud and returns when it is ready.
func StartCloud(config favouritecloud.Config) (c *Cloud, err error) {
	c = &Cloud{}
	if c.Server, err = favouritecloud.New(config); err != nil {
		return nil, err
	}
	c.Stop, err = testkit.Background(context.Background(), c.Run, func(ctx context.Context) error {
		select {
		case <-c.Ready():
			c.token, err = favouritecloud.ReadAdminToken(config.DataDir)
			return err
		case <-ctx.Done():
			return errors.New("the cloud does not start")
		}
	})
	return c, err
}

// NewKey returns a new API key of a project.
func (c *Cloud) NewKey(ctx context.Context, project string) (string, error) {
	key, err := sdk.CreateKey(ctx, c.URL(), c.token, project)
	if err != nil {
		return "", err
	}
	return key.Key, nil
}
