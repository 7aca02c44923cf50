// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pki keeps the certificate authority, the certificates and the keys of a control plane in one folder.
package pki

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"

	certutil "k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"

	"github.com/bowline-dev/bowline/controlplane/internal/files"
)

const (
	authorityLife = 10 * 365 * 24 * time.Hour
	leafLife      = 365 * 24 * time.Hour

	// AdminUser is the user name in the administrator's certificate.
	AdminUser  = "bowline-admin"
	adminGroup = "system:masters"
)

// A PKI is a folder of keys and certificates. A leaf's certificate and key share a file, so that one replacement replaces both.
type PKI struct {
	Dir   string
	Names []string // of the serving certificate, besides localhost, 127.0.0.1 and ::1
	Now   func() time.Time
}

// AuthorityPath is the file of the authority's certificate.
func (p *PKI) AuthorityPath() string { return filepath.Join(p.Dir, "ca.crt") }

// AuthorityKeyPath is the file of the authority's key.
func (p *PKI) AuthorityKeyPath() string { return filepath.Join(p.Dir, "ca.key") }

// ServingPath is the file of the API server's certificate and key.
func (p *PKI) ServingPath() string { return filepath.Join(p.Dir, "serving.pem") }

// SigningPath is the file of the key that signs tokens of service accounts.
func (p *PKI) SigningPath() string { return filepath.Join(p.Dir, "service-accounts.key") }

func (p *PKI) adminPath() string { return filepath.Join(p.Dir, "admin.pem") }

// Admin returns the administrator's certificate and key, and the certificate of the authority.
func (p *PKI) Admin() (authority, cert, key []byte, err error) {
	if authority, err = os.ReadFile(p.AuthorityPath()); err != nil {
		return nil, nil, nil, fmt.Errorf("reading certificate authority: %w", err)
	}
	pair, err := os.ReadFile(p.adminPath())
	if err != nil {
		return nil, nil, nil, fmt.Errorf("reading administrator's certificate: %w", err)
	}
	block, key := pem.Decode(pair)
	if block == nil {
		return nil, nil, nil, errors.New("decoding administrator's certificate: no PEM")
	}
	return authority, pem.EncodeToMemory(block), bytes.TrimSpace(key), nil
}

// Ensure creates missing files, and renews certificates that have less than a third of their life left or other names. It is safe
// to repeat at any time.
func (p *PKI) Ensure() error {
	if err := os.MkdirAll(p.Dir, 0o700); err != nil {
		return fmt.Errorf("creating key folder: %w", err)
	}
	if err := os.Chmod(p.Dir, 0o700); err != nil {
		return fmt.Errorf("closing key folder to others: %w", err)
	}
	ca, caKey, err := p.ensureAuthority()
	if err != nil {
		return fmt.Errorf("certificate authority: %w", err)
	}
	if err := p.ensureLeaf(ca, caKey, p.ServingPath(), p.servingTemplate()); err != nil {
		return fmt.Errorf("serving certificate: %w", err)
	}
	admin := &x509.Certificate{
		Subject:     pkix.Name{CommonName: AdminUser, Organization: []string{adminGroup}},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	if err := p.ensureLeaf(ca, caKey, p.adminPath(), admin); err != nil {
		return fmt.Errorf("administrator's certificate: %w", err)
	}
	if _, err := ensureKey(p.SigningPath()); err != nil {
		return fmt.Errorf("service account signing key: %w", err)
	}
	return nil
}

// ensureAuthority renews the authority's certificate with the same key and name, so that issued certificates stay valid.
func (p *PKI) ensureAuthority() (*x509.Certificate, *ecdsa.PrivateKey, error) {
	key, err := ensureKey(p.AuthorityKeyPath())
	if err != nil {
		return nil, nil, err
	}
	old, err := readCertificate(p.AuthorityPath())
	if err != nil || old != nil && p.fresh(old) && key.PublicKey.Equal(old.PublicKey) {
		return old, key, err
	}
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: "bowline"},
		KeyUsage:              x509.KeyUsageCertSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
	}
	cert, err := p.sign(template, authorityLife, template, &key.PublicKey, key)
	if err != nil {
		return nil, nil, err
	}
	return cert, key, files.Write(p.AuthorityPath(), encode(cert), 0o644)
}

// ensureLeaf keeps the pair in a file if it is fresh, signed by the authority and valid for the template's names.
func (p *PKI) ensureLeaf(ca *x509.Certificate, caKey *ecdsa.PrivateKey, path string, template *x509.Certificate) error {
	old, err := readCertificate(path)
	if err != nil || old != nil && p.fresh(old) && old.CheckSignatureFrom(ca) == nil && sameNames(old, template) {
		return err
	}
	keyPEM, err := keyutil.MakeEllipticPrivateKeyPEM()
	if err != nil {
		return fmt.Errorf("generating key: %w", err)
	}
	key, err := parseKey(keyPEM)
	if err != nil {
		return err
	}
	cert, err := p.sign(template, leafLife, ca, &key.PublicKey, caKey)
	if err != nil {
		return err
	}
	return files.Write(path, append(encode(cert), keyPEM...), 0o600)
}

func (p *PKI) sign(template *x509.Certificate, life time.Duration, parent *x509.Certificate, public, signer any) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, fmt.Errorf("choosing serial number: %w", err)
	}
	template.SerialNumber = serial
	template.KeyUsage |= x509.KeyUsageDigitalSignature
	template.NotBefore = p.Now().Add(-time.Hour) // clocks of clients may be slow
	template.NotAfter = p.Now().Add(life)
	der, err := x509.CreateCertificate(rand.Reader, template, parent, public, signer)
	if err != nil {
		return nil, fmt.Errorf("signing: %w", err)
	}
	return x509.ParseCertificate(der)
}

func encode(cert *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: certutil.CertificateBlockType, Bytes: cert.Raw})
}

func (p *PKI) fresh(cert *x509.Certificate) bool {
	life := cert.NotAfter.Sub(cert.NotBefore)
	return p.Now().After(cert.NotBefore) && cert.NotAfter.Sub(p.Now()) > life/3
}

func (p *PKI) servingTemplate() *x509.Certificate {
	t := &x509.Certificate{
		Subject:     pkix.Name{CommonName: "bowline-apiserver"},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, name := range append([]string{"localhost", "127.0.0.1", "::1"}, p.Names...) {
		ip := net.ParseIP(name)
		switch {
		case ip == nil && !slices.Contains(t.DNSNames, name):
			t.DNSNames = append(t.DNSNames, name)
		case ip != nil && !slices.ContainsFunc(t.IPAddresses, ip.Equal):
			t.IPAddresses = append(t.IPAddresses, ip)
		}
	}
	return t
}

func sameNames(a, b *x509.Certificate) bool {
	return a.Subject.CommonName == b.Subject.CommonName && slices.Equal(a.DNSNames, b.DNSNames) &&
		slices.EqualFunc(a.IPAddresses, b.IPAddresses, net.IP.Equal)
}

// ensureKey returns the private key in a file, and creates a missing one. A damaged file is an error: replacing it would silently
// invalidate everything that the old key signed.
func ensureKey(path string) (*ecdsa.PrivateKey, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if text, err = keyutil.MakeEllipticPrivateKeyPEM(); err == nil {
			err = files.Write(path, text, 0o600)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("reading or creating key: %w", err)
	}
	return parseKey(text)
}

func parseKey(text []byte) (*ecdsa.PrivateKey, error) {
	parsed, err := keyutil.ParsePrivateKeyPEM(text)
	if err != nil {
		return nil, fmt.Errorf("decoding key: %w", err)
	}
	key, ok := parsed.(*ecdsa.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("decoding key: it is a %T", parsed)
	}
	return key, nil
}

func readCertificate(path string) (*x509.Certificate, error) {
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("reading: %w", err)
	}
	certs, err := certutil.ParseCertsPEM(text)
	if err != nil {
		return nil, nil // it is replaced
	}
	return certs[0], nil
}
