// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

const (
	// cookie tells a provider that it was started as a plugin: started by hand it prints how to use it.
	cookie = "TF_PLUGIN_MAGIC_COOKIE=d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2"
	// MostReceived is the size of the largest message, in bytes: the schemas of a large provider are above gRPC's own limit.
	MostReceived = 256 << 20
	// serverName is that in the certificates of all plugins.
	serverName = "localhost"
	lifetime   = 10 * 365 * 24 * time.Hour // of a certificate, which ends with its process
)

// A Handshake is our part of that with one process.
type Handshake struct {
	own   tls.Certificate
	proof string // the certificate, as PEM
}

// NewHandshake makes a certificate for one process.
func NewHandshake() (*Handshake, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("making a key for a plugin: %w", err)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, fmt.Errorf("making a certificate for a plugin: %w", err)
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: serverName, Organization: []string{"Bowline"}}, DNSNames: []string{serverName},
		NotBefore: now.Add(-time.Minute), NotAfter: now.Add(lifetime), IsCA: true, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("making a certificate for a plugin: %w", err)
	}
	return &Handshake{
		own:   tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key},
		proof: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
	}, nil
}

// Environment is what the process needs in its environment.
func (h *Handshake) Environment() []string {
	return []string{cookie, "PLUGIN_PROTOCOL_VERSIONS=5,6", "PLUGIN_CLIENT_CERT=" + h.proof}
}

// ErrNoPlugin is returned for a program that does not answer as a plugin.
var ErrNoPlugin = errors.New("the program does not answer as a Terraform provider: check that it is the binary of a provider for this platform")

// Dial connects with the process by the first line on its standard output: version of the handshake, version of the protocol, network,
// address, kind of the protocol, and certificate. It does not wait for an answer.
func (h *Handshake) Dial(line string) (*Conn, error) {
	parts := strings.Split(strings.TrimSpace(line), "|")
	if len(parts) < 5 || parts[0] != "1" {
		return nil, ErrNoPlugin
	}
	c := &Conn{}
	switch parts[1] {
	case "5":
		c.Version = 5
	case "6":
		c.Version = 6
	}
	network, address := parts[2], parts[3]
	if network != "unix" && network != "tcp" {
		return nil, ErrNoPlugin
	}
	if c.Version == 0 || parts[4] != "grpc" {
		return nil, fmt.Errorf("the provider speaks version %s of the plugin protocol by %s, and versions 5 and 6 by grpc are supported: use a newer "+
			"release of it", parts[1], parts[4])
	}
	secure := insecure.NewCredentials()
	if len(parts) > 5 && parts[5] != "" {
		theirs, err := h.accept(parts[5])
		if err != nil {
			return nil, err
		}
		secure = credentials.NewTLS(theirs)
	} else if network == "tcp" { // the socket of another network is for one user only
		return nil, ErrNoPlugin
	}
	target := "passthrough:///" + address
	if network == "unix" {
		target = "unix:" + address
	}
	conn, err := grpc.NewClient(target, grpc.WithTransportCredentials(secure), grpc.WithAuthority(serverName), grpc.WithNoProxy(),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(MostReceived), grpc.MaxCallSendMsgSize(MostReceived)))
	if err != nil {
		return nil, err
	}
	c.grpc = conn
	return c, nil
}

// accept has the connection accept only the certificate that the process printed.
func (h *Handshake) accept(encoded string) (*tls.Config, error) {
	der, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(encoded, "="))
	if err != nil {
		return nil, ErrNoPlugin
	}
	theirs, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, ErrNoPlugin
	}
	only := x509.NewCertPool()
	only.AddCert(theirs)
	return &tls.Config{Certificates: []tls.Certificate{h.own}, RootCAs: only, ServerName: serverName, MinVersion: tls.VersionTLS12}, nil
}

// Serve returns what a process that is itself a plugin listens with and prints, for a client whose certificate is in its environment.
func (h *Handshake) Serve(listener net.Listener, version int, client string) (line string, secure credentials.TransportCredentials, err error) {
	only := x509.NewCertPool()
	if !only.AppendCertsFromPEM([]byte(client)) {
		return "", nil, errors.New("PLUGIN_CLIENT_CERT holds no certificate: this program is started by bowline itself")
	}
	address := listener.Addr()
	line = fmt.Sprintf("1|%d|%s|%s|grpc|%s", version, address.Network(), address, base64.RawStdEncoding.EncodeToString(h.own.Certificate[0]))
	return line, credentials.NewTLS(&tls.Config{Certificates: []tls.Certificate{h.own}, ClientCAs: only,
		ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS12}), nil
}
