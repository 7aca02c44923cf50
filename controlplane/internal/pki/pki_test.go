// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestEnsure(t *testing.T) {
	const day = 24 * time.Hour
	tests := map[string]struct {
		later   time.Duration
		names   []string
		renewed map[string]bool // of ca.crt, serving.pem, admin.pem
	}{
		"soon":                   {time.Hour, nil, map[string]bool{}},
		"a third of a year left": {200 * day, nil, map[string]bool{}},
		"little of a year left":  {300 * day, nil, map[string]bool{"serving.pem": true, "admin.pem": true}},
		"expired":                {400 * day, nil, map[string]bool{"serving.pem": true, "admin.pem": true}},
		"little of ten years":    {8 * 365 * day, nil, map[string]bool{"ca.crt": true, "serving.pem": true, "admin.pem": true}},
		"another name":           {time.Hour, []string{"plane.example", "10.1.2.3"}, map[string]bool{"serving.pem": true}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			now := time.Now()
			p := &PKI{Dir: filepath.Join(t.TempDir(), "pki"), Now: func() time.Time { return now }}
			check(t, p.Ensure())
			before := read(t, p.Dir)
			now = now.Add(tc.later)
			p.Names = tc.names
			check(t, p.Ensure())
			for file, text := range read(t, p.Dir) {
				if changed := !bytes.Equal(before[file], text); changed != tc.renewed[file] {
					t.Errorf("%s: changed is %v, want %v", file, changed, tc.renewed[file])
				}
			}
			verifyPKI(t, p)
		})
	}
}

func read(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	entries, err := os.ReadDir(dir)
	check(t, err)
	texts := map[string][]byte{}
	for _, e := range entries {
		texts[e.Name()], err = os.ReadFile(filepath.Join(dir, e.Name()))
		check(t, err)
	}
	return texts
}

// verifyPKI checks that both leaves are what their users verify.
func verifyPKI(t *testing.T, p *PKI) {
	t.Helper()
	texts := read(t, p.Dir)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(texts["ca.crt"])
	serving, err := readCertificate(p.ServingPath())
	check(t, err)
	for _, name := range append([]string{"localhost", "127.0.0.1", "::1"}, p.Names...) {
		if _, err := serving.Verify(x509.VerifyOptions{Roots: roots, DNSName: name, CurrentTime: p.Now()}); err != nil {
			t.Errorf("serving certificate for %s: %v", name, err)
		}
	}
	admin, err := readCertificate(p.adminPath())
	check(t, err)
	if _, err := admin.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: p.Now(), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}); err != nil {
		t.Errorf("administrator's certificate: %v", err)
	}
	_, cert, key, err := p.Admin()
	check(t, err)
	if _, err := tls.X509KeyPair(cert, key); err != nil {
		t.Errorf("administrator's pair: %v", err)
	}
}

func TestEnsureKeepsDamagedKey(t *testing.T) {
	p := &PKI{Dir: t.TempDir(), Now: time.Now}
	check(t, p.Ensure())
	check(t, os.WriteFile(p.SigningPath(), []byte("damaged"), 0o600))
	if err := p.Ensure(); err == nil {
		t.Error("a damaged signing key must not be replaced: every token would silently end")
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
