// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package httpapi

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/bowline-dev/bowline/favouritecloud/internal/refusal"
	"github.com/bowline-dev/bowline/favouritecloud/sdk"
)

const maxIdempotencyKeyLength = 255

// objects are the operations of every service on existing objects of type T; U describes a change. If asOf is not zero, reads do
// not find objects that were created later.
type objects[T, U any] interface {
	Get(project, id string, asOf time.Time) (T, error)
	List(project string, labels map[string]string, asOf time.Time) ([]T, error)
	Update(project, id string, in U) (T, error)
	Delete(project, id string) (T, error)
}

// handleObjects adds the routes of a service except create. show converts an object for the API, field is the field of list
// answers.
func handleObjects[T, U, W any](a *API, path string, service objects[T, U], show func(T) W, field string) {
	all := inProject + path
	a.handle("GET "+all, a.forProject(func(w http.ResponseWriter, r *http.Request) error {
		labels, err := labelFilter(r.URL.Query())
		if err != nil {
			return err
		}
		found, err := service.List(r.PathValue("project"), labels, asOf(r))
		if err != nil {
			return err
		}
		shown := []W{} // An empty list, not null.
		for _, object := range found {
			shown = append(shown, show(object))
		}
		return respondJSON(w, http.StatusOK, map[string][]W{field: shown})
	}))
	one := func(method string, status int, do func(r *http.Request, project, id string) (T, error)) {
		a.handle(method+" "+all+"/{name}", a.forProject(func(w http.ResponseWriter, r *http.Request) error {
			object, err := do(r, r.PathValue("project"), r.PathValue("name"))
			if err != nil {
				return err
			}
			return respondJSON(w, status, show(object))
		}))
	}
	one(http.MethodGet, http.StatusOK, func(r *http.Request, project, id string) (T, error) {
		return service.Get(project, id, asOf(r))
	})
	one(http.MethodPatch, http.StatusOK, func(r *http.Request, project, id string) (object T, err error) {
		var in U
		if err := decode(r, &in); err != nil {
			return object, err
		}
		return service.Update(project, id, in)
	})
	one(http.MethodDelete, http.StatusAccepted, func(_ *http.Request, project, id string) (T, error) {
		return service.Delete(project, id)
	})
}

// labelFilter parses ?label=key=value, which may be repeated; all must match.
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

// handleCreate adds the route that creates objects of a service without idempotency keys.
func handleCreate[T, C any](a *API, path string, create func(project string, in C) (T, error), id func(T) string) {
	a.handle("POST "+inProject+path, a.forProject(func(w http.ResponseWriter, r *http.Request) error {
		var in C
		if err := decode(r, &in); err != nil {
			return err
		}
		created, err := create(r.PathValue("project"), in)
		if err != nil {
			return err
		}
		w.Header().Set("Location", r.URL.JoinPath(id(created)).Path)
		return respondJSON(w, http.StatusCreated, created)
	}))
}

// replayer creates one object for each idempotency key; the empty key is none.
type replayer[C any] interface {
	Replay(project, key string) (body []byte, found bool, err error)
	Create(ctx context.Context, project, key string, in C) (body []byte, replayed bool, err error)
}

// handleReplayable adds the route that creates objects of a service with idempotency keys.
func handleReplayable[C any](a *API, path string, service replayer[C], name func(C) string) {
	a.handle("POST "+inProject+path, a.forProject(func(w http.ResponseWriter, r *http.Request) error {
		project := r.PathValue("project")
		key, err := idempotencyKey(r)
		if err != nil {
			return err
		}
		if key != "" { // First, since a replay ignores the body.
			body, found, err := service.Replay(project, key)
			if found && err == nil {
				respondReplay(w, body)
			}
			if found || err != nil {
				return err
			}
		}
		var in C
		if err := decode(r, &in); err != nil {
			return err
		}
		body, replayed, err := service.Create(r.Context(), project, key, in)
		switch {
		case err != nil:
			return err
		case replayed:
			respondReplay(w, body)
		default:
			w.Header().Set("Location", r.URL.JoinPath(name(in)).Path)
			respond(w, http.StatusCreated, body)
		}
		return nil
	}))
}

func respondReplay(w http.ResponseWriter, body []byte) {
	w.Header().Set(sdk.HeaderReplayed, "true")
	respond(w, http.StatusOK, body)
}

func idempotencyKey(r *http.Request) (string, error) {
	keys, given := r.Header[sdk.HeaderIdempotencyKey]
	if !given {
		return "", nil
	}
	isBad := func(c rune) bool { return c < ' ' || c > '~' }
	if len(keys) != 1 || keys[0] == "" || len(keys[0]) > maxIdempotencyKeyLength || strings.ContainsFunc(keys[0], isBad) {
		return "", refusal.Invalid("%s must be one value of 1 to %d printable ASCII characters",
			sdk.HeaderIdempotencyKey, maxIdempotencyKeyLength)
	}
	return keys[0], nil
}
