// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package failure_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/bowline-dev/bowline/pkg/failure"
)

func TestOutcomeUnknown(t *testing.T) {
	t.Parallel()
	dial := &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	for name, tc := range map[string]struct {
		err  error
		want bool
	}{
		"a refusal":                 {errors.New("quota exceeded"), false},
		"a refused connection":      {fmt.Errorf("calling: %w", dial), false},
		"the connection broke":      {fmt.Errorf("calling: %w", &net.OpError{Op: "read", Err: os.NewSyscallError("read", syscall.ECONNRESET)}), true},
		"the answer ended too soon": {fmt.Errorf("reading: %w", io.ErrUnexpectedEOF), true},
		"time ran out":              {fmt.Errorf("calling: %w", context.DeadlineExceeded), true},
		"the process is stopping":   {context.Canceled, true},
		"a lost connection (N5)":    {&url.Error{Op: "Post", URL: "https://cloud", Err: errors.New("http2: client connection lost")}, true},
		"a broken connection (N5)":  {fmt.Errorf("calling: %w", net.ErrClosed), true},
		"no such host (N5)":         {&url.Error{Op: "Post", URL: "https://cloud", Err: &net.OpError{Op: "dial", Err: &net.DNSError{}}}, false},
		"it asks for time (N5)":     {&url.Error{Op: "Post", URL: "https://cloud", Err: patient{time.Second}}, false},
		"it is marked":              {fmt.Errorf("calling: %w", failure.OutcomeUnknown(errors.New("HTTP 500"))), true},
	} {
		if got := failure.IsOutcomeUnknown(tc.err); got != tc.want {
			t.Errorf("after %s: unknown %t, want %t", name, got, tc.want)
		}
	}
	if failure.OutcomeUnknown(nil) != nil || failure.Accepted(nil) != nil {
		t.Error("no error stays none")
	}
}
