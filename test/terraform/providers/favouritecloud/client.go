// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package favouritecloud

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
)

const (
	attempts     = 5
	pollInterval = 200 * time.Millisecond
	longest      = 10 * time.Minute // of a call of Terraform
	idempotency  = "Idempotency-Key"
)

// A client calls the HTTP API.
type client struct{ endpoint, key, project string }

// A refusal is an answer that is not 2xx.
type refusal struct {
	status int
	text   string
}

func (r *refusal) Error() string { return fmt.Sprintf("%s (HTTP %d)", r.text, r.status) }

func isNotFound(err error) bool {
	r, ok := errors.AsType[*refusal](err)
	return ok && r.status == http.StatusNotFound
}

// call makes a request and decodes its answer into out. One that may be repeated is, after a failure of the cloud or the connection: reads,
// deletes, changes, and creates with a key.
func (c *client) call(ctx context.Context, method, path, key string, in, out any) error {
	var body []byte
	if in != nil {
		var err error
		if body, err = json.Marshal(in); err != nil {
			return err
		}
	}
	for n := 1; ; n++ {
		err := c.try(ctx, method, path, key, body, out)
		if err == nil || n == attempts || !repeatable(err, method, key) {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		case <-time.After(time.Duration(n) * pollInterval):
		}
	}
}

func repeatable(err error, method, key string) bool {
	if r, ok := errors.AsType[*refusal](err); ok {
		return r.status == http.StatusTooManyRequests || r.status >= http.StatusInternalServerError && (key != "" || method != http.MethodPost)
	}
	return key != "" || method != http.MethodPost
}

func (c *client) try(ctx context.Context, method, path, key string, body []byte, out any) error {
	target := c.endpoint + "/v1/projects/" + url.PathEscape(c.project) + "/" + path
	req, err := http.NewRequestWithContext(ctx, method, target, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+c.key)
	if key != "" {
		req.Header.Set(idempotency, key)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode >= http.StatusMultipleChoices {
		var refused struct {
			Error struct{ Message string }
		}
		if err := json.Unmarshal(answer, &refused); err != nil {
			return &refusal{resp.StatusCode, "the endpoint is not a favourite cloud"}
		}
		return &refusal{resp.StatusCode, refused.Error.Message}
	}
	return json.Unmarshal(answer, out)
}

// await calls check until it is done.
func await(ctx context.Context, check func() (done bool, state string, err error)) error {
	for {
		done, state, err := check()
		if done || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("stopped while the status was %s: %w", state, ctx.Err())
		case <-time.After(pollInterval):
		}
	}
}

func fail(diagnostics *diag.Diagnostics, err error) {
	if err != nil {
		diagnostics.AddError("The cloud has failed", err.Error())
	}
}
