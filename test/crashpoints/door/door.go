// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package door tries on real servers whether the data of a connection Secret opens them.
package door

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/url"
	"strings"

	"github.com/jackc/pgx/v5"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
)

// Try returns nil if the data opens a server.
type Try func(ctx context.Context, data map[string][]byte) error

func address(data map[string][]byte) string {
	return net.JoinHostPort(string(data[xpv1.ResourceCredentialsSecretEndpointKey]), string(data[xpv1.ResourceCredentialsSecretPortKey]))
}

// PostgreSQL is the Try of databases.
func PostgreSQL(ctx context.Context, data map[string][]byte) error {
	user, password := string(data[xpv1.ResourceCredentialsSecretUserKey]), string(data[xpv1.ResourceCredentialsSecretPasswordKey])
	u := url.URL{
		Scheme:   "postgres",
		User:     url.UserPassword(user, password),
		Host:     address(data),
		Path:     "postgres",
		RawQuery: "sslmode=disable", // it is on this machine
	}
	connection, err := pgx.Connect(ctx, u.String())
	if err != nil {
		return fmt.Errorf("connecting with what the connection secret holds: %w", err)
	}
	return connection.Close(ctx)
}

// Redis is the Try of caches.
func Redis(ctx context.Context, data map[string][]byte) error {
	connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", address(data))
	if err != nil {
		return fmt.Errorf("connecting with what the connection secret holds: %w", err)
	}
	defer connection.Close() // Nothing was begun.
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
		return fmt.Errorf("telling the password: %w", err)
	}
	answer, err := bufio.NewReader(connection).ReadString('\n')
	if err != nil || answer != "+OK\r\n" {
		return fmt.Errorf("the server does not take the password: %q, %v", strings.TrimSpace(answer), err)
	}
	return nil
}
