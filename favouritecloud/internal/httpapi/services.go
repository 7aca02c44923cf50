// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package httpapi

import (
	"context"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/bowline-dev/bowline/favouritecloud/internal/refusal"
	"github.com/bowline-dev/bowline/favouritecloud/internal/service"
	"github.com/bowline-dev/bowline/favouritecloud/sdk"
)

const maxIdempotencyKeyLength = 255

// Service is a service with its routes.
type Service struct {
	// Path is that of the routes, relative to the project. Field has the resources in the answer to a list.
	Path, Field string
	// IgnoresKeys is true if every create request creates another resource, whatever its idempotency key.
	IgnoresKeys bool
	Verbs       map[string]Verb // answer POST …/NAME:VERB
	Views       map[string]View // answer GET …/NAME:VIEW
	Resources
}

// A Verb answers a request about one resource, other than those of HTTP.
type Verb func(ctx context.Context, project, name string, decode service.Decode) (any, error)

// A View answers a request for what Get does not show of a resource.
type View func(project, name string) (any, error)

// Resources are the operations of a service: see service.Service.
type Resources interface {
	Create(ctx context.Context, project, key string, decode service.Decode) (service.Created, error)
	Get(project, name string, asOf time.Time) (any, error)
	List(project string, labels map[string]string, asOf time.Time) ([]any, error)
	Update(project, name string, decode service.Decode) (any, error)
	Delete(project, name string) (any, error)
}

// addService adds the routes of a service.
func (a *API) addService(s Service) {
	all := inProject + s.Path
	one := func(method, path string, status int, do func(r *http.Request, project, name string) (any, error)) {
		a.handle(method+" "+path, a.forProject(func(w http.ResponseWriter, r *http.Request) error {
			answer, err := do(r, r.PathValue("project"), r.PathValue("name"))
			if err != nil {
				return err
			}
			return respondJSON(w, status, answer)
		}))
	}
	a.handle("POST "+all, a.forProject(s.create))
	one(http.MethodGet, all, http.StatusOK, func(r *http.Request, project, _ string) (any, error) {
		labels, err := labelFilter(r.URL.Query())
		if err != nil {
			return nil, err
		}
		found, err := s.List(project, labels, asOf(r))
		return map[string][]any{s.Field: found}, err
	})
	one(http.MethodGet, all+"/{name}", http.StatusOK, func(r *http.Request, project, target string) (any, error) {
		name, view, viewed := strings.Cut(target, ":")
		if show, ok := s.Views[view]; ok && viewed {
			return show(project, name)
		}
		return s.Get(project, target, asOf(r))
	})
	one(http.MethodPatch, all+"/{name}", http.StatusOK, func(r *http.Request, project, name string) (any, error) {
		return s.Update(project, name, decoder(r))
	})
	one(http.MethodDelete, all+"/{name}", http.StatusAccepted, func(_ *http.Request, project, name string) (any, error) {
		return s.Delete(project, name)
	})
	if len(s.Verbs) == 0 {
		return
	}
	one(http.MethodPost, all+"/{name}", http.StatusOK, func(r *http.Request, project, target string) (any, error) {
		name, verb, _ := strings.Cut(target, ":")
		do, ok := s.Verbs[verb]
		if !ok {
			return nil, refusal.NotFound("POST is not supported at %s: use NAME:%s", r.URL.Path,
				strings.Join(slices.Sorted(maps.Keys(s.Verbs)), " or NAME:"))
		}
		return do(r.Context(), project, name, decoder(r))
	})
}

func (s Service) create(w http.ResponseWriter, r *http.Request) error {
	var key string
	if !s.IgnoresKeys {
		var err error
		if key, err = idempotencyKey(r); err != nil {
			return err
		}
	}
	created, err := s.Create(r.Context(), r.PathValue("project"), key, decoder(r))
	if err != nil {
		return err
	}
	if created.Replayed {
		w.Header().Set(sdk.HeaderReplayed, "true")
		respond(w, http.StatusOK, created.Body)
		return nil
	}
	w.Header().Set("Location", r.URL.JoinPath(created.Name).Path)
	respond(w, http.StatusCreated, created.Body)
	return nil
}

func decoder(r *http.Request) service.Decode { return func(into any) error { return decode(r, into) } }

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
