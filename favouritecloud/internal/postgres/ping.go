// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"net"
	"strconv"
	"time"
)

const pingTimeout = 2 * time.Second

// acceptsConnections knocks as a client does, up to the question for the password.
func acceptsConnections(ctx context.Context, port int) bool {
	dialer := net.Dialer{Timeout: pingTimeout}
	conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(Host, strconv.Itoa(port)))
	if err != nil {
		return false
	}
	defer conn.Close() //nolint:errcheck // Nothing was promised.
	if err := conn.SetDeadline(time.Now().Add(pingTimeout)); err != nil {
		return false
	}
	if _, err := conn.Write(startupMessage()); err != nil {
		return false
	}
	answer, err := io.ReadAll(io.LimitReader(conn, 1))
	if err != nil || len(answer) == 0 {
		return false
	}
	if answer[0] == 'R' { // A request to authenticate.
		return true
	}
	rest, err := io.ReadAll(io.LimitReader(conn, 4<<10))
	return err == nil && isFull(rest)
}

// isFull tells a server without a free connection, which is up, from one that is starting, stopping or recovering.
func isFull(errorFields []byte) bool {
	const tooManyConnections = "C53300\x00"
	return bytes.Contains(errorFields, []byte(tooManyConnections))
}

// startupMessage is the first message of the protocol, version 3.0: length, version, parameters.
func startupMessage() []byte {
	const protocolVersion = 3 << 16
	parameters := "user\x00" + Username + "\x00database\x00postgres\x00\x00"
	message := binary.BigEndian.AppendUint32(nil, uint32(8+len(parameters)))
	message = binary.BigEndian.AppendUint32(message, protocolVersion)
	return append(message, parameters...)
}
