// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package inspect checks from the outside what bowline did: what a project of the favourite cloud contains, whether a claim and
// its managed resource agree, and whether a connection Secret opens its server.
package inspect

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"net"
	"net/url"
	"strings"

	"github.com/jackc/pgx/v5"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
)

func address(data map[string][]byte) string {
	return net.JoinHostPort(string(data[xpv1.ResourceCredentialsSecretEndpointKey]), string(data[xpv1.ResourceCredentialsSecretPortKey]))
}

// Connect connects to a PostgreSQL server as an application does that has its connection Secret only.
func Connect(ctx context.Context, data map[string][]byte) (*pgx.Conn, error) {
	user, password := string(data[xpv1.ResourceCredentialsSecretUserKey]), string(data[xpv1.ResourceCredentialsSecretPasswordKey])
	u := url.URL{
		Scheme:   "postgres",
		User:     url.UserPassword(user, password),
		Host:     address(data),
		Path:     cmp.Or(string(data["database"]), "postgres"),
		RawQuery: "sslmode=disable", // the server is on this machine
	}
	connection, err := pgx.Connect(ctx, u.String())
	if err != nil {
		return nil, fmt.Errorf("connecting with the content of the connection Secret: %w", err)
	}
	return connection, nil
}

// OpensPostgreSQL returns nil if the content of a connection Secret opens a PostgreSQL server.
func OpensPostgreSQL(ctx context.Context, data map[string][]byte) error {
	connection, err := Connect(ctx, data)
	if err != nil {
		return err
	}
	return connection.Close(ctx)
}

// OpensRedis returns nil if the content of a connection Secret opens a Redis server.
func OpensRedis(ctx context.Context, data map[string][]byte) error {
	connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", address(data))
	if err != nil {
		return fmt.Errorf("connecting with the content of the connection Secret: %w", err)
	}
	defer connection.Close() // nothing was begun
	if deadline, limited := ctx.Deadline(); limited {
		if err := connection.SetDeadline(deadline); err != nil {
			return err
		}
	}
	request := "*3\r\n$4\r\nAUTH\r\n"
	for _, key := range []string{xpv1.ResourceCredentialsSecretUserKey, xpv1.ResourceCredentialsSecretPasswordKey} {
		request += fmt.Sprintf("$%d\r\n%s\r\n", len(data[key]), data[key])
	}
	if _, err := connection.Write([]byte(request)); err != nil {
		return fmt.Errorf("authenticating: %w", err)
	}
	answer, err := bufio.NewReader(connection).ReadString('\n')
	if err != nil || answer != "+OK\r\n" {
		return fmt.Errorf("authenticating: %q, %v", strings.TrimSpace(answer), err)
	}
	return nil
}
