// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
)

// The headers of a change: the UID of the object that it is for, what identifies the change before it, see state.State, and the version of the
// schema in which the provider answers.
const (
	HeaderObject  = "bowline-object"
	HeaderAfter   = "bowline-after"
	HeaderVersion = "bowline-schema-version"
)

// A Message is an encoded one, which is passed on as it is.
type Message []byte

// Raw is the codec of Messages.
type Raw struct{}

var _ encoding.Codec = Raw{}

// Marshal returns the message.
func (Raw) Marshal(v any) ([]byte, error) { return *v.(*Message), nil }

// Unmarshal keeps a copy of the message.
func (Raw) Unmarshal(data []byte, v any) error {
	*v.(*Message) = append(Message(nil), data...)
	return nil
}

// Name is that of the codec that both ends use.
func (Raw) Name() string { return "proto" }

// Pass passes an encoded call on.
func (c *Conn) Pass(ctx context.Context, path string, request, answer *Message) error {
	return c.grpc.Invoke(ctx, path, request, answer, grpc.ForceCodec(Raw{}))
}

// Stream passes encoded messages on in both directions.
func (c *Conn) Stream(ctx context.Context, path string) (grpc.ClientStream, error) {
	return c.grpc.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, path, grpc.ForceCodec(Raw{}))
}
