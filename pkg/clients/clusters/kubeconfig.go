// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"errors"
	"fmt"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/bowline-dev/bowline/pkg/failure"
)

var (
	errMalformed = errors.New("malformed")
	errOutside   = errors.New("the credentials are outside of the kubeconfig")
)

// parse returns the configuration of the current context, and its namespace. A kubeconfig comes from outside: it must not make this
// process run programs, or send its own files, such as the token of its service account, to a server.
func parse(kubeconfig []byte) (*rest.Config, string, error) {
	refuse := func(why string, err error) (*rest.Config, string, error) {
		return nil, "", failure.ForTeam(failure.InvalidSettings, "the kubeconfig of the target cannot be used: "+why, fmt.Errorf("%s: %w", why, err))
	}
	all, err := clientcmd.Load(kubeconfig)
	if err != nil { // which may quote the content
		return refuse("it is not a kubeconfig", errMalformed)
	}
	context := all.Contexts[all.CurrentContext]
	if context == nil {
		return refuse("its current-context does not exist", errMalformed)
	}
	cluster, user := all.Clusters[context.Cluster], all.AuthInfos[context.AuthInfo]
	switch {
	case cluster == nil || cluster.Server == "":
		return refuse("it names no server", errMalformed)
	case cluster.CertificateAuthority != "":
		return refuse("certificate-authority names a file: use certificate-authority-data", errOutside)
	case user != nil && reachesOutside(user):
		return refuse("its user names a file or a program: use token, client-certificate-data and client-key-data", errOutside)
	}
	config, err := clientcmd.NewDefaultClientConfig(*all, &clientcmd.ConfigOverrides{}).ClientConfig()
	if err != nil {
		return refuse("it is not complete", errMalformed)
	}
	namespace := context.Namespace
	if namespace == "" {
		namespace = "default"
	}
	return config, namespace, nil
}

// reachesOutside is true for credentials that are not in the kubeconfig itself.
func reachesOutside(user *clientcmdapi.AuthInfo) bool {
	return user.Exec != nil || user.AuthProvider != nil || user.TokenFile != "" || user.ClientCertificate != "" || user.ClientKey != ""
}
