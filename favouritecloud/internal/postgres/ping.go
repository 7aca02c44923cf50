// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"net"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/bowline-dev/bowline/favouritecloud/internal/host"
)

const (
	pingTimeout        = 2 * time.Second
	tooManyConnections = "53300" // SQLSTATE
)

// acceptsConnections connects as a client does, up to the request for authentication: a failed authentication would be logged.
// A server without a free connection accepts connections; one that is starting, stopping or recovering does not.
func acceptsConnections(ctx context.Context, port int) bool {
	dialer := net.Dialer{Timeout: pingTimeout}
	conn, err := dialer.DialContext(ctx, "tcp", host.Address(port))
	if err != nil {
		return false
	}
	defer conn.Close() // The session has not begun.
	if err := conn.SetDeadline(time.Now().Add(pingTimeout)); err != nil {
		return false
	}
	frontend := pgproto3.NewFrontend(conn, conn)
	frontend.SetMaxBodyLen(4 << 10) // Another program may listen there.
	frontend.Send(&pgproto3.StartupMessage{
		ProtocolVersion: pgproto3.ProtocolVersion30, Parameters: map[string]string{"user": Username, "database": "postgres"},
	})
	if err := frontend.Flush(); err != nil {
		return false
	}
	message, err := frontend.Receive()
	if err != nil {
		return false
	}
	switch m := message.(type) {
	case pgproto3.AuthenticationResponseMessage:
		return true
	case *pgproto3.ErrorResponse:
		return m.Code == tooManyConnections
	default:
		return false
	}
}
