// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package httpapi

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/bowline-dev/bowline/favouritecloud/internal/refusal"
	"github.com/bowline-dev/bowline/favouritecloud/internal/rules"
	"github.com/bowline-dev/bowline/favouritecloud/internal/store"
	"github.com/bowline-dev/bowline/favouritecloud/sdk"
)

// An API key is keyPrefix, the key's id, an underscore and the secret. The id finds the key; the secret, of which only
// the hash is known, proves it.
const (
	keyPrefix      = "fck_"
	keyIDBytes     = 8
	keySecretBytes = 24
)

// forAdmin lets only the admin token pass.
func (a *API) forAdmin(next route) route {
	return func(w http.ResponseWriter, r *http.Request) error {
		admin, _, err := a.authenticate(r)
		if err != nil {
			return err
		}
		if !admin {
			return refusal.Forbidden("this needs the admin token: it is in the file admin.token of the cloud's data folder")
		}
		return next(w, r)
	}
}

// forProject lets pass only keys of the project that the request is about. Since the key decides, an answer never
// tells whether another project exists.
func (a *API) forProject(next route) route {
	return func(w http.ResponseWriter, r *http.Request) error {
		admin, project, err := a.authenticate(r)
		if err != nil {
			return err
		}
		if admin {
			return refusal.Forbidden("the admin token only makes API keys: use an API key of project %q", r.PathValue("project"))
		}
		if project != r.PathValue("project") {
			return refusal.Forbidden("this API key belongs to project %q and cannot be used for project %q", project, r.PathValue("project"))
		}
		return next(w, r)
	}
}

// authenticate says who is asking: the admin, or a key of a project.
func (a *API) authenticate(r *http.Request) (admin bool, project string, err error) {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		return false, "", refusal.Unauthorized("an API key is required: send it as \"Authorization: Bearer KEY\"")
	}
	hash := sha256.Sum256([]byte(token))
	if subtle.ConstantTimeCompare(hash[:], a.AdminTokenHash[:]) == 1 {
		return true, "", nil
	}
	rest, _ := strings.CutPrefix(token, keyPrefix)
	id, _, _ := strings.Cut(rest, "_")
	key, err := a.Store.Key(id)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return false, "", err
	}
	// The zero key of an unknown id has a hash that nothing hashes to.
	if subtle.ConstantTimeCompare(hash[:], key.Hash[:]) != 1 {
		return false, "", refusal.Unauthorized("the API key is not valid")
	}
	return false, key.Project, nil
}

// createKey makes a key, and the project if it is new.
func (a *API) createKey(w http.ResponseWriter, r *http.Request) error {
	project := r.PathValue("project")
	if err := rules.Name("project", project); err != nil {
		return err
	}
	id, secret := randomHex(keyIDBytes), randomHex(keySecretBytes)
	created := sdk.APIKey{
		Project: project, ID: id, Key: keyPrefix + id + "_" + secret,
		CreatedAt: time.Now().UTC().Truncate(time.Second),
	}
	err := a.Store.AddKey(store.Key{ID: id, Project: project, Hash: sha256.Sum256([]byte(created.Key)), CreatedAt: created.CreatedAt})
	if err != nil {
		return err
	}
	a.Log.Info("API key made", "project", project, "key", id)
	return respondJSON(w, http.StatusCreated, created)
}

func randomHex(n int) string {
	random := make([]byte, n)
	rand.Read(random) //nolint:errcheck // Documented never to fail.
	return hex.EncodeToString(random)
}
