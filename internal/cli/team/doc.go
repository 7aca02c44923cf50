// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package team gives teams access to a control plane, and takes it away.
//
// A team is a service account in a namespace that no team can reach, with a role in the one namespace where the team works.
// It gets in with a token that ends by itself. Revoking deletes the binding of the role, and the account, of which every
// token is a part: nothing that was handed out works afterwards.
//
//	accounts, err := team.NewAccounts(cfg)
//	grant, err := accounts.Create(ctx, team.Request{Name: "shop", Namespace: "shop", Role: "edit", Duration: 24 * time.Hour})
//	... hand over grant.Token ...
//	_, _, err = accounts.Revoke(ctx, "shop")
//
// The accounts of all teams have a namespace of their own, Namespace. Were they in the team's, whoever edits that namespace
// could make tokens of theirs that never end, or act as them; were they in bowline-system, whoever manages teams could make
// tokens of the controllers.
package team
