// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// publishAdmin makes the administrator's access from the keys: for RESTConfig, and as a kubeconfig file.
func (s *Server) publishAdmin() error {
	ca, err := os.ReadFile(s.keys.authorityPath())
	if err != nil {
		return fmt.Errorf("reading certificate authority: %w", err)
	}
	pair, err := os.ReadFile(s.keys.adminPath())
	if err != nil {
		return fmt.Errorf("reading administrator's certificate: %w", err)
	}
	cert, key := splitPair(pair)
	admin := &rest.Config{
		Host:            "https://" + reachable(s.listener.Addr()),
		TLSClientConfig: rest.TLSClientConfig{CAData: ca, CertData: cert, KeyData: key},
		QPS:             -1, // the server limits what it takes
	}
	s.mu.Lock()
	s.admin = admin
	s.mu.Unlock()
	return writeKubeconfig(KubeconfigPath(s.cfg.DataDir), admin)
}

// writeKubeconfig writes a file that says what config says, unless it does already.
func writeKubeconfig(path string, config *rest.Config) error {
	const name = "bowline"
	text, err := clientcmd.Write(clientcmdapi.Config{
		CurrentContext: name,
		Clusters:       map[string]*clientcmdapi.Cluster{name: {Server: config.Host, CertificateAuthorityData: config.CAData}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{adminUser: {ClientCertificateData: config.CertData, ClientKeyData: config.KeyData}},
		Contexts:       map[string]*clientcmdapi.Context{name: {Cluster: name, AuthInfo: adminUser}},
	})
	if err != nil {
		return fmt.Errorf("encoding kubeconfig: %w", err)
	}
	old, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("reading kubeconfig: %w", err)
	}
	if bytes.Equal(old, text) {
		return nil
	}
	return writeFile(path, text, 0o600)
}
