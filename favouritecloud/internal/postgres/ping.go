// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strconv"
	"time"

	"github.com/bowline-dev/bowline/favouritecloud/internal/ports"
)

const pingTimeout = 2 * time.Second

// acceptsConnections knocks as a client does, up to the question for the password.
func acceptsConnections(ctx context.Context, port int) bool {
	dialer := net.Dialer{Timeout: pingTimeout}
	conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(ports.Host, strconv.Itoa(port)))
	if err != nil {
		return false
	}
	defer conn.Close() //nolint:errcheck // Nothing was begun.
	if err := conn.SetDeadline(time.Now().Add(pingTimeout)); err != nil {
		return false
	}
	if _, err := conn.Write(startupMessage()); err != nil {
		return false
	}
	kind, rest, err := readMessage(conn)
	return err == nil && (kind == 'R' || isFull(rest)) // R is a request to authenticate.
}

// readMessage reads a message to its end: a server whose answer is not fetched complains in its log.
func readMessage(conn io.Reader) (kind byte, rest []byte, err error) {
	var header struct {
		Kind   byte
		Length uint32 // of itself and what follows
	}
	if err := binary.Read(conn, binary.BigEndian, &header); err != nil {
		return 0, nil, err
	}
	const most = 4 << 10
	if header.Length < 4 || header.Length > most {
		return 0, nil, errors.New("not a message of PostgreSQL")
	}
	rest = make([]byte, header.Length-4)
	_, err = io.ReadFull(conn, rest)
	return header.Kind, rest, err
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
