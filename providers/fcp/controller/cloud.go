// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/bowline-dev/bowline/favouritecloud/sdk"
	"github.com/bowline-dev/bowline/pkg/clients"
	"github.com/bowline-dev/bowline/pkg/kind"
	"github.com/bowline-dev/bowline/providers/fcp/apis/v1alpha3"
)

// clouds creates clients of the favourite cloud.
func clouds() *clients.Factory[v1alpha3.ProviderConfigSpec, *sdk.Client] {
	return &clients.Factory[v1alpha3.ProviderConfigSpec, *sdk.Client]{
		New: func(_ context.Context, c clients.Connection[v1alpha3.ProviderConfigSpec]) (*sdk.Client, error) {
			return sdk.NewClient(sdk.Config{
				Endpoint:   c.Settings.Endpoint,
				Project:    c.Settings.ProjectID,
				APIKey:     strings.TrimSpace(string(c.Credentials)),
				HTTPClient: c.HTTPClient,
			})
		},
	}
}

// system is what the kinds have in common.
func system(clouds *clients.Factory[v1alpha3.ProviderConfigSpec, *sdk.Client]) kind.System[*sdk.Client] {
	return kind.System[*sdk.Client]{
		Clients:    clouds,
		Classify:   classify,
		IsNotFound: sdk.IsNotFound,
		Refused: func(err error) bool {
			answer, ok := errors.AsType[*sdk.APIError](err)
			return ok && answer.Status < http.StatusInternalServerError
		},
	}
}

// states are those of all services without servers.
func states() map[string]kind.State {
	return map[string]kind.State{"CREATING": kind.Creating, "AVAILABLE": kind.Ready, "DELETING": kind.Deleting}
}
