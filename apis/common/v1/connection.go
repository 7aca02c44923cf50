// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1

import corev1 "k8s.io/api/core/v1"

// SecretTypeConnection is the type of the Secrets that hold connection details. The runtime watches Secrets of this
// type only, so that other people's Secrets never enter its memory (N30).
const SecretTypeConnection corev1.SecretType = "connection.crossplane.io/v1alpha1"

// Usual keys of connection details (R211). The provider decides which ones a kind has.
const (
	ResourceCredentialsSecretEndpointKey = "endpoint"
	ResourceCredentialsSecretPortKey     = "port"
	ResourceCredentialsSecretUserKey     = "username"
	ResourceCredentialsSecretPasswordKey = "password"

	// The database on the server at the endpoint that applications connect to.
	ResourceCredentialsSecretDatabaseKey = "database"

	// Those of clusters and of systems with certificates or tokens.
	ResourceCredentialsSecretCAKey         = "clusterCA"
	ResourceCredentialsSecretClientCertKey = "clientCert"
	ResourceCredentialsSecretClientKeyKey  = "clientKey"
	ResourceCredentialsSecretTokenKey      = "token"
	ResourceCredentialsSecretKubeconfigKey = "kubeconfig"
)
