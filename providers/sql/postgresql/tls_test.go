// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package postgresql_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/bowline-dev/bowline/providers/sql/postgresql"
	"github.com/bowline-dev/bowline/providers/sql/postgresql/postgresqltest"
)

// certificate writes a certificate for localhost, signed by itself, and its key to where the server can read them.
func certificate(t *testing.T) (folder string, inPEM []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{"localhost"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	certificate, certificateErr := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	keyBytes, keyErr := x509.MarshalPKCS8PrivateKey(key)
	folder, folderErr := os.MkdirTemp("", "tls-")
	if err := errors.Join(certificateErr, keyErr, folderErr); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	inPEM = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate})
	keyFile := filepath.Join(folder, "key.pem")
	if err := errors.Join(os.Chmod(folder, 0o711), os.WriteFile(filepath.Join(folder, "cert.pem"), inPEM, 0o644),
		os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyBytes}), 0o600)); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 { // then servers run as another account
		if output, err := exec.Command("chown", "postgres", keyFile).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, output)
		}
	}
	return folder, inPEM
}

func TestEncryption(t *testing.T) {
	t.Parallel()
	folder, roots := certificate(t)
	_, joined := certificate(t)
	server := startServer(t, "ssl=on", "ssl_cert_file="+folder+"/cert.pem", "ssl_key_file="+folder+"/key.pem")
	cases := map[string]struct {
		mode      postgresql.SSLMode
		endpoint  string
		roots     []byte
		encrypted bool
		words     string // empty: connects
	}{
		"disable":                  {mode: postgresql.SSLDisable},
		"prefer is the default":    {encrypted: true},
		"require":                  {mode: postgresql.SSLRequire, encrypted: true},
		"verify-ca, any name":      {mode: postgresql.SSLVerifyCA, roots: roots, encrypted: true},
		"verify-ca, stranger":      {mode: postgresql.SSLVerifyCA, roots: joined, words: "certificate"},
		"verify-full":              {mode: postgresql.SSLVerifyFull, endpoint: "localhost", roots: roots, encrypted: true},
		"verify-full, other name":  {mode: postgresql.SSLVerifyFull, roots: roots, words: "127.0.0.1"},
		"verify-full, no roots":    {mode: postgresql.SSLVerifyFull, endpoint: "localhost", words: "certificate"},
		"verify-full with roots":   {roots: joined, endpoint: "localhost", words: "certificate"},
		"prefer takes any, though": {mode: postgresql.SSLPrefer, roots: joined, encrypted: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			eventually(t, "no session of another case is left", func() bool { return len(sessions(t, server)) == 0 })
			c := server.Config()
			c.SSLMode, c.RootCAs = tc.mode, tc.roots
			if tc.endpoint != "" {
				c.Endpoint = tc.endpoint
			}
			s, err := postgresql.New(c)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			_, err = s.Version(t.Context())
			if tc.words != "" {
				want(t, err, postgresql.IsUnavailable, "unavailable")
				if !strings.Contains(fmt.Sprint(err), tc.words) {
					t.Errorf("lacks %q: %v", tc.words, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]bool{tc.encrypted}, sessions(t, server)); diff != "" {
				t.Errorf("encrypted: -want +got:\n%s", diff)
			}
		})
	}
}

// sessions returns of each session of package postgresql whether it is encrypted.
func sessions(t *testing.T, server *postgresqltest.Server) []bool {
	t.Helper()
	conn, err := openAt(t, server.Config())
	if err != nil {
		t.Fatal(err)
	}
	rows, _ := conn.Query(t.Context(), `SELECT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
		WHERE application_name = 'bowline'`) // An error comes out with the rows.
	encrypted, err := pgx.CollectRows(rows, pgx.RowTo[bool])
	if err != nil {
		t.Fatal(err)
	}
	return encrypted
}
