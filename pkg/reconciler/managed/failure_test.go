// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bowline-dev/bowline/pkg/clients/limits"
)

// People who may not see where the external system is can tell by the beginning of a message whether it may say that.
func TestOutOfReach(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		err  error
		want bool
	}{
		"N17 the vendor's own answer":      {err: errors.New("quota exceeded")},
		"N17 a setting that is refused":    {err: Terminal(errors.New("size 3 is sold out"))},
		"N17 nobody answers":               {err: &url.Error{Op: "Get", URL: "http://cloud", Err: errors.New("EOF")}, want: true},
		"N17 nobody listens":               {err: syscall.ECONNREFUSED, want: true},
		"N17 time ran out":                 {err: context.DeadlineExceeded, want: true},
		"N17 held back":                    {err: &limits.NotSentError{After: time.Second}, want: true},
		"N17 not signed in":                {err: &limits.NotSentError{After: time.Second}, want: true},
		"N17 refused credentials":          {err: limits.ErrRefused, want: true},
		"N17 the vendor asks for patience": {err: limits.ErrSlowDown, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := callFailed("observing", fmt.Errorf("cannot observe: %w", tc.err)).Error()
			if strings.HasPrefix(got, "observing the external resource: out of reach: cannot") != tc.want ||
				!strings.HasPrefix(got, "observing the external resource: ") || !strings.HasSuffix(got, "cannot observe: "+tc.err.Error()) {
				t.Errorf("got %q", got)
			}
		})
	}
}
