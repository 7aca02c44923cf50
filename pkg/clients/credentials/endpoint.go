// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/bowline-dev/bowline/pkg/failure"
)

var errEndpoint = failure.With(failure.ProviderConfigUnavailable, errors.New("spec.endpoint is more than an address: remove user name, "+
	"password, query and fragment, and put credentials into the Secret that spec.credentials names"))

// CheckEndpoint refuses a spec whose endpoint, a URL or a host name, may contain credentials, since errors and columns show endpoints.
// The schema of a kind refuses more; this is for kinds without such a rule, and for objects that are older than theirs. The error does
// not repeat the endpoint.
func CheckEndpoint(spec json.RawMessage) error {
	has := struct {
		Endpoint string `json:"endpoint"`
	}{}
	if json.Unmarshal(spec, &has) == nil && strings.ContainsAny(has.Endpoint, "@?#") {
		return errEndpoint
	}
	return nil
}
