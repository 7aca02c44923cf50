// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package network is the cloud's network service: networks and their subnets.
//
// Both are records that are ready at once. The cloud chooses their ids and ignores idempotency keys: a client that lost the answer
// to a create request can find the object only by its labels.
package network
