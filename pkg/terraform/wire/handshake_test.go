// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"errors"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/bowline-dev/bowline/pkg/terraform/wire"
)

func newHandshake(t *testing.T) *wire.Handshake {
	t.Helper()
	h, err := wire.NewHandshake()
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// certificate is what a process finds in its environment.
func certificate(t *testing.T, h *wire.Handshake) string {
	t.Helper()
	for _, variable := range h.Environment() {
		if found, ok := strings.CutPrefix(variable, "PLUGIN_CLIENT_CERT="); ok {
			return found
		}
	}
	t.Fatal("the environment has no certificate")
	return ""
}

func TestDialRefusesOtherPrograms(t *testing.T) {
	t.Parallel()
	h := newHandshake(t)
	other := "versions 5 and 6 by grpc are supported: use a newer release of it"
	for name, tc := range map[string]struct{ line, want string }{
		"nothing":                         {"", wire.ErrNoPlugin.Error()},
		"a text":                          {"Usage: terraform", wire.ErrNoPlugin.Error()},
		"bars only":                       {"|||||||", wire.ErrNoPlugin.Error()},
		"four parts":                      {"1|6|unix|/tmp/p", wire.ErrNoPlugin.Error()},
		"another version of handshakes":   {"2|6|unix|/tmp/p|grpc|", wire.ErrNoPlugin.Error()},
		"version 4":                       {"1|4|unix|/tmp/p|netrpc|", "version 4 of the plugin protocol by netrpc, and " + other},
		"version 7":                       {"1|7|unix|/tmp/p|grpc|", "version 7 of the plugin protocol by grpc, and " + other},
		"a version that is no number":     {"1|x|unix|/tmp/p|grpc|", other},
		"version 5 by another protocol":   {"1|5|unix|/tmp/p|netrpc|", "version 5 of the plugin protocol by netrpc, and " + other},
		"another network":                 {"1|6|udp|127.0.0.1:1|grpc|", wire.ErrNoPlugin.Error()},
		"no TLS over tcp":                 {"1|6|tcp|127.0.0.1:1|grpc", wire.ErrNoPlugin.Error()},
		"an empty certificate over tcp":   {"1|6|tcp|127.0.0.1:1|grpc|", wire.ErrNoPlugin.Error()},
		"a certificate that is no base64": {"1|6|unix|/tmp/p|grpc|*", wire.ErrNoPlugin.Error()},
		"base64 that is no certificate":   {"1|6|unix|/tmp/p|grpc|AAAA", wire.ErrNoPlugin.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := h.Dial(tc.line); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%q returns %v, want %s", tc.line, err, tc.want)
			}
		})
	}
}

func FuzzDial(f *testing.F) {
	for _, line := range []string{"", "1|6|unix|/tmp/p|grpc|", "1|5|tcp|127.0.0.1:1|grpc|AAAA", "1|6|unix||grpc", "1|6|unix|\x00|grpc|"} {
		f.Add(line)
	}
	h, err := wire.NewHandshake()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, line string) {
		conn, err := h.Dial(line)
		if err != nil {
			return
		}
		if conn.Version != 5 && conn.Version != 6 {
			t.Errorf("%q has version %d", line, conn.Version)
		}
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	})
}

// Each side accepts only the other's certificate.
func TestCertificates(t *testing.T) {
	t.Parallel()
	ours, theirs, stranger := newHandshake(t), newHandshake(t), newHandshake(t)
	for name, tc := range map[string]struct {
		tcp     bool
		client  *wire.Handshake
		printed func(line string) string
		want    codes.Code
	}{
		"unix":                 {client: ours, want: codes.Unimplemented},
		"tcp":                  {tcp: true, client: ours, want: codes.Unimplemented},
		"with further parts":   {client: ours, want: codes.Unimplemented, printed: func(line string) string { return line + "|true|x\r\n" }},
		"with a padding":       {client: ours, want: codes.Unimplemented, printed: func(line string) string { return line + "==" }},
		"another client":       {client: stranger, want: codes.Unavailable},
		"a client without TLS": {client: ours, want: codes.Unavailable, printed: func(line string) string { return line[:strings.LastIndex(line, "|")] }},
		"another process": {client: ours, want: codes.Unavailable, printed: func(line string) string {
			other := serve(t, stranger, listen(t), 6, ours)
			return line[:strings.LastIndex(line, "|")] + other[strings.LastIndex(other, "|"):]
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			listener := listen(t)
			if tc.tcp {
				listener = listenTCP(t)
			}
			line := serve(t, theirs, listener, 6, ours)
			if tc.printed != nil {
				line = tc.printed(line)
			}
			err := dial(t, tc.client, line).Call(t.Context(), wire.MethodStop, &wire.StopProvider_Request{}, &wire.StopProvider_Response{})
			if got := status.Code(errors.Unwrap(err)); got != tc.want {
				t.Errorf("%v: %s, want %s", err, got, tc.want)
			}
		})
	}
}

func TestServeRequiresTheCertificateOfAClient(t *testing.T) {
	t.Parallel()
	for _, client := range []string{"", "x", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"} {
		if _, _, err := newHandshake(t).Serve(nil, 6, client); err == nil {
			t.Errorf("%q is accepted", client)
		}
	}
}
