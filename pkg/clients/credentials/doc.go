// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package credentials reads the credentials of ProviderConfigs from Secrets, environment variables and files.
//
//	secrets, err := credentials.NewSecrets(mgr)
//	key, err := secrets.Extract(ctx, config.GetNamespace(), config.Spec.Credentials)
//
// Each Secret has a watch of its own, from the first read until it has not been read for two hours. So reads cost no request,
// a rotated credential is noticed at once, and no other Secrets are kept in memory (R232, N30). Variables and files are read
// each time. Errors are classified as failure.ProviderConfigUnavailable.
//
// # Access
//
// A ProviderConfig also contains the address to which its credentials are sent, so its author can obtain everything that it may
// refer to. It may therefore refer only to variables and files that the process offers by WithVariables and WithFolders. A
// namespaced ProviderConfig may refer to Secrets of its namespace only.
package credentials
