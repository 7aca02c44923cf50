// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package fence_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/bowline-dev/bowline/pkg/clients/fence"
	"github.com/bowline-dev/bowline/pkg/failure"
)

func TestTransport(t *testing.T) {
	t.Parallel()
	served := 0
	vendor := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { served++ }))
	t.Cleanup(vendor.Close)
	until := func(d time.Duration) fence.Fence {
		end := time.Now().Add(d)
		return func() error {
			if fence.IsOver(end) {
				return fence.Late("the creation began too long ago")
			}
			return nil
		}
	}
	open, closed := until(time.Hour), until(-time.Second)
	for name, tc := range map[string]struct {
		method string
		fences []fence.Fence
		sent   bool
	}{
		"no fence (N87)":                {http.MethodPost, nil, true},
		"in time (N87)":                 {http.MethodPost, []fence.Fence{open}, true},
		"too late (N87)":                {http.MethodPost, []fence.Fence{closed}, false},
		"too late for one of two (N87)": {http.MethodDelete, []fence.Fence{closed, open}, false},
		"and of the other (N87)":        {http.MethodPut, []fence.Fence{open, closed}, false},
		"a read changes nothing (N87)":  {http.MethodGet, []fence.Fence{closed}, true},
	} {
		ctx := t.Context()
		for _, f := range tc.fences {
			ctx = fence.With(ctx, f)
		}
		before, reported := served, 0
		ctx = fence.OnSend(ctx, func() { reported++ })
		err := send(ctx, tc.method, vendor.URL)
		_, late := errors.AsType[*fence.Error](err)
		if reads := tc.method == http.MethodGet; (reported > 0) != (tc.sent && !reads) {
			t.Errorf("%s: %d calls are reported", name, reported)
		}
		if sent := served > before; sent != tc.sent || late == tc.sent || late != (failure.Of(err).Reason == failure.CallTooLate) {
			t.Errorf("%s: sent: %t, want %t: %v", name, sent, tc.sent, err)
		}
		if late && failure.IsOutcomeUnknown(err) {
			t.Errorf("%s: it is certain that nothing was sent: %v", name, err)
		}
	}
}

func send(ctx context.Context, method, url string) error {
	request, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader("{}"))
	if err != nil {
		return err
	}
	answer, err := (&http.Client{Transport: fence.Transport(nil)}).Do(request)
	if err != nil {
		return err
	}
	return answer.Body.Close()
}
