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
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/bowline-dev/bowline/providers/sql/postgresql/internal/pool"
)

// SQLSTATEs that this package itself gives to errors, or treats apart from their class.
// https://www.postgresql.org/docs/current/errcodes-appendix.html
const (
	codeNotSupported      = "0A000"
	codeBadText           = "22021"
	codeBadValue          = "22023"
	codeUniqueViolation   = "23505"
	codeDependentObjects  = "2BP01"
	codeDependentPrivs    = "2B000"
	codeNoDatabase        = "3D000"
	codeNoSchema          = "3F000"
	codeSerialization     = "40001"
	codeDeadlock          = "40P01"
	codeNoPrivilege       = "42501"
	codeBadName           = "42602"
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
	// Code is the SQLSTATE, for example 42704.
	Code string
	// Message is about the object of the request.
	Message string
	// Detail and Hint may be empty, and may name objects and sessions of others.
	Detail, Hint string
	// sent is true when the statement was on its way: an error that ends the session leaves open what came of it.
	sent bool
	// left is true when part of what was asked for is done all the same.
	left bool
}

// Error returns the server's words and the SQLSTATE. Details are left out where they change from moment to moment.
func (e *Error) Error() string {
	text := e.Message
	fleeting := e.Code == codeInUse || e.Code == codeDeadlock // How many sessions and which are in the way is news each time.
	if e.Detail != "" && !fleeting {
		text += ": " + strings.ReplaceAll(strings.TrimSuffix(e.Detail, "."), "\n", "; ")
	}
	if e.Hint != "" {
		text += " (hint: " + strings.TrimSuffix(e.Hint, ".") + ")"
	}
	return fmt.Sprintf("%s (SQLSTATE %s)", text, e.Code)
}

// ConnectionError reports that the server could not be asked, or did not answer.
type ConnectionError struct {
	// Endpoint is the host and port.
	Endpoint string
	// Sent is true when a statement was on its way: whether the server did it is unknown.
	Sent bool
	// InUse is how many connections we may have, where all of them were in use and none came free in time: nothing is known of
	// the server then. Else it is 0.
	InUse int
	// Err is the cause.
	Err error
}

// Error names the server and the cause.
func (e *ConnectionError) Error() string {
	if e.InUse > 0 {
		return fmt.Sprintf("none of our connections to PostgreSQL at %s came free in time: all %d are in use (what waits for locks "+
			"keeps them; maxConnections of the provider configuration allows more): %v", e.Endpoint, e.InUse, e.Err)
	}
	if e.Sent {
		return fmt.Sprintf("PostgreSQL at %s did not answer, and may have done what was asked: %v", e.Endpoint, e.Err)
	}
	return fmt.Sprintf("connecting to PostgreSQL at %s (does it run, and may we reach it?): %v", e.Endpoint, e.Err)
}

// Unwrap returns the cause.
func (e *ConnectionError) Unwrap() error { return e.Err }

// Timeout reports whether time ran out. With Temporary it makes this a net.Error.
func (e *ConnectionError) Timeout() bool { return errors.Is(e.Err, context.DeadlineExceeded) }

// Temporary is true: another attempt may succeed.
func (e *ConnectionError) Temporary() bool { return true }

// classify turns what pgx says of an operation in a database into an *Error or a *ConnectionError. Other errors are not
// about the server.
func (s *Server) classify(ctx context.Context, database string, err error) error {
	if err == nil {
		return nil
	}
	unconnected, beforehand := errors.AsType[*pool.ConnectError](err)
	if errors.Is(err, pool.ErrClosed) {
		return pool.ErrClosed
	}
	if own, ok := errors.AsType[*Error](err); ok {
		return own
	}
	if own, ok := errors.AsType[*ConnectionError](err); ok {
		return own
	}
	if full, ok := errors.AsType[*pool.FullError](err); ok {
		return &ConnectionError{Endpoint: s.endpoint(), InUse: full.Conns, Err: root(full.Err)}
	}
	refused, answered := errors.AsType[*pgconn.PgError](err)
	canceled := answered && refused.Code == codeCanceled && ctx.Err() != nil
	switch {
	case canceled:
		return &ConnectionError{Endpoint: s.endpoint(), Err: ctx.Err()}
	case beforehand && answered && refused.Code == codeNoDatabase && database == s.config.Database:
		// It would pass for the absence of what the operation is about.
		return &ConnectionError{Endpoint: s.endpoint(), Err: errors.New(refused.Message + ", which the configuration names")}
	case answered:
		return refusal(refused, !beforehand)
	case beforehand:
		return &ConnectionError{Endpoint: s.endpoint(), Err: root(unconnected.Err)}
	case isConnection(err):
		// pgconn.SafeToRetry is no help: it says so too of a statement that was sent before the connection broke.
		return &ConnectionError{Endpoint: s.endpoint(), Sent: true, Err: root(err)}
	default:
		return err
	}
}

// refusal is what the server says, in clearer words where it takes knowledge of PostgreSQL to understand its own.
func refusal(said *pgconn.PgError, sent bool) *Error {
	e := &Error{Code: said.Code, Message: said.Message, Detail: said.Detail, Hint: said.Hint, sent: sent}
	switch {
	case e.Code == codeInternal && strings.HasPrefix(said.Routine, "simple_heap_"):
		e.Code = codeSerialization // Somebody changed the same row of the catalogue at the same time.
	case e.Code == codeLockNotAvailable:
		e.Message = fmt.Sprintf("another session holds a lock on what this would change, and did not release it within %s", lockTimeout)
		e.Hint = "It is tried again; pg_locks and pg_blocking_pids() tell whose session it is."
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

// root leaves out what pgx and package net put around a cause: our own port, which differs from connection to connection,
// and names that the caller knows.
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

// IsNotFound reports whether err says that something the request names does not exist: its subject, or what it refers to,
// such as the owner or the database.
func IsNotFound(err error) bool {
	return hasCode(err, codeNoDatabase, codeNoSchema, codeNoObject, codeNoFunction, codeNoTable)
}

// IsExists reports whether err says that the name is taken.
func IsExists(err error) bool {
	return hasCode(err, codeDuplicateDatabase, codeDuplicateObject, codeDuplicateSchema, codeUniqueViolation)
}

// IsAuthentication reports whether err says that the server does not accept the user, the password, or us as them.
func IsAuthentication(err error) bool { return hasClass(err, "28") }

// IsPermission reports whether err says that the user may not do this.
func IsPermission(err error) bool { return hasCode(err, codeNoPrivilege) }

// IsConflict reports whether err says that the present state does not allow the request, though a later one may: sessions
// are connected to the database, other objects depend on the role, somebody else changes the same thing.
func IsConflict(err error) bool {
	return hasCode(err, codeInUse, codeNotReady, codeDependentObjects, codeDependentPrivs, codeSerialization, codeDeadlock,
		codeLockNotAvailable)
}

// IsUnavailable reports whether err says that the server cannot be reached, is starting or ending, or is out of connections
// or of other means.
func IsUnavailable(err error) bool {
	_, silent := errors.AsType[*ConnectionError](err)
	return silent || hasClass(err, "08", "53", "57P", "58")
}

// IsBusy reports whether err says that the server has no connection left for us. Fewer of them may help.
func IsBusy(err error) bool { return hasCode(err, codeTooManyConns) }

// IsPoolFull reports whether err says that all our own connections were in use, so that the server was not asked.
func IsPoolFull(err error) bool {
	silent, ok := errors.AsType[*ConnectionError](err)
	return ok && silent.InUse > 0
}

// IsInvalid reports whether err says that the request itself is wrong, so that repeating it will not help.
func IsInvalid(err error) bool {
	return hasClass(err, "22", "42", "0A", "0L", "0P") && !IsNotFound(err) && !IsExists(err) && !IsPermission(err)
}

// IsOutcomeUnknown reports whether err leaves open whether the request was carried out.
func IsOutcomeUnknown(err error) bool {
	if silent, ok := errors.AsType[*ConnectionError](err); ok {
		return silent.Sent
	}
	e, ok := errors.AsType[*Error](err)
	return ok && (e.left || e.sent && hasClass(err, "08", "57P"))
}

func hasCode(err error, codes ...string) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && slices.Contains(codes, e.Code)
}

func hasClass(err error, prefixes ...string) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(e.Code, p) })
}
