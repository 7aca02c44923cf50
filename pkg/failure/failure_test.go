// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package failure_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bowline-dev/bowline/pkg/failure"
)

type patient struct{ after time.Duration }

func (patient) Error() string               { return "busy" }
func (p patient) RetryAfter() time.Duration { return p.after }

func TestOf(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom at 10.0.0.1:5432")
	unreachable, throttled := failure.Of(failure.Unreachable(boom)), failure.Of(failure.Throttled(boom, 0))
	untrusted := failure.Class{Reason: failure.ExternalSystemUntrusted, Message: unreachable.Message}
	if unreachable.Message == "" || throttled.Message == "" {
		t.Error("application teams do not learn that the external system does not answer")
	}
	cases := map[string]struct {
		err  error
		want failure.Class
	}{
		"nothing":                      {nil, failure.Class{}},
		"unclassified":                 {boom, failure.Class{Reason: failure.InternalError}},
		"for the platform team":        {failure.With(failure.QuotaExceeded, boom), failure.Class{Reason: failure.QuotaExceeded}},
		"new":                          {failure.New(failure.InvalidSettings, "x"), failure.Class{Reason: failure.InvalidSettings}},
		"for the application team":     {failure.ForTeam(failure.QuotaExceeded, "full", boom), failure.Class{Reason: failure.QuotaExceeded, Message: "full"}},
		"wrapped":                      {fmt.Errorf("creating: %w", failure.ForTeam(failure.QuotaExceeded, "full", boom)), failure.Class{Reason: failure.QuotaExceeded, Message: "full"}},
		"joined":                       {errors.Join(boom, failure.With(failure.QuotaExceeded, boom)), failure.Class{Reason: failure.QuotaExceeded}},
		"classified again":             {failure.With(failure.InvalidSettings, failure.ForTeam(failure.QuotaExceeded, "full", boom)), failure.Class{Reason: failure.InvalidSettings}},
		"a default counts not":         {failure.Default(failure.ExternalCallFailed, failure.ForTeam(failure.QuotaExceeded, "full", boom)), failure.Class{Reason: failure.QuotaExceeded, Message: "full"}},
		"a default counts":             {failure.Default(failure.ExternalCallFailed, boom), failure.Class{Reason: failure.ExternalCallFailed}},
		"terminal classifies not":      {failure.Terminal(failure.With(failure.QuotaExceeded, boom)), failure.Class{Reason: failure.QuotaExceeded}},
		"an error that asks for time":  {patient{time.Second}, throttled},
		"a network error":              {fmt.Errorf("calling: %w", &net.OpError{Op: "dial", Err: boom}), unreachable},
		"a deadline":                   {context.DeadlineExceeded, unreachable},
		"a certificate":                {fmt.Errorf("calling: %w", &url.Error{Err: &tls.CertificateVerificationError{Err: boom}}), untrusted},
		"a server without TLS":         {&url.Error{Err: http.ErrSchemeMismatch}, untrusted},
		"a server that speaks no TLS":  {failure.Unreachable(tls.RecordHeaderError{Msg: "x"}), untrusted},
		"a handshake that is refused":  {&net.OpError{Op: "remote error", Err: boom}, untrusted},
		"untrusted before":             {failure.Untrusted(boom), untrusted},
		"a network error of another":   {failure.With(failure.InternalError, context.DeadlineExceeded), failure.Class{Reason: failure.InternalError}},
		"an error that asks for none":  {patient{}, failure.Class{Reason: failure.InternalError}},
		"unreachable for a known time": {failure.Unreachable(patient{time.Second}), unreachable},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, failure.Of(tc.err)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestMarks(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	cases := map[string]struct {
		err      error
		after    time.Duration
		terminal bool
	}{
		"plain":                  {err: boom},
		"throttled":              {err: fmt.Errorf("x: %w", failure.Throttled(boom, time.Minute)), after: time.Minute},
		"throttled by a method":  {err: failure.Throttled(patient{time.Second}, 0), after: time.Second},
		"throttled without time": {err: failure.Throttled(boom, 0)},
		"terminal":               {err: fmt.Errorf("x: %w", failure.Terminal(boom)), terminal: true},
		"terminal and classified": {
			err: failure.With(failure.InvalidSettings, failure.Terminal(boom)), terminal: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			after, asked := failure.RetryAfter(tc.err)
			if after != tc.after || asked != (tc.after > 0) || failure.IsTerminal(tc.err) != tc.terminal {
				t.Errorf("after %s (asked: %t), terminal: %t", after, asked, failure.IsTerminal(tc.err))
			}
			if !errors.Is(tc.err, boom) && !errors.As(tc.err, new(patient)) {
				t.Error("the cause is lost")
			}
		})
	}
	for _, err := range []error{failure.Terminal(nil), failure.Unreachable(nil), failure.Throttled(nil, time.Second),
		failure.With(failure.InternalError, nil), failure.Default(failure.InternalError, nil)} {
		if err != nil {
			t.Errorf("nil became %v", err)
		}
	}
	if err := (&failure.Error{Reason: failure.QuotaExceeded, Message: "full"}); err.Error() != "full" {
		t.Errorf("without a cause the error is %q", err)
	}
}

// Each reason has one explanation, so that the catalogue is complete.
func TestExplanations(t *testing.T) {
	t.Parallel()
	explained := map[string]bool{}
	for _, e := range failure.Explanations() {
		if explained[string(e.Reason)] || e.Meaning == "" || e.Action == "" {
			t.Errorf("%s: twice, or without meaning or action", e.Reason)
		}
		explained[string(e.Reason)] = true
	}
	file, err := parser.ParseFile(token.NewFileSet(), "reasons.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok && !explained[spec.Names[0].Name] {
			t.Errorf("%s has no explanation", spec.Names[0].Name)
		}
		return true
	})
}

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

func Example() {
	answer := errors.New("403 from https://api.example.org: limit of project 4711 reached")
	err := failure.ForTeam(failure.QuotaExceeded, "the quota of 5 buckets is used up: delete one, or ask for more", answer)
	err = fmt.Errorf("creating the external resource: %w", err)

	class := failure.Of(err)
	fmt.Println(class.Reason)
	fmt.Println(class.Message)
	// Output:
	// QuotaExceeded
	// the quota of 5 buckets is used up: delete one, or ask for more
}
