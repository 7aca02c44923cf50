// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"errors"
	"net"
	"os"
	"syscall"
	"testing"
)

// Each attempt to reach a mirror that cannot be reached has the same error.
func TestErrorsHaveNoPorts(t *testing.T) {
	t.Parallel()
	ours, theirs := &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 48613}, &net.TCPAddr{IP: net.IPv4(10, 0, 0, 2), Port: 443}
	dial := func(err error) error {
		return &net.OpError{Op: "dial", Net: "tcp", Source: ours, Addr: theirs, Err: err}
	}
	for name, tc := range map[string]struct {
		err  error
		want string
	}{
		"refused": {dial(os.NewSyscallError("connect", syscall.ECONNREFUSED)), "dial: connect: connection refused"},
		"the resolver does not answer": {dial(&net.DNSError{Err: "read udp 10.0.0.1:48613->10.0.0.2:53: i/o timeout", Name: "mirror.example.com",
			Server: "10.0.0.2:53", IsTimeout: true}), "the DNS servers do not resolve the host mirror.example.com"},
		"no such host": {dial(&net.DNSError{Err: "no such host", Name: "mirror.example.com", Server: "10.0.0.2:53", IsNotFound: true}),
			"no DNS server knows the host mirror.example.com"},
		"of another sort": {errors.New("unexpected EOF"), "unexpected EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := withoutPorts(tc.err); got.Error() != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}
