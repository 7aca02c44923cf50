// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package httpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/bowline-dev/bowline/favouritecloud/internal/refusal"
	"github.com/bowline-dev/bowline/favouritecloud/sdk"
)

const maxIdempotencyKeyLength = 255

// objects is what every service does to objects of type T that exist; U describes a change. Reads do not see what was
// made after asOf, unless that is zero.
type objects[T, U any] interface {
	Get(project, id string, asOf time.Time) (T, error)
	List(project string, labels map[string]string, asOf time.Time) ([]T, error)
	Update(project, id string, in U) (T, error)
	Delete(project, id string) (T, error)
}

// handleObjects adds the routes of a service other than create. show translates an object, list wraps several.
func handleObjects[T, U, W any](a *API, path string, service objects[T, U], show func(T) W, list func([]W) any) {
	all := "/v1/projects/{project}/" + path
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
		return respondJSON(w, http.StatusOK, list(shown))
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

// creates answers requests for a new object. Idempotency keys are ignored.
func creates[T, C any](make func(project string, in C) (T, error), id func(T) string) route {
	return func(w http.ResponseWriter, r *http.Request) error {
		var in C
		if err := decode(r, &in); err != nil {
			return err
		}
		made, err := make(r.PathValue("project"), in)
		if err != nil {
			return err
		}
		w.Header().Set("Location", r.URL.JoinPath(id(made)).Path)
		return respondJSON(w, http.StatusCreated, made)
	}
}

// onceCreator makes objects from C, one for each idempotency key; the empty key is none.
type onceCreator[C any] struct {
	replay func(project, key string) (body []byte, found bool, err error)
	create func(ctx context.Context, project, key string, in C) (body []byte, replayed bool, err error)
	name   func(C) string
}

// createsOnce answers requests for a new object, and repeats its answer to requests with the same idempotency key.
func createsOnce[C any](c onceCreator[C]) route {
	return func(w http.ResponseWriter, r *http.Request) error {
		project := r.PathValue("project")
		key, err := idempotencyKey(r)
		if err != nil {
			return err
		}
		if key != "" { // Before the body is looked at: a repeat is answered whatever it holds.
			body, found, err := c.replay(project, key)
			if err != nil {
				return err
			}
			if found {
				respondReplay(w, body)
				return nil
			}
		}
		var in C
		if err := decode(r, &in); err != nil {
			return err
		}
		body, replayed, err := c.create(r.Context(), project, key, in)
		if err != nil {
			return err
		}
		if replayed {
			respondReplay(w, body)
			return nil
		}
		w.Header().Set("Location", r.URL.JoinPath(c.name(in)).Path)
		respond(w, http.StatusCreated, body)
		return nil
	}
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

// itself shows objects that are what their users see.
func itself[T any](object T) T { return object }

// marshal encodes an answer that is kept for replays.
func marshal[T any](object T) ([]byte, error) { return json.Marshal(object) }
