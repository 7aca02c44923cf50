// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package postgresql

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
)

// SSLMode is the required encryption of a connection, as in libpq.
// https://www.postgresql.org/docs/current/libpq-ssl.html#LIBPQ-SSL-SSLMODE-STATEMENTS
type SSLMode string

const (
	// SSLDisable never encrypts.
	SSLDisable SSLMode = "disable"
	// SSLPrefer encrypts if the server supports it, without authentication. An attacker on the network can prevent it.
	SSLPrefer SSLMode = "prefer"
	// SSLRequire encrypts without authentication of the server.
	SSLRequire SSLMode = "require"
	// SSLVerifyCA also requires a certificate that is signed by one of the root certificates.
	SSLVerifyCA SSLMode = "verify-ca"
	// SSLVerifyFull also requires that the certificate is for the endpoint's name.
	SSLVerifyFull SSLMode = "verify-full"
)

// tls returns the TLS settings, nil for none, and whether to fall back to an unencrypted connection.
func (c Config) tls() (settings *tls.Config, mayFallBack bool, err error) {
	settings = &tls.Config{ServerName: c.Endpoint, MinVersion: tls.VersionTLS12}
	if len(c.RootCAs) > 0 {
		settings.RootCAs = x509.NewCertPool()
		if !settings.RootCAs.AppendCertsFromPEM(c.RootCAs) {
			return nil, false, errors.New("root certificates contain no PEM certificate")
		}
	}
	switch c.SSLMode {
	case SSLDisable:
		return nil, false, nil
	case SSLPrefer, SSLRequire:
		settings.InsecureSkipVerify = true // What these modes mean.
	case SSLVerifyCA:
		settings.InsecureSkipVerify = true // The name does not matter; the next line checks the rest.
		settings.VerifyConnection = func(seen tls.ConnectionState) error { return verifyChain(settings.RootCAs, seen) }
	case SSLVerifyFull:
	default:
		return nil, false, fmt.Errorf("SSL mode %q is not one of disable, prefer, require, verify-ca and verify-full", c.SSLMode)
	}
	return settings, c.SSLMode == SSLPrefer, nil
}

func verifyChain(roots *x509.CertPool, seen tls.ConnectionState) error {
	between := x509.NewCertPool()
	for _, certificate := range seen.PeerCertificates[1:] {
		between.AddCert(certificate)
	}
	_, err := seen.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: roots, Intermediates: between})
	return err
}
