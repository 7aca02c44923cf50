// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package sdk

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"
)

// APIKey is a new key of a project. The cloud stores only a hash, so it cannot return the key again.
type APIKey struct {
	// Project is the project that the key belongs to.
	Project string `json:"project"`
	// ID identifies the key; it is not secret.
	ID string `json:"id"`
	// Key is the secret for Config.APIKey.
	Key string `json:"key"`
	// CreatedAt is the time of creation.
	CreatedAt time.Time `json:"created_at"`
}

// CreateKey creates an API key of a project, and the project if it does not exist. adminToken is the content of the
// file admin.token in the cloud's data folder.
func CreateKey(ctx context.Context, endpoint, adminToken, project string) (APIKey, error) {
	c, err := newAdmin(endpoint, adminToken, project)
	if err != nil {
		return APIKey{}, err
	}
	var key APIKey
	path := "/v1/projects/" + url.PathEscape(project) + "/keys"
	_, err = c.do(ctx, path, Request{Method: http.MethodPost}, &key)
	return key, err
}

func newAdmin(endpoint, adminToken, project string) (*Client, error) {
	if adminToken == "" {
		return nil, errors.New("admin token is required")
	}
	return NewClient(Config{Endpoint: endpoint, Project: project, APIKey: adminToken})
}
