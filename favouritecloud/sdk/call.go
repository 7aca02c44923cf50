// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package sdk

import (
	"context"
	"maps"
	"net/url"
	"slices"
)

// Call makes one call and returns its decoded answer. The typed methods of the service packages are made of it; errors
// are those of Client.Do.
func Call[T any](ctx context.Context, c *Client, req Request, opts ...CallOption) (*T, error) {
	answer := new(T)
	if _, err := c.Do(ctx, req, answer, opts...); err != nil {
		return nil, err
	}
	return answer, nil
}

// LabelQuery returns the query of a list request for what carries all of the labels; no labels ask for everything.
func LabelQuery(labels map[string]string) url.Values {
	query := url.Values{}
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		query.Add("label", key+"="+labels[key])
	}
	return query
}
