// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sdk is the Go client library of the favourite cloud.
//
// A Client calls the cloud for one project with one API key; the packages below services turn it into a client of one service.
// The SDK never retries a call, since only its caller knows whether that is safe and how long to wait. (Go's http.Client may
// repeat a read, or a call with an idempotency key, when a kept connection is broken; that is safe.)
//
// Errors of the cloud are *APIError, failures to reach it are *ConnectionError. Callers branch on APIError.Code and never on a
// message.
//
//	c, err := sdk.NewClient(sdk.Config{Endpoint: "http://127.0.0.1:7070", Project: "demo", APIKey: key})
//	instance, err := database.NewClient(c).Get(ctx, "orders")
//	if sdk.IsNotFound(err) { … }
//
// The package imports only the standard library.
package sdk

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"
)

// Headers of the cloud and its clients.
const (
	HeaderIdempotencyKey = "Idempotency-Key"     // the idempotency key of a create
	HeaderReplayed       = "Idempotent-Replayed" // "true" in an answer that repeats that to an earlier request
	HeaderCloud          = "Cloud-Id"            // the id of the cloud, in every answer
)

const (
	defaultTimeout = 10 * time.Second
	maxAnswerBytes = 16 << 20
)

// Config configures a Client. Endpoint, Project and APIKey are required.
type Config struct {
	Endpoint   string       // the URL of the cloud, for example http://127.0.0.1:7070
	Project    string       // the project of every call
	APIKey     string       // a key of that project
	HTTPClient *http.Client // makes the requests. Default: a client with a timeout of ten seconds.
}

// Client calls the cloud for one project. It is safe for concurrent use.
type Client struct {
	endpoint string
	project  string
	token    string
	http     *http.Client
	cloud    atomic.Pointer[string] // the last id in an answer, nil for none
}

// NewClient returns a client for the project of c. It makes no request; the error names every missing or malformed field.
func NewClient(c Config) (*Client, error) {
	endpoint, err := parseEndpoint(c.Endpoint)
	problems := []error{err}
	if c.Project == "" {
		problems = append(problems, errors.New("project is required"))
	}
	if c.APIKey == "" {
		problems = append(problems, errors.New("API key is required"))
	} else if !isHeaderValue(c.APIKey) {
		problems = append(problems, errors.New("API key contains spaces, line ends or other invalid characters"))
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	if c.HTTPClient == nil {
		c.HTTPClient = &http.Client{Timeout: defaultTimeout}
	}
	return &Client{endpoint: endpoint, project: c.Project, token: c.APIKey, http: c.HTTPClient}, nil
}

func parseEndpoint(endpoint string) (string, error) {
	u, err := url.Parse(endpoint)
	if err != nil {
		return "", fmt.Errorf("endpoint: %w", err)
	}
	if (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return "", fmt.Errorf("endpoint %q is not a URL such as http://127.0.0.1:7070", endpoint)
	}
	if u.User != nil {
		return "", errors.New("endpoint: a user and a password are not supported: the API key is separate")
	}
	return strings.TrimSuffix(endpoint, "/"), nil
}

// isHeaderValue reports whether s can be sent in a header. net/http refuses a key with a line end with an error that contains it.
func isHeaderValue(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
}

// Project returns the project of the client.
func (c *Client) Project() string { return c.project }

// Endpoint returns the URL of the cloud.
func (c *Client) Endpoint() string { return c.endpoint }

// Cloud returns the last id of a cloud that an answer contained, also after answers without one, as of a gateway; "" while none did, as for
// an earlier version of the cloud. It may be from another call than the caller's own: if several clouds answer at the endpoint, it does
// not show which one answered that. The id of a restored cloud is its own id, a slash and the id of the original.
func (c *Client) Cloud() string {
	id := c.cloud.Load()
	if id == nil {
		return ""
	}
	return *id
}

// CallOption modifies one call.
type CallOption func(*http.Request)

// WithIdempotencyKey makes a create safe to repeat: every further request with the same key gets the answer to the first one,
// with its secrets, as long as the created object exists. Keys have 1 to 255 printable ASCII characters.
func WithIdempotencyKey(key string) CallOption {
	return func(r *http.Request) { r.Header.Set(HeaderIdempotencyKey, key) }
}

// request is one call. path is that of the URL; query and body may be nil.
type request struct {
	method, path string
	query        url.Values
	body         any
}

// do makes one call and decodes its answer into out unless out is nil. replayed is true when the answer is that to an earlier
// request with the same idempotency key. The error is an *APIError when the cloud refused, a *ConnectionError when it could not
// be reached.
func (c *Client) do(ctx context.Context, req request, out any, opts ...CallOption) (replayed bool, err error) {
	r, err := c.newRequest(ctx, req)
	if err != nil {
		return false, err
	}
	for _, o := range opts {
		o(r)
	}
	resp, err := c.http.Do(r)
	if err != nil {
		return false, newConnectionError(c.endpoint, err)
	}
	defer resp.Body.Close() // The body has been read.
	if id := resp.Header.Get(HeaderCloud); id != "" {
		c.cloud.Store(&id)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswerBytes))
	if err != nil {
		return false, newConnectionError(c.endpoint, fmt.Errorf("reading answer: %w", err))
	}
	if resp.StatusCode >= http.StatusMultipleChoices {
		return false, newAPIError(resp, body)
	}
	if out != nil {
		if err := json.Unmarshal(body, out); err != nil {
			return false, fmt.Errorf("decoding answer of %s: %w", c.endpoint, err)
		}
	}
	return resp.Header.Get(HeaderReplayed) == "true", nil
}

func (c *Client) newRequest(ctx context.Context, req request) (*http.Request, error) {
	var body io.Reader
	if req.body != nil {
		data, err := json.Marshal(req.body)
		if err != nil {
			return nil, fmt.Errorf("encoding request: %w", err)
		}
		body = bytes.NewReader(data)
	}
	target := c.endpoint + req.path
	if len(req.query) > 0 {
		target += "?" + req.query.Encode()
	}
	r, err := http.NewRequestWithContext(ctx, req.method, target, body)
	if err != nil {
		return nil, fmt.Errorf("building request: %w", err)
	}
	r.Header.Set("Authorization", "Bearer "+c.token)
	r.Header.Set("Accept", "application/json")
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	return r, nil
}

// inProject is the path of a path below a project.
func inProject(project, path string) string {
	return "/v1/projects/" + url.PathEscape(project) + "/" + path
}

// States of objects. Each service uses some of them.
const (
	StatusCreating  = "CREATING"  // the object is being created
	StatusOnline    = "ONLINE"    // the server accepts connections
	StatusAvailable = "AVAILABLE" // the object can be used
	StatusUpdating  = "UPDATING"  // a change is being applied
	StatusDeleting  = "DELETING"  // the object is being deleted. It is not found once that is done.
	StatusFailed    = "FAILED"    // the server is down or does not answer, for the reason in Message. The cloud retries within ten seconds.
)

// Collection calls the routes of the objects of one type for one project. Object is an object in an answer, Created the answer to
// a create request; In and Change describe a create and an update. It is safe for concurrent use. Errors about one object satisfy
// IsNotFound when there is none.
type Collection[Object, Created, In, Change any] struct {
	client      *Client
	path, field string
}

// NewCollection returns the collection at a path, which is relative to the project. field is the field of the answer to List.
func NewCollection[Object, Created, In, Change any](c *Client, path, field string) *Collection[Object, Created, In, Change] {
	return &Collection[Object, Created, In, Change]{client: c, path: inProject(c.project, path), field: field}
}

// Credentials are the part of the answer to a create request that no other answer contains.
type Credentials struct {
	Password string `json:"password"` // the password of the server at the time of the request
	Replayed bool   `json:"-"`        // true for the answer to an earlier request with the same idempotency key
}

func (c *Credentials) setReplayed(replayed bool) { c.Replayed = replayed }

// Get returns an object.
func (c *Collection[Object, Created, In, Change]) Get(ctx context.Context, id string) (*Object, error) {
	return c.call(ctx, http.MethodGet, id, nil)
}

// View returns an object with what Get does not show.
func (c *Collection[Object, Created, In, Change]) View(ctx context.Context, id, view string) (*Object, error) {
	return c.call(ctx, http.MethodGet, id+":"+view, nil)
}

// List returns the objects that have all of the labels, ordered by id or name; no labels select all objects.
func (c *Collection[Object, Created, In, Change]) List(ctx context.Context, labels map[string]string) ([]Object, error) {
	query, answer := url.Values{}, map[string][]Object{}
	for key, value := range labels {
		query.Add("label", key+"="+value)
	}
	_, err := c.client.do(ctx, request{method: http.MethodGet, path: c.path, query: query}, &answer)
	return answer[c.field], err
}

// Create creates an object. The error satisfies IsExists when its name is taken.
func (c *Collection[Object, Created, In, Change]) Create(ctx context.Context, in In, opts ...CallOption) (*Created, error) {
	created := new(Created)
	replayed, err := c.client.do(ctx, request{method: http.MethodPost, path: c.path, body: in}, created, opts...)
	if err != nil {
		return nil, err
	}
	if replayable, ok := any(created).(interface{ setReplayed(replayed bool) }); ok {
		replayable.setReplayed(replayed)
	}
	return created, nil
}

// Update changes an object and returns it.
func (c *Collection[Object, Created, In, Change]) Update(ctx context.Context, id string, in Change) (*Object, error) {
	return c.call(ctx, http.MethodPatch, id, in)
}

// Invoke calls a verb of an object, other than those of HTTP, and returns the object.
func (c *Collection[Object, Created, In, Change]) Invoke(ctx context.Context, id, verb string, in any) (*Object, error) {
	return c.call(ctx, http.MethodPost, id+":"+verb, in)
}

// CheckPassword reports whether the server of an object accepts a password. The cloud tries it on the server, so this costs a login. The
// error has CodeConflict while the server does not run or does not answer. Objects that are no servers have no passwords to check.
func (c *Collection[Object, Created, In, Change]) CheckPassword(ctx context.Context, id, password string) (accepted bool, err error) {
	var answer PasswordAnswer
	path := c.path + "/" + url.PathEscape(id) + ":" + VerbCheckPassword
	_, err = c.client.do(ctx, request{method: http.MethodPost, path: path, body: PasswordCheck{Password: password}}, &answer)
	return answer.Accepted, err
}

// PasswordCheck is the request of CheckPassword, PasswordAnswer the answer.
type (
	PasswordCheck struct {
		Password string `json:"password"` // the password to try
	}
	PasswordAnswer struct {
		Accepted bool `json:"accepted"` // true if the server accepts it
	}
)

// Verbs of objects: POST …/NAME:VERB.
const (
	VerbAutoscale     = "autoscale"     // of node groups
	VerbCheckPassword = "checkPassword" // of instances
)

// Delete deletes an object.
func (c *Collection[Object, Created, In, Change]) Delete(ctx context.Context, id string) error {
	_, err := c.call(ctx, http.MethodDelete, id, nil)
	return err
}

func (c *Collection[Object, Created, In, Change]) call(ctx context.Context, method, id string, body any) (*Object, error) {
	object := new(Object)
	if _, err := c.client.do(ctx, request{method: method, path: c.path + "/" + url.PathEscape(id), body: body}, object); err != nil {
		return nil, err
	}
	return object, nil
}
