// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package postgresql

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"
)

// SQLSTATEs that this package uses or treats differently from their class.
// https://www.postgresql.org/docs/current/errcodes-appendix.html
const (
	codeNotSupported      = "0A000"
	codeBadPassword       = "28P01"
	codeNoLogin           = "28000"
	codeBadText           = "22021"
	CodeBadValue          = "22023"
	codeUniqueViolation   = "23505"
	codeDependentObjects  = "2BP01"
	codeDependentPrivs    = "2B000"
	codeNoDatabase        = "3D000"
	codeNoSchema          = "3F000"
	codeSerialization     = "40001"
	codeDeadlock          = "40P01"
	codeNoPrivilege       = "42501"
	codeBadName           = "42602"
	codeReservedName      = "42939"
	codeNameTooLong       = "42622"
	codeNoObject          = "42704"
	codeDuplicateObject   = "42710"
	codeNoFunction        = "42883"
	codeNoTable           = "42P01"
	codeDuplicateDatabase = "42P04"
	codeDuplicateSchema   = "42P06"
	codeInUse             = "55006"
	codeLockNotAvailable  = "55P03"
	codeCanceled          = "57014"
	codeNotReady          = "55000"
	codeTooManyConns      = "53300"
	codeInternal          = "XX000"
)

// Error is a refusal by the server, or by this package for input that the server would misunderstand.
type Error struct {
	Code         string // SQLSTATE, for example 42704
	Message      string // about the object of the request
	Detail, Hint string // may be empty, and may name objects and sessions of others
	sent         bool   // the statement was sent: after an error that ends the session its outcome is unknown
	left         bool   // part of the operation was done
	ungranted    bool   // see IsUngranted
}

// Error returns message, detail, hint and SQLSTATE. A detail that changes from call to call is left out.
func (e *Error) Error() string {
	text := e.Message
	fleeting := e.Code == codeInUse || e.Code == codeDeadlock // it lists sessions
	if e.Detail != "" && !fleeting {
		text += ": " + strings.ReplaceAll(strings.TrimSuffix(e.Detail, "."), "\n", "; ")
	}
	if e.Hint != "" {
		text += " (hint: " + strings.TrimSuffix(e.Hint, ".") + ")"
	}
	return fmt.Sprintf("%s (SQLSTATE %s)", text, e.Code)
}

// ConnectionError reports that the server could not be reached or did not answer.
type ConnectionError struct {
	Endpoint string // host and port
	Sent     bool   // a statement was sent: its outcome is unknown
	InUse    int    // size of the connection pool if none became free in time, so that the server was not called; else 0
	Err      error  // cause
}

// Error names the server and the cause.
func (e *ConnectionError) Error() string {
	if e.InUse > 0 {
		return fmt.Sprintf("no connection to PostgreSQL at %s became free in time: all %d are in use (statements that wait for locks "+
			"hold them; raise maxConnections in the ProviderConfig): %v", e.Endpoint, e.InUse, e.Err)
	}
	if e.Sent {
		return fmt.Sprintf("PostgreSQL at %s did not answer, and the outcome is unknown: %v", e.Endpoint, e.Err)
	}
	return fmt.Sprintf("connecting to PostgreSQL at %s (is it running and reachable?): %v", e.Endpoint, e.Err)
}

// Unwrap returns the cause.
func (e *ConnectionError) Unwrap() error { return e.Err }

// Timeout reports whether the deadline was exceeded, for net.Error.
func (e *ConnectionError) Timeout() bool { return errors.Is(e.Err, context.DeadlineExceeded) }

// Temporary is true, for net.Error: a retry may succeed.
func (e *ConnectionError) Temporary() bool { return true }

// classify converts an error of pgx to an *Error or a *ConnectionError. Errors of neither the server nor the connection stay unchanged.
func (s *Server) classify(ctx context.Context, database string, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, errClosed) {
		return errClosed
	}
	if own, ok := errors.AsType[*Error](err); ok {
		return own
	}
	if own, ok := errors.AsType[*ConnectionError](err); ok {
		return own
	}
	unconnected, beforehand := errors.AsType[*connectError](err)
	refused, answered := errors.AsType[*pgconn.PgError](err)
	silent := &ConnectionError{Endpoint: net.JoinHostPort(s.config.Endpoint, strconv.Itoa(s.config.Port)), Err: root(err)}
	switch {
	case answered && refused.Code == codeCanceled && ctx.Err() != nil:
		silent.Err = ctx.Err()
	case beforehand && answered && refused.Code == codeNoDatabase && database == s.config.Database:
		// It must not count as the absence of the object.
		silent.Err = errors.New(refused.Message + " (database of the ProviderConfig)")
	case beforehand && answered && isFile(refused) && database != s.config.Database:
		return &Error{Code: codeNotReady, Message: fmt.Sprintf("nobody can connect to database %q: %s", database, refused.Message),
			Hint: "A superuser removes the setting that is the cause by ALTER DATABASE or ALTER ROLE, with RESET session_preload_libraries."}
	case answered:
		return refusal(refused, !beforehand)
	case beforehand:
		silent.InUse, silent.Err = unconnected.inUse, root(unconnected.error)
	case isConnection(err):
		silent.Sent = true // pgconn.SafeToRetry is also true for a statement that was sent before the connection broke.
	default:
		return err
	}
	return silent
}

// refusal converts an error of the server, and rewrites messages that need knowledge of PostgreSQL's internals.
func refusal(from *pgconn.PgError, sent bool) *Error {
	e := &Error{Code: from.Code, Message: from.Message, Detail: from.Detail, Hint: from.Hint, sent: sent}
	switch {
	case e.Code == codeInternal && strings.HasPrefix(from.Routine, "simple_heap_"):
		e.Code = codeSerialization // a concurrent change of the same catalog row
	case e.Code == codeLockNotAvailable:
		e.Message = fmt.Sprintf("another session holds a lock on the object and did not release it within %s", lockTimeout)
		e.Hint = "The call is retried; pg_locks and pg_blocking_pids() show the session."
	}
	return e
}

var errLost = errors.New("the connection was lost")

func isConnection(err error) bool {
	var network net.Error
	return errors.As(err, &network) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, pgconn.ErrConnClosed)
}

// root unwraps errors of pgx and package net, whose text contains the local port, which changes with each connection.
func root(err error) error {
	if op, ok := errors.AsType[*net.OpError](err); ok {
		return op.Err
	}
	for _, lost := range []error{pgconn.ErrConnClosed, io.ErrUnexpectedEOF, io.EOF} {
		if errors.Is(err, lost) {
			return errLost
		}
	}
	for _, ended := range []error{context.DeadlineExceeded, context.Canceled} {
		if errors.Is(err, ended) {
			return ended
		}
	}
	if failed, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return failed.Unwrap()
	}
	return err
}

// IsNotFound reports whether an object of the request does not exist: its subject, or one that it refers to, such as the owner or
// the database.
func IsNotFound(err error) bool {
	return has(err, codeNoDatabase, codeNoSchema, codeNoObject, codeNoFunction, codeNoTable)
}

// IsUngranted reports whether only the privileges of a Grant do not exist, while its roles and its target do.
func IsUngranted(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.ungranted
}

// IsExists reports whether the name is taken.
func IsExists(err error) bool {
	return has(err, codeDuplicateDatabase, codeDuplicateObject, codeDuplicateSchema, codeUniqueViolation)
}

// IsAuthentication reports whether the server does not accept the credentials.
func IsAuthentication(err error) bool { return has(err, "28") }

// IsPermission reports whether the user lacks a privilege.
func IsPermission(err error) bool { return has(err, codeNoPrivilege) }

// IsConflict reports whether the present state does not permit the request and a retry may succeed: sessions are connected to the
// database, other objects depend on the role, the same object is changed concurrently.
func IsConflict(err error) bool {
	return has(err, codeInUse, codeNotReady, codeDependentObjects, codeDependentPrivs, codeSerialization, codeDeadlock,
		codeLockNotAvailable)
}

// IsInUse reports whether sessions use the object, or others depend on it.
func IsInUse(err error) bool { return has(err, codeInUse, codeDependentObjects, codeDependentPrivs) }

// IsUnavailable reports whether the server cannot be reached, is starting or shutting down, or is out of connections or other
// resources.
func IsUnavailable(err error) bool {
	_, silent := errors.AsType[*ConnectionError](err)
	return silent || has(err, "08", "53", "57P", "58")
}

// IsUnreached reports whether the server accepts no connection, or does not answer on one.
func IsUnreached(err error) bool {
	silent, ok := errors.AsType[*ConnectionError](err)
	return ok && !silent.Sent && silent.InUse == 0 && (silent.Timeout() || errors.Is(silent.Err, syscall.ECONNREFUSED))
}

// IsReserved reports whether the object is a system object, or one that this client uses itself.
func IsReserved(err error) bool { return has(err, codeReservedName) }

// IsBusy reports whether the server has no connection left for us. Fewer connections may help.
func IsBusy(err error) bool { return has(err, codeTooManyConns) }

// IsPoolFull reports whether all connections of the pool were in use, so that the server was not called.
func IsPoolFull(err error) bool {
	silent, ok := errors.AsType[*ConnectionError](err)
	return ok && silent.InUse > 0
}

// IsInvalid reports whether the request is wrong, so that repeating it cannot help.
func IsInvalid(err error) bool {
	return has(err, "22", "42", "0A", "0L", "0P") && !IsNotFound(err) && !IsExists(err) && !IsPermission(err)
}

// IsOutcomeUnknown reports whether the request may have been executed despite the error.
func IsOutcomeUnknown(err error) bool {
	if silent, ok := errors.AsType[*ConnectionError](err); ok {
		return silent.Sent
	}
	e, ok := errors.AsType[*Error](err)
	return ok && (e.left || e.sent && has(err, "08", "57P"))
}

// has reports whether an SQLSTATE, or its class, is among those given.
func has(err error, prefixes ...string) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(e.Code, p) })
}
