// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package credentials reads the credentials of external systems from where ProviderConfigs say that they are.
//
//	secrets, err := credentials.NewSecrets(mgr)
//	key, err := secrets.Extract(ctx, config.Spec.Credentials)                                 // cluster-scoped kinds
//	key, err := secrets.ExtractWithin(ctx, config.GetNamespace(), config.Spec.Credentials)    // namespaced kinds
//
// Each Secret is watched by its name, from the first time somebody asks for it until nobody has for two hours: reading it
// again costs no request, a rotated credential is seen at once, and nobody else's Secrets enter the process's memory
// (R232, N30). Variables and files are read each time.
//
// # Who may read what
//
// A ProviderConfig also names the place to send the credentials to. Whoever writes one can therefore read whatever it
// may name. So it may name no variable or file of the controller's process but those that the process was started to
// offer, by WithVariables and WithFolders. A ProviderConfig that belongs to a namespace may name Secrets of that
// namespace and nothing of the controller.
package credentials
