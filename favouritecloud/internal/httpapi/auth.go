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
	"github.com/bowline-dev/bowline/favouritecloud/internal/store"
	"github.com/bowline-dev/bowline/favouritecloud/sdk"
)

// An API key consists of keyPrefix, its id, an underscore and a secret. Only a hash of the whole key is stored, by the id.
const (
	keyPrefix      = "fck_"
	keyIDBytes     = 8
	keySecretBytes = 24
)

const keys store.Table[apiKey] = "keys" // by id, without a project

// apiKey is the stored part of an API key.
type apiKey struct {
	Project   string
	Hash      [sha256.Size]byte // of the whole key
	CreatedAt time.Time
}

func unauthorized(message string) error {
	return refusal.New(http.StatusUnauthorized, sdk.CodeUnauthorized, "%s", message)
}

func forbidden(format string, args ...any) error {
	return refusal.New(http.StatusForbidden, sdk.CodeForbidden, format, args...)
}

// forAdmin requires the admin token.
func (a *API) forAdmin(next route) route {
	return func(w http.ResponseWriter, r *http.Request) error {
		admin, _, err := a.authenticate(r)
		if err != nil {
			return err
		}
		if !admin {
			return forbidden("this request requires the admin token: see the file admin.token in the data folder of the cloud")
		}
		return next(w, r)
	}
}

// forProject requires a key of the project in the path. The answer to other keys does not reveal whether the project exists.
func (a *API) forProject(next route) route {
	return func(w http.ResponseWriter, r *http.Request) error {
		admin, project, err := a.authenticate(r)
		if err != nil {
			return err
		}
		if admin {
			return forbidden("the admin token can only create API keys: use an API key of project %q", r.PathValue("project"))
		}
		if project != r.PathValue("project") {
			return forbidden("this API key belongs to project %q and cannot be used for project %q", project, r.PathValue("project"))
		}
		return next(w, r)
	}
}

// authenticate returns whether the caller is the admin, or else the project of its key.
func (a *API) authenticate(r *http.Request) (admin bool, project string, err error) {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		return false, "", unauthorized("an API key is required: send it as \"Authorization: Bearer KEY\"")
	}
	hash := sha256.Sum256([]byte(token))
	if subtle.ConstantTimeCompare(hash[:], a.AdminTokenHash[:]) == 1 {
		return true, "", nil
	}
	rest, _ := strings.CutPrefix(token, keyPrefix)
	id, _, _ := strings.Cut(rest, "_")
	var key apiKey
	err = a.Store.Read(func(tx *store.Tx) (err error) {
		key, err = keys.Get(tx, "", id)
		return err
	})
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return false, "", err
	}
	// The key of an unknown id is zero: no token has that hash.
	if subtle.ConstantTimeCompare(hash[:], key.Hash[:]) != 1 {
		return false, "", unauthorized("the API key is not valid")
	}
	return false, key.Project, nil
}

// createKey creates a key, and so its project if that is new.
func (a *API) createKey(w http.ResponseWriter, r *http.Request) error {
	project := r.PathValue("project")
	if err := refusal.Name("project", project); err != nil {
		return err
	}
	random := make([]byte, keyIDBytes+keySecretBytes)
	rand.Read(random) // never fails
	id, secret := hex.EncodeToString(random[:keyIDBytes]), hex.EncodeToString(random[keyIDBytes:])
	now := time.Now().UTC().Truncate(time.Second)
	created := sdk.APIKey{Project: project, ID: id, Key: keyPrefix + id + "_" + secret, CreatedAt: now}
	kept := apiKey{Project: project, Hash: sha256.Sum256([]byte(created.Key)), CreatedAt: created.CreatedAt}
	if err := a.Store.Write(func(tx *store.Tx) error { return keys.Put(tx, "", id, kept) }); err != nil {
		return err
	}
	a.Log.Info("API key created", "project", project, "key", id)
	return respondJSON(w, http.StatusCreated, created)
}
