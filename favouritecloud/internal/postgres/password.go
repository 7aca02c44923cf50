// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/bowline-dev/bowline/favouritecloud/internal/host"
)

// ErrWrongPassword reports that the server refused every password that was tried.
var ErrWrongPassword = errors.New("the server refuses the password")

// FindPassword returns the first candidate that is the password of the superuser. The error is ErrWrongPassword when none is.
// Errors contain no password.
func (s *Server) FindPassword(ctx context.Context, candidates []string) (string, error) {
	for _, password := range candidates {
		conn, err := s.connect(ctx, password)
		if errors.Is(err, ErrWrongPassword) {
			continue
		}
		if err != nil {
			return "", err
		}
		return password, conn.Close(ctx)
	}
	return "", ErrWrongPassword
}

// SetPassword changes the password of the superuser. The change is on disk when it returns nil. Errors contain no password.
func (s *Server) SetPassword(ctx context.Context, current, desired string) error {
	conn, err := s.connect(ctx, current)
	if err != nil {
		return err
	}
	defer conn.Close(ctx) // The change is committed.
	statement := "ALTER ROLE " + Username + " PASSWORD '" + strings.ReplaceAll(desired, "'", "''") + "'"
	return conn.Exec(ctx, statement).Close()
}

// connect opens a session that logs no statements, since they contain passwords.
func (s *Server) connect(ctx context.Context, password string) (*pgconn.PgConn, error) {
	target := fmt.Sprintf("host=%s port=%d user=%s database=postgres sslmode=disable", host.Loopback, s.Settings.Port, Username)
	config, err := pgconn.ParseConfig(target)
	if err != nil {
		return nil, fmt.Errorf("connecting to server: %w", err)
	}
	config.Password, config.ConnectTimeout = password, pingTimeout
	config.RuntimeParams = map[string]string{
		"log_statement": "none", "log_min_error_statement": "panic", "log_min_duration_statement": "-1",
		"standard_conforming_strings": "on", "password_encryption": "scram-sha-256", "synchronous_commit": "on",
	}
	conn, err := pgconn.ConnectConfig(ctx, config)
	const invalidPassword = "28P01"
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok && refused.Code == invalidPassword {
		return nil, ErrWrongPassword
	}
	if err != nil {
		return nil, fmt.Errorf("connecting to server: %w", err)
	}
	return conn, nil
}
