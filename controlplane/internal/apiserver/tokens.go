// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/bowline-dev/bowline/controlplane/internal/pki"
)

// adminTokens authenticates the administrator by the bearer tokens whose hashes a file has: SHA-256 in hexadecimal digits, one a line. The
// file is read for each request with a token, so that a change is in force at once. Other tokens are left to other authenticators.
func adminTokens(file string) authenticator.Request {
	return authenticator.RequestFunc(func(r *http.Request) (*authenticator.Response, bool, error) {
		scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		if !strings.EqualFold(scheme, "Bearer") || token == "" {
			return nil, false, nil
		}
		known, err := os.ReadFile(file)
		if err != nil {
			return nil, false, fmt.Errorf("reading tokens of the administrator: %w", err)
		}
		hash := sha256.Sum256([]byte(token)) // comparing hashes tells nothing about tokens by its time
		if !slices.Contains(strings.Fields(string(known)), hex.EncodeToString(hash[:])) {
			return nil, false, nil
		}
		r.Header.Del("Authorization")
		return &authenticator.Response{User: &user.DefaultInfo{Name: pki.AdminUser, Groups: []string{user.SystemPrivilegedGroup, user.AllAuthenticated}}}, true, nil
	})
}
