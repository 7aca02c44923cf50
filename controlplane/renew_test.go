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
	"testing"
	"time"

	testingclock "k8s.io/utils/clock/testing"
)

// TestRenewal runs a server for most of a year of its clock.
func TestRenewal(t *testing.T) {
	const age = 300 * 24 * time.Hour
	clock := testingclock.NewFakeClock(time.Now().Add(-age)) // so that what it renews is valid now
	s := newServer(t, Config{})
	s.clock = clock
	t.Cleanup(run(t, s))
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
	conn, err := tls.Dial("tcp", s.Address(), &tls.Config{InsecureSkipVerify: true}) // only reads the certificate
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
