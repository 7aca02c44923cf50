// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package network is the cloud's network service: networks, and the subnets that divide them.
//
// Both are records that are ready at once. Their ids are the cloud's choice, and creating one knows no idempotency keys:
// a client that missed the answer can find what it made by its labels only.
package network
