// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/bowline-dev/bowline/controlplane"
	"github.com/bowline-dev/bowline/internal/cli/team"
)

// administrator returns the access that the flags name, and the cluster that it is to, of which a team's kubeconfig needs
// nothing else.
func (f *userFlags) administrator() (*rest.Config, *clientcmdapi.Cluster, error) {
	path := f.kubeconfig
	if path == "" {
		dataDir, err := f.folder.running()
		if err != nil {
			return nil, nil, fmt.Errorf("%w\nor name another control plane's administrator with --kubeconfig", err)
		}
		path = controlplane.KubeconfigPath(dataDir)
	}
	file, err := clientcmd.LoadFromFile(path)
	if err != nil {
		return nil, nil, fmt.Errorf("reading kubeconfig %s: %w", path, err)
	}
	if err := clientcmd.ResolveLocalPaths(file); err != nil {
		return nil, nil, fmt.Errorf("reading kubeconfig %s: %w", path, err)
	}
	config, err := clientcmd.NewDefaultClientConfig(*file, nil).ClientConfig()
	if err != nil {
		return nil, nil, fmt.Errorf("reading kubeconfig %s: %w", path, err)
	}
	context := file.Contexts[file.CurrentContext]
	if context == nil || file.Clusters[context.Cluster] == nil {
		return nil, nil, fmt.Errorf("reading kubeconfig %s: its current context names no cluster; choose one with "+
			"kubectl config use-context", path)
	}
	cluster := file.Clusters[context.Cluster]
	if err := clientcmdapi.FlattenContent(&cluster.CertificateAuthority, &cluster.CertificateAuthorityData, ""); err != nil {
		return nil, nil, fmt.Errorf("reading the certificate authority that kubeconfig %s names: %w", path, err)
	}
	return config, cluster, nil
}

// grant lets obtain give a team a token, writes its kubeconfig, and says what it is good for.
func (f *userFlags) grant(std Streams, token *tokenFlags, name string, obtain func(*team.Accounts) (team.Grant, error)) error {
	accounts, cluster, err := f.accounts()
	if err != nil {
		return err
	}
	path := token.path(name)
	if err := checkOverwrite(path, name); err != nil {
		return err
	}
	grant, err := obtain(accounts)
	if unknown, ok := errors.AsType[*team.UnknownError](err); ok {
		return fmt.Errorf("%w; make it with: %s --namespace NS", err, f.again("create", unknown.Name))
	}
	if err != nil {
		return explainRights(err)
	}
	content, err := clientcmd.Write(teamConfig(cluster, grant))
	if err != nil {
		return fmt.Errorf("encoding kubeconfig: %w", err)
	}
	if err := writeFile(path, content); err != nil {
		return err
	}
	return f.tell(std, grant, path)
}

// teamConfig is a kubeconfig that knows nothing but one cluster, one namespace and the team's token.
func teamConfig(cluster *clientcmdapi.Cluster, grant team.Grant) clientcmdapi.Config {
	const name = "bowline"
	return clientcmdapi.Config{
		CurrentContext: grant.Name,
		Clusters:       map[string]*clientcmdapi.Cluster{name: cluster},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{grant.Name: {Token: grant.Token}},
		Contexts:       map[string]*clientcmdapi.Context{grant.Name: {Cluster: name, AuthInfo: grant.Name, Namespace: grant.Namespace}},
	}
}

// checkOverwrite lets only a kubeconfig of the same team be replaced: anything else may be somebody's only copy. A file that
// cannot be written is found out before anything is made.
func checkOverwrite(path, name string) error {
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
	if err == nil && len(old.AuthInfos) == 1 && old.AuthInfos[name] != nil && old.AuthInfos[name].Token != "" && old.CurrentContext == name {
		return nil
	}
	return fmt.Errorf("%s exists and is no kubeconfig of team %s; choose another file with -o, or remove it", path, name)
}

func (f *userFlags) tell(std Streams, grant team.Grant, path string) error {
	made := ""
	if grant.MadeNamespace {
		made = ", which was made now"
	}
	_, err := fmt.Fprintf(std.Out, `Team %[1]s has role %[2]s in namespace %[3]s%[4]s.
Its kubeconfig is %[5]s; the token ends %[6]s. Whoever has the file is the team: hand it over as you would a password.

  %[7]s kubectl --kubeconfig %[8]s get classes    what there is to claim
  %[7]s kubectl --kubeconfig %[8]s get claims     what the team has
  %[9]s
  %[10]s
`, grant.Name, grant.Role, grant.Namespace, made, path, shownEnd(grant.TokenEnds), f.program, shellQuote(path),
		f.again("renew", grant.Name), f.again("revoke", grant.Name))
	return err
}
