// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package team grants teams access to a control plane, and revokes it.
//
// A team is a service account in a namespace that no team can access, with a role in one namespace. Its token expires. Revoking
// deletes the role binding and the account, which invalidates all its tokens.
//
//	accounts, err := team.NewAccounts(cfg)
//	grant, err := accounts.Create(ctx, team.Request{Name: "shop", Namespace: "shop", Role: "edit", Duration: 24 * time.Hour})
//	_, _, err = accounts.Revoke(ctx, "shop")
//
// The accounts of all teams are in one namespace, Namespace. In the team's own namespace, an editor could create tokens that never
// expire, or impersonate the team; in bowline-system, an administrator of teams could create tokens of the controllers.
package team
