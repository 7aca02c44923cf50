// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	testingclock "k8s.io/utils/clock/testing"
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
			p := &pki{dir: filepath.Join(t.TempDir(), "pki"), now: func() time.Time { return now }}
			must(t, p.ensure())
			before := read(t, p.dir)
			now = now.Add(tc.later)
			p.names = tc.names
			must(t, p.ensure())
			for file, text := range read(t, p.dir) {
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
	must(t, err)
	texts := map[string][]byte{}
	for _, e := range entries {
		texts[e.Name()], err = os.ReadFile(filepath.Join(dir, e.Name()))
		must(t, err)
	}
	return texts
}

// verifyPKI checks that both leaves are what their users verify.
func verifyPKI(t *testing.T, p *pki) {
	t.Helper()
	texts := read(t, p.dir)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(texts["ca.crt"])
	serving := parseCertificate(texts["serving.pem"])
	for _, name := range append([]string{"localhost", "127.0.0.1", "::1"}, p.names...) {
		if _, err := serving.Verify(x509.VerifyOptions{Roots: roots, DNSName: name, CurrentTime: p.now()}); err != nil {
			t.Errorf("serving certificate for %s: %v", name, err)
		}
	}
	admin := parseCertificate(texts["admin.pem"])
	if _, err := admin.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: p.now(), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}); err != nil {
		t.Errorf("administrator's certificate: %v", err)
	}
	cert, key := splitPair(texts["admin.pem"])
	if _, err := tls.X509KeyPair(cert, key); err != nil {
		t.Errorf("administrator's pair: %v", err)
	}
}

func TestEnsureKeepsDamagedKey(t *testing.T) {
	p := &pki{dir: t.TempDir(), now: time.Now}
	must(t, p.ensure())
	must(t, os.WriteFile(p.signingPath(), []byte("damaged"), 0o600))
	if err := p.ensure(); err == nil {
		t.Error("a damaged signing key must not be replaced: every token would silently end")
	}
}

// TestRenewal runs a server for most of a year of its clock.
func TestRenewal(t *testing.T) {
	const age = 300 * 24 * time.Hour
	clock := testingclock.NewFakeClock(time.Now().Add(-age)) // so that what it renews is valid now
	s, err := New(Config{DataDir: t.TempDir(), Listen: "127.0.0.1:0", NoSync: true})
	must(t, err)
	s.clock = clock
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	defer func() {
		cancel()
		must(t, <-done)
	}()
	select {
	case <-s.Ready():
	case err := <-done:
		done <- nil
		t.Fatalf("the server did not start: %v", err)
	}
	old, kubeconfig := served(t, s), readFile(t, KubeconfigPath(s.cfg.DataDir))
	admin := s.RESTConfig().CertData

	clock.Step(age)
	eventually(t, "another certificate is served", func(context.Context) error {
		if served(t, s).Equal(old) {
			return errors.New("it is the old one")
		}
		return nil
	})
	eventually(t, "the administrator has another certificate", func(context.Context) error {
		if bytes.Equal(s.RESTConfig().CertData, admin) || bytes.Equal(readFile(t, KubeconfigPath(s.cfg.DataDir)), kubeconfig) {
			return errors.New("it is the old one")
		}
		return nil
	})
	namespace(t, newClient(t, s.RESTConfig()), "after-renewal")
}

func served(t *testing.T, s *Server) *x509.Certificate {
	t.Helper()
	conn, err := tls.Dial("tcp", s.Address(), &tls.Config{InsecureSkipVerify: true}) // only looks at what is presented
	must(t, err)
	defer conn.Close()
	return conn.ConnectionState().PeerCertificates[0]
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	must(t, err)
	return text
}
