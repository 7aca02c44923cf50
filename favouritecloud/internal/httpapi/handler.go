// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package httpapi is the cloud's HTTP/JSON interface: routes, authentication, errors, limits.
//
// A route is a function that returns an error; only respondError turns an error into an answer. Services are independent of HTTP.
package httpapi

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/bowline-dev/bowline/favouritecloud/internal/faults"
	"github.com/bowline-dev/bowline/favouritecloud/internal/refusal"
	"github.com/bowline-dev/bowline/favouritecloud/internal/store"
	"github.com/bowline-dev/bowline/favouritecloud/sdk"
)

const (
	maxBodyBytes = 1 << 20 // the largest body, far more than any request needs
	inProject    = "/v1/projects/{project}/"
)

// Config configures the API. All fields except Faults are required.
type Config struct {
	Store          *store.Store      // holds the API keys
	Services       []Service         // the services of projects
	Faults         *faults.Injector  // injects faults into calls and counts them; nil disables both
	ID             string            // of the cloud
	AdminTokenHash [sha256.Size]byte // the SHA-256 of the admin token
	Backup         func(ctx context.Context, w io.Writer, skip []string) error
	Log            *slog.Logger // receives every request at level debug, and internal errors
}

// API is the HTTP handler of the cloud.
type API struct {
	Config
	routes  *http.ServeMux
	copying sync.Mutex // held by a backup: two would copy each server twice at once
}

// New returns the handler of all routes.
func New(c Config) *API {
	a := &API{Config: c, routes: http.NewServeMux()}
	a.routes.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") })
	a.handle("POST "+inProject+"keys", a.forAdmin(a.createKey))
	a.handle("POST /v1/backup", a.forAdmin(a.backup))
	for _, s := range c.Services {
		a.addService(s)
	}
	if a.Faults != nil {
		a.addFaultRoutes()
	}
	return a
}

// route answers a request or returns an error.
type route func(w http.ResponseWriter, r *http.Request) error

func (a *API) handle(pattern string, serve route) {
	a.routes.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		if err := serve(w, r); err != nil {
			a.respondError(w, r, err)
		}
	})
}

// backup sends a tar archive. Unlike other requests it has no time limit.
func (a *API) backup(w http.ResponseWriter, r *http.Request) error {
	if !a.copying.TryLock() {
		return refusal.Conflict("another backup of this cloud runs, or was interrupted a moment ago: repeat this one in half a minute")
	}
	defer a.copying.Unlock()
	if err := http.NewResponseController(w).SetWriteDeadline(time.Time{}); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/x-tar")
	if err := a.Backup(r.Context(), flusher{w, http.NewResponseController(w)}, r.URL.Query()["skip"]); err != nil {
		a.Log.Error("backup failed", "error", err) // The archive has the error too, or no end.
	}
	return nil
}

// A flusher sends what is written at once.
type flusher struct {
	io.Writer
	*http.ResponseController
}

// Write satisfies io.Writer.
func (f flusher) Write(p []byte) (int, error) {
	n, err := f.Writer.Write(p)
	return n, errors.Join(err, f.Flush())
}

// ServeHTTP answers one request and logs it, without header, query and body, since they may contain secrets.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	started := time.Now()
	w.Header().Set(sdk.HeaderCloud, a.ID)
	recorder := &statusRecorder{ResponseWriter: w, status: http.StatusOK}
	r.Body = http.MaxBytesReader(recorder, r.Body, maxBodyBytes)
	if handler, pattern := a.routes.Handler(r); pattern == "" {
		a.respondNoRoute(recorder, r, handler)
	} else if call, ok := faultyCall(r); ok && a.Faults != nil {
		a.serveWithFaults(recorder, r, call)
	} else {
		a.routes.ServeHTTP(recorder, r)
	}
	a.Log.Debug("request", "method", r.Method, "path", r.URL.Path, "status", recorder.status, "took", time.Since(started))
}

// respondNoRoute sends the answer of the mux as JSON: 404, or 405 with the methods that are allowed.
func (a *API) respondNoRoute(w http.ResponseWriter, r *http.Request, standard http.Handler) {
	probe := &statusRecorder{ResponseWriter: discard{header: w.Header()}, status: http.StatusOK}
	standard.ServeHTTP(probe, r)
	err := refusal.NotFound("path %s does not exist", r.URL.Path)
	if probe.status == http.StatusMethodNotAllowed {
		err = refusal.New(probe.status, sdk.CodeInvalid, "method %s is not allowed here: use %s", r.Method, w.Header().Get("Allow"))
	}
	a.respondError(w, r, err)
}

// respondError is the only place that turns an error into an answer.
func (a *API) respondError(w http.ResponseWriter, r *http.Request, err error) {
	refused, ok := errors.AsType[*refusal.Error](err)
	if !ok {
		a.Log.Error("request failed", "method", r.Method, "path", r.URL.Path, "error", err)
		refused = &refusal.Error{
			Status: http.StatusInternalServerError, Code: sdk.CodeInternal,
			Message: "the request failed because of an internal error: see the log of the cloud",
		}
	}
	if refused.RetryAfter > 0 {
		seconds := max(1, math.Ceil(refused.RetryAfter.Seconds())) // The header has whole seconds.
		w.Header().Set("Retry-After", strconv.Itoa(int(seconds)))
	}
	if refused.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	body := sdk.ErrorBody{Error: sdk.ErrorDetail{Code: refused.Code, Message: refused.Message}}
	if err := respondJSON(w, refused.Status, body); err != nil {
		a.Log.Error("encoding answer", "error", err)
	}
}

// respond sends an encoded answer. It fails only if the client has disconnected.
func respond(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n'))
}

func respondJSON(w http.ResponseWriter, status int, value any) error {
	body, err := json.Marshal(value)
	if err != nil {
		return err
	}
	respond(w, status, body)
	return nil
}

// decode decodes the body of a request, one JSON object. It refuses unknown fields, since they may be misspelt.
func decode(r *http.Request, into any) error {
	body, err := io.ReadAll(r.Body)
	if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return refusal.New(http.StatusRequestEntityTooLarge, sdk.CodeInvalid, "the request is longer than %d bytes", tooLarge.Limit)
	}
	if err != nil {
		return malformed("the request ended early")
	}
	if len(bytes.TrimSpace(body)) == 0 {
		return malformed("the request has no body: send a JSON object")
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return decodeRefusal(err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return malformed("the request has more than one JSON value")
	}
	return nil
}

func malformed(message string) error {
	return refusal.New(http.StatusBadRequest, sdk.CodeInvalid, "%s", message)
}

func decodeRefusal(err error) error {
	if wrongType, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		if wrongType.Field == "" {
			return refusal.Invalid("the request must be a JSON object, not a %s", wrongType.Value)
		}
		return refusal.Invalid("field %q cannot be a %s", wrongType.Field, wrongType.Value)
	}
	if field, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok { // encoding/json has no type for this error.
		return refusal.Invalid("field %s is unknown", field)
	}
	return malformed("the request is not valid JSON")
}

// statusRecorder records the status for the log, and calls before, if any, before the answer is sent.
type statusRecorder struct {
	http.ResponseWriter
	status int
	before func(status int)
}

func (s *statusRecorder) WriteHeader(status int) {
	s.status = status
	if s.before != nil {
		s.before(status)
	}
	s.ResponseWriter.WriteHeader(status)
}

// Unwrap returns the wrapped writer for http.ResponseController.
func (s *statusRecorder) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// discard keeps the headers of an answer and discards the rest.
type discard struct{ header http.Header }

func (d discard) Header() http.Header         { return d.header }
func (d discard) Write(p []byte) (int, error) { return len(p), nil }
func (d discard) WriteHeader(int)             {}
