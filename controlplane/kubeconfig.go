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

	"github.com/bowline-dev/bowline/controlplane/internal/files"
	"github.com/bowline-dev/bowline/controlplane/internal/pki"
)

// publishAdmin writes the administrator's kubeconfig, and sets the result of RESTConfig.
func (s *Server) publishAdmin() error {
	ca, cert, key, err := s.keys.Admin()
	if err != nil {
		return err
	}
	admin := &rest.Config{
		Host:            "https://" + s.listener.Reachable(),
		TLSClientConfig: rest.TLSClientConfig{CAData: ca, CertData: cert, KeyData: key},
		QPS:             -1, // the server limits what it takes
	}
	s.mu.Lock()
	s.admin = admin
	s.mu.Unlock()
	return writeKubeconfig(KubeconfigPath(s.cfg.DataDir), admin)
}

// writeKubeconfig writes a kubeconfig, unless the file has that content already.
func writeKubeconfig(path string, config *rest.Config) error {
	const name = "bowline"
	text, err := clientcmd.Write(clientcmdapi.Config{
		CurrentContext: name,
		Clusters:       map[string]*clientcmdapi.Cluster{name: {Server: config.Host, CertificateAuthorityData: config.CAData}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{pki.AdminUser: {ClientCertificateData: config.CertData, ClientKeyData: config.KeyData}},
		Contexts:       map[string]*clientcmdapi.Context{name: {Cluster: name, AuthInfo: pki.AdminUser}},
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
	return files.Write(path, text, 0o600)
}
