// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package httpapi

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"github.com/bowline-dev/bowline/favouritecloud/internal/postgres"
	"github.com/bowline-dev/bowline/favouritecloud/internal/refusal"
	"github.com/bowline-dev/bowline/favouritecloud/internal/store"
	"github.com/bowline-dev/bowline/favouritecloud/sdk"
	wire "github.com/bowline-dev/bowline/favouritecloud/sdk/services/database"
)

const maxIdempotencyKeyLength = 255

func (a *API) createInstance(w http.ResponseWriter, r *http.Request) error {
	project := r.PathValue("project")
	key, err := idempotencyKey(r)
	if err != nil {
		return err
	}
	if key != "" { // Before the body is looked at: a repeat is answered whatever it holds.
		body, found, err := a.Databases.Replay(project, key)
		if err != nil {
			return err
		}
		if found {
			respondReplay(w, body)
			return nil
		}
	}
	var in wire.CreateInstanceInput
	if err := decode(r, &in); err != nil {
		return err
	}
	body, replayed, err := a.Databases.Create(r.Context(), project, key, in, createdJSON)
	if err != nil {
		return err
	}
	if replayed {
		respondReplay(w, body)
		return nil
	}
	w.Header().Set("Location", r.URL.JoinPath(in.Name).Path)
	respond(w, http.StatusCreated, body)
	return nil
}

func respondReplay(w http.ResponseWriter, body []byte) {
	w.Header().Set(sdk.HeaderReplayed, "true")
	respond(w, http.StatusOK, body)
}

// createdJSON is the one answer with the password.
func createdJSON(i store.Instance) ([]byte, error) {
	return json.Marshal(wire.CreatedInstance{Instance: instanceJSON(i), Password: i.Password})
}

func idempotencyKey(r *http.Request) (string, error) {
	keys, given := r.Header[sdk.HeaderIdempotencyKey]
	if !given {
		return "", nil
	}
	isBad := func(c rune) bool { return c < ' ' || c > '~' }
	if len(keys) != 1 || keys[0] == "" || len(keys[0]) > maxIdempotencyKeyLength || strings.ContainsFunc(keys[0], isBad) {
		return "", refusal.Invalid("%s must be one value of 1 to %d printable ASCII characters", sdk.HeaderIdempotencyKey, maxIdempotencyKeyLength)
	}
	return keys[0], nil
}

func (a *API) listInstances(w http.ResponseWriter, r *http.Request) error {
	labels, err := labelFilter(r.URL.Query())
	if err != nil {
		return err
	}
	records, err := a.Databases.List(r.PathValue("project"), labels)
	if err != nil {
		return err
	}
	list := wire.InstanceList{Instances: []wire.Instance{}} // An empty list, not null.
	for _, record := range records {
		list.Instances = append(list.Instances, instanceJSON(record))
	}
	return respondJSON(w, http.StatusOK, list)
}

// labelFilter reads ?label=key=value, which may be repeated; all must match.
func labelFilter(query url.Values) (map[string]string, error) {
	labels := map[string]string{}
	for parameter, values := range query {
		if parameter != "label" {
			return nil, refusal.Invalid("parameter %q is unknown here: use label=key=value", parameter)
		}
		for _, filter := range values {
			key, value, ok := strings.Cut(filter, "=")
			if earlier, twice := labels[key]; !ok || key == "" || (twice && earlier != value) {
				return nil, refusal.Invalid("label filter %q is not valid: use label=key=value, once per key", filter)
			}
			labels[key] = value
		}
	}
	return labels, nil
}

func (a *API) getInstance(w http.ResponseWriter, r *http.Request) error {
	record, err := a.Databases.Get(r.PathValue("project"), r.PathValue("name"))
	if err != nil {
		return err
	}
	return respondJSON(w, http.StatusOK, instanceJSON(record))
}

func (a *API) updateInstance(w http.ResponseWriter, r *http.Request) error {
	var in wire.UpdateInstanceInput
	if err := decode(r, &in); err != nil {
		return err
	}
	record, err := a.Databases.Update(r.PathValue("project"), r.PathValue("name"), in)
	if err != nil {
		return err
	}
	return respondJSON(w, http.StatusOK, instanceJSON(record))
}

func (a *API) deleteInstance(w http.ResponseWriter, r *http.Request) error {
	record, err := a.Databases.Delete(r.PathValue("project"), r.PathValue("name"))
	if err != nil {
		return err
	}
	return respondJSON(w, http.StatusAccepted, instanceJSON(record))
}

// instanceJSON shows a record, without its password.
func instanceJSON(i store.Instance) wire.Instance {
	shown := wire.Instance{
		ID: i.ID, Name: i.Name, FancinessLevel: i.FancinessLevel, Version: i.Version, Status: i.Status, Message: i.Message,
		Port: i.Port, Username: postgres.Username, Labels: i.Labels, CreatedAt: i.CreatedAt,
	}
	if i.Port != 0 {
		shown.Hostname = postgres.Host
	}
	return shown
}
