// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package team

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// LoadAdmin returns the access of a kubeconfig, and its cluster with all certificates inline, for the kubeconfigs of teams.
func LoadAdmin(path string) (*rest.Config, *clientcmdapi.Cluster, error) {
	file, err := clientcmd.LoadFromFile(path)
	if err != nil {
		return nil, nil, err
	}
	if err := clientcmd.ResolveLocalPaths(file); err != nil {
		return nil, nil, err
	}
	config, err := clientcmd.NewDefaultClientConfig(*file, nil).ClientConfig()
	if err != nil {
		return nil, nil, err
	}
	context := file.Contexts[file.CurrentContext]
	if context == nil || file.Clusters[context.Cluster] == nil {
		return nil, nil, errors.New("the current context names no cluster; choose one with: kubectl config use-context")
	}
	cluster := file.Clusters[context.Cluster]
	if err := clientcmdapi.FlattenContent(&cluster.CertificateAuthority, &cluster.CertificateAuthorityData, ""); err != nil {
		return nil, nil, fmt.Errorf("reading the certificate authority: %w", err)
	}
	return config, cluster, nil
}

// Kubeconfig returns a kubeconfig with nothing but one cluster, the team's namespace and its token.
func (g Grant) Kubeconfig(cluster *clientcmdapi.Cluster) ([]byte, error) {
	const name = "bowline"
	content, err := clientcmd.Write(clientcmdapi.Config{
		CurrentContext: g.Name,
		Clusters:       map[string]*clientcmdapi.Cluster{name: cluster},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{g.Name: {Token: g.Token}},
		Contexts:       map[string]*clientcmdapi.Context{g.Name: {Cluster: name, AuthInfo: g.Name, Namespace: g.Namespace}},
	})
	if err != nil {
		return nil, fmt.Errorf("encoding kubeconfig: %w", err)
	}
	return content, nil
}

// CheckOverwrite refuses to replace anything but a kubeconfig of the same team, and reports a file that cannot be written before
// anything is created.
func CheckOverwrite(path, team string) error {
	trial, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return fmt.Errorf("%s cannot be written; choose another file with -o: %w", path, err)
	}
	if err := errors.Join(trial.Close(), os.Remove(trial.Name())); err != nil {
		return err
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	old, err := clientcmd.LoadFromFile(path)
	if err == nil && len(old.AuthInfos) == 1 && old.AuthInfos[team] != nil && old.AuthInfos[team].Token != "" && old.CurrentContext == team {
		return nil
	}
	return fmt.Errorf("%s exists and is no kubeconfig of team %s; choose another file with -o, or remove it", path, team)
}
