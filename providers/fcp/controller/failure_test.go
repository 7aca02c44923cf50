// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bowline-dev/bowline/favouritecloud/sdk"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/network"
	"github.com/bowline-dev/bowline/pkg/failure"
)

func TestClassify(t *testing.T) {
	t.Parallel()
	const others = `project "p-4711" at https://cloud.example.org, subnet "sn-of-others", key s3cret`
	answer := func(code string) error { return &sdk.APIError{Code: code, Message: others} }
	size := &sdk.APIError{Status: http.StatusUnprocessableEntity, Code: sdk.CodeInvalid, Message: "memory_megabytes 1 is not valid: it must be 16 to 4096"}
	silent := &sdk.ConnectionError{Endpoint: "https://cloud.example.org", Err: io.EOF}
	unreachable, throttled := failure.Of(failure.Unreachable(io.EOF)), failure.Of(failure.Throttled(io.EOF, 0))
	refused := failure.Class{Reason: failure.ExternalSystemRefused}
	invalid := failure.Class{Reason: failure.InvalidSettings, Message: size.Message}
	for name, tc := range map[string]struct {
		err  error
		want failure.Class
	}{
		"settings":                {size, invalid},
		"wrapped":                 {fmt.Errorf("creating at https://cloud.example.org: %w", size), invalid},
		"joined":                  {errors.Join(errors.New(others), size), invalid},
		"throttled":               {&sdk.APIError{Code: sdk.CodeThrottled, Message: others, RetryDelay: time.Minute}, throttled},
		"throttled without delay": {answer(sdk.CodeThrottled), throttled},
		"API key unknown":         {answer(sdk.CodeUnauthorized), refused},
		"API key of another":      {fmt.Errorf("x: %w", answer(sdk.CodeForbidden)), refused},
		"no answer":               {silent, unreachable},
		"no answer, wrapped":      {errors.Join(fmt.Errorf("x: %w", silent)), unreachable},
		"not the cloud":           {&sdk.APIError{Status: http.StatusBadGateway, Message: others}, unreachable},
		"name taken":              {answer(sdk.CodeExists), failure.Class{Reason: failure.ExternalNameTaken, Message: messageTaken}},
		"missing":                 {answer(sdk.CodeNotFound), failure.Class{Reason: failure.ExternalCallFailed, Message: messageMissing}},
		"conflict":                {answer(sdk.CodeConflict), failure.Class{Reason: failure.ExternalCallFailed, Message: messageConflict}},
		"failure of the cloud":    {answer(sdk.CodeInternal), failure.Class{Reason: failure.ExternalCallFailed, Message: messageInternal}},
		"classified by others":    {failure.With(failure.QuotaExceeded, size), failure.Class{Reason: failure.QuotaExceeded}},
		"anything else":           {errors.New(others), failure.Class{Reason: failure.InternalError}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := classify(tc.err)
			if diff := cmp.Diff(tc.want, failure.Of(err)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if !errors.Is(err, tc.err) {
				t.Error("the cause is lost")
			}
			for _, secret := range strings.Fields(others) {
				if len(secret) > 6 && strings.Contains(failure.Of(err).Message, secret) {
					t.Errorf("application teams read %s", secret)
				}
			}
		})
	}
	if after, _ := failure.RetryAfter(classify(&sdk.APIError{Code: sdk.CodeThrottled, RetryDelay: time.Minute})); after != time.Minute {
		t.Errorf("the cloud asks to wait for a minute, not %s", after)
	}
}

// A copy names its original, so that two copies of it are told apart; clouds with projects of the same name are unrelated.
func TestIdentify(t *testing.T) {
	t.Parallel()
	for id, want := range map[string][2]string{
		"":          {"", ""},
		"abc":       {"abc/projects/demo", "abc/projects/demo"},
		"r2/r1/abc": {"r2/r1/abc/projects/demo", "abc/projects/demo"},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Header().Set(sdk.HeaderCloud, id) }))
		defer server.Close()
		c, err := sdk.NewClient(sdk.Config{Endpoint: server.URL, Project: "demo", APIKey: "key"})
		if err != nil {
			t.Fatal(err)
		}
		_, _ = network.NewClient(c).List(t.Context(), nil) // only its header matters
		of := system(nil)
		if got := [2]string{of.Identify(c).ID, of.Origin(c)}; got != want {
			t.Errorf("cloud %q: system and origin %q, want %q", id, got, want)
		}
	}
}
