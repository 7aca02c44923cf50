// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package wire speaks Terraform's plugin protocol, versions 5 and 6, with the process of a provider.
//
// The messages are those of wire.proto, in one form for both versions. The handshake is that of Hashicorp's plugins: a magic cookie and a
// certificate in the environment, one line on the standard output, and from then on gRPC over a socket, where each side accepts only the
// certificate of the other.
package wire

//go:generate go run -C ../../../tools/proto . ../../pkg/terraform/wire/wire.proto
