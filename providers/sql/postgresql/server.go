// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package postgresql manages databases, roles, grants, schemas and extensions of a PostgreSQL server, 15 or later.
//
// It is the provider's SDK and independent of Kubernetes. The one idea: a type such as Database is both observed and desired
// state, and a field that is nil is unset. Get sets all fields; Create leaves unset fields to the server; Update changes the
// fields that are set and differ, so it can be repeated. Update ignores fields that PostgreSQL fixes at creation.
//
//	server, err := postgresql.New(postgresql.Config{Endpoint: "db.example.org", Username: "admin", Password: password})
//	defer server.Close()
//	created, err := postgresql.Create(ctx, server, postgresql.Database{Name: "orders", Owner: &owner})
//	if postgresql.IsExists(err) { … }
//
// Refusals of the server are *Error with an SQLSTATE; *ConnectionError means that there was no answer. Operations are not retried.
//
// PostgreSQL has no labels: those of databases, roles, schemas and extensions are stored in the last line of the comment, as
// "bowline: owner=42;team=a%3Bb". Passwords of roles are sent as SCRAM verifiers; no error contains a password or a statement.
//
// The user of Config need not be a superuser: CREATEDB and CREATEROLE suffice. To give an object to another role it becomes a
// member of that role during the operation.
package postgresql

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"golang.org/x/sync/semaphore"
)

const (
	defaultPort     = 5432
	defaultDatabase = "postgres"
	defaultConns    = 10
	defaultIdle     = 30 * time.Second

	cancelTimeout = 2 * time.Second  // for the server to cancel a statement whose caller has given up
	lockTimeout   = 5 * time.Second  // bounds how long a statement occupies a connection
	readTimeout   = 10 * time.Second // bounds statements that only read; others may take as long as their context permits
)

// Secret is text that is not printed.
type Secret string

// Format writes a placeholder, whatever the verb.
func (Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte("[hidden]")) }

// MarshalText returns a placeholder.
func (Secret) MarshalText() ([]byte, error) { return []byte("[hidden]"), nil }

// Config is the address and the user of a server. Endpoint and Username are required. The environment is not read.
type Config struct {
	Endpoint    string        // host name or address
	Port        int           // TCP port; default: 5432
	Username    string        // role to connect as
	Password    Secret        // of Username; may be empty
	Database    string        // to connect to for objects that belong to no database; default: postgres
	SSLMode     SSLMode       // required encryption; default: SSLVerifyFull if RootCAs is set, else SSLPrefer
	RootCAs     []byte        // PEM certificates of the authorities for the server's certificate; default: those of the system
	MaxConns    int           // maximum number of connections, across all databases; default: 10
	IdleTimeout time.Duration // how long a connection may be idle before it is closed; default: 30 seconds; for other databases at most 2
	// Dial opens network connections. Default: that of a net.Dialer.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Limit is called around each operation, and may delay or refuse it; its error is returned unchanged. Default: no limit.
	Limit func(ctx context.Context, call func(context.Context) error) error
}

// Server manages one PostgreSQL server. It is safe for concurrent use.
type Server struct {
	config   Config
	pool     *pool
	joining  *semaphore.Weighted // binary; see asMember
	grants   *sync.Map           // from databases to binary semaphores; see granting
	accepted *acceptances
	pinned   bool
	reached  *atomic.Pointer[string] // what SystemIdentifier returns
}

// New returns a Server. It does not connect; the error lists all mistakes in the configuration.
func New(c Config) (*Server, error) {
	c = c.withDefaults()
	connection, err := c.connection()
	problems := []error{err}
	if c.Endpoint == "" {
		problems = append(problems, errors.New("endpoint is required"))
	}
	if c.Username == "" {
		problems = append(problems, errors.New("username is required"))
	}
	if c.Port < 1 || c.Port > 65535 {
		problems = append(problems, fmt.Errorf("port %d is not between 1 and 65535", c.Port))
	}
	if c.MaxConns < 1 {
		problems = append(problems, fmt.Errorf("max conns %d is not positive", c.MaxConns))
	}
	if err := errors.Join(problems...); err != nil {
		return nil, fmt.Errorf("configuring PostgreSQL client: %w", err)
	}
	return &Server{
		config: c, pool: newPool(connection, c.MaxConns, c.IdleTimeout), joining: semaphore.NewWeighted(1), grants: new(sync.Map), accepted: new(acceptances),
		reached: new(atomic.Pointer[string]),
	}, nil
}

// Pin returns a Server that shares the connections and refuses those that do not reach the same data as its first one.
func (s *Server) Pin() *Server {
	pinned := *s
	pinned.pinned, pinned.reached = true, new(atomic.Pointer[string])
	return &pinned
}

func (c Config) withDefaults() Config {
	c.Port, c.Database = cmp.Or(c.Port, defaultPort), cmp.Or(c.Database, defaultDatabase)
	c.MaxConns, c.IdleTimeout = cmp.Or(c.MaxConns, defaultConns), cmp.Or(c.IdleTimeout, defaultIdle)
	if c.SSLMode == "" && len(c.RootCAs) > 0 {
		c.SSLMode = SSLVerifyFull
	}
	c.SSLMode = cmp.Or(c.SSLMode, SSLPrefer)
	if c.Dial == nil {
		c.Dial = (&net.Dialer{}).DialContext
	}
	if c.Limit == nil {
		c.Limit = func(ctx context.Context, call func(context.Context) error) error { return call(ctx) }
	}
	return c
}

// neutral sets everything that pgx would otherwise read from the environment or from files.
const neutral = "host=localhost port=5432 user=nobody password=none passfile='' database=postgres connect_timeout=10 " +
	"sslmode=disable sslrootcert='' sslcert='' sslkey='' sslcertmode=disable sslnegotiation=postgres " +
	"target_session_attrs=any channel_binding=prefer require_auth='' min_protocol_version=3.0 max_protocol_version=3.0"

// connection returns the configuration for pgx.
func (c Config) connection() (*pgx.ConnConfig, error) {
	tlsConfig, mayFallBack, err := c.tls()
	if err != nil {
		return nil, err
	}
	p, err := pgx.ParseConfig(neutral)
	if err != nil {
		return nil, err
	}
	p.Host, p.Port, p.TLSConfig = c.Endpoint, uint16(c.Port), tlsConfig // New checks the port.
	p.User, p.Password, p.Database = c.Username, string(c.Password), c.Database
	p.DialFunc, p.ConnectTimeout = c.Dial, connectTimeout
	p.Fallbacks = nil
	if mayFallBack {
		p.Fallbacks = []*pgconn.FallbackConfig{{Host: p.Host, Port: p.Port}}
	}
	// An empty search path protects against objects of users that shadow those of PostgreSQL. Parameters that are set here override
	// the settings of a database, by which its owner could abort our statements, change our role or prevent connections.
	p.RuntimeParams = map[string]string{
		"application_name": "bowline", "client_encoding": "UTF8", "standard_conforming_strings": "on", "search_path": "",
		"timezone": "UTC", "datestyle": "ISO",
		"lock_timeout": strconv.FormatInt(lockTimeout.Milliseconds(), 10), "statement_timeout": "0",
		"idle_in_transaction_session_timeout": "0", "default_transaction_read_only": "off", "role": "none",
		"local_preload_libraries": "",
	}
	// Named prepared statements break behind poolers such as PgBouncer.
	p.DefaultQueryExecMode = pgx.QueryExecModeExec
	p.BuildContextWatcherHandler = func(conn *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.CancelRequestContextWatcherHandler{Conn: conn, DeadlineDelay: cancelTimeout}
	}
	return p, nil
}

// Close closes all connections, those in use at the end of their operation. Later operations fail.
func (s *Server) Close() { s.pool.close() }

// Version returns the server's version, for example "15.18".
func (s *Server) Version(ctx context.Context) (version string, err error) {
	err = s.reading(ctx, s.config.Database, func(ctx context.Context, c *pgx.Conn) error {
		return c.QueryRow(ctx, "SELECT split_part(current_setting('server_version'), ' ', 1)").Scan(&version)
	})
	return version, err
}

// SystemIdentifier returns the identifier that initdb gave to the data of the server that answered last: copies and replicas have the
// same one. It is empty before the first connection, and where the server does not say.
func (s *Server) SystemIdentifier() string {
	if system := s.reached.Load(); system != nil {
		return *system
	}
	return ""
}

func (s *Server) arrive(system string) error {
	if !s.pinned {
		s.reached.Store(&system)
	} else if !s.reached.CompareAndSwap(nil, &system) && *s.reached.Load() != system {
		return &Error{Code: codeNotReady, left: true, Message: "the address leads to another server than a moment ago",
			Hint: "The call is retried; if this goes on, let the name resolve to one server."}
	}
	return nil
}

// olderThan16 reports whether memberships have no options.
func olderThan16(conn *pgx.Conn) bool {
	var major int
	_, err := fmt.Sscanf(conn.PgConn().ParameterStatus("server_version"), "%d", &major)
	return err == nil && major < 16
}

// on runs f as one operation: with a connection to the database, under the limit, and with classified errors.
func (s *Server) on(ctx context.Context, database string, f func(context.Context, *pgx.Conn) error) error {
	if err := checkName(database); err != nil {
		return err
	}
	return s.sequence(ctx, func(ctx context.Context, use useConn) error {
		return s.classify(ctx, database, use(ctx, database, f))
	})
}

// reading is on for an operation that changes nothing.
func (s *Server) reading(ctx context.Context, database string, f func(context.Context, *pgx.Conn) error) error {
	return s.on(ctx, database, func(ctx context.Context, c *pgx.Conn) error {
		ctx, cancel := context.WithTimeout(ctx, readTimeout)
		defer cancel()
		if err := f(ctx, c); err == nil || ctx.Err() == nil {
			return err
		}
		return ctx.Err() // also if the server answered that it canceled the statement
	})
}

// sequence runs f as one operation that uses connections to several databases, one at a time. f classifies its errors. The limit comes
// after the slot: what waited for one behind calls that the server did not answer is refused without another such call.
func (s *Server) sequence(ctx context.Context, f func(context.Context, useConn) error) (err error) {
	full := s.pool.withSlot(ctx, s.arrive, func(use useConn) error {
		err = s.config.Limit(ctx, func(ctx context.Context) error { return f(ctx, use) })
		return nil
	})
	if full != nil {
		return s.classify(ctx, s.config.Database, full)
	}
	return err
}

// within runs f as one operation in a transaction.
func (s *Server) within(ctx context.Context, database string, f func(context.Context, pgx.Tx) error) error {
	return s.on(ctx, database, func(ctx context.Context, c *pgx.Conn) error {
		return pgx.BeginFunc(ctx, c, func(tx pgx.Tx) error { return f(ctx, tx) })
	})
}

// SSLMode is the required encryption of a connection, as in libpq.
// https://www.postgresql.org/docs/current/libpq-ssl.html#LIBPQ-SSL-SSLMODE-STATEMENTS
type SSLMode string

// Modes of encryption.
const (
	SSLDisable    SSLMode = "disable"
	SSLPrefer     SSLMode = "prefer"      // if the server supports it, which an attacker on the network can prevent
	SSLRequire    SSLMode = "require"     // without authentication of the server
	SSLVerifyCA   SSLMode = "verify-ca"   // with a certificate that is signed by one of the root certificates
	SSLVerifyFull SSLMode = "verify-full" // with one that is also for the endpoint's name
)

// tls returns the TLS settings, nil for none, and whether to fall back to an unencrypted connection.
func (c Config) tls() (settings *tls.Config, mayFallBack bool, err error) {
	settings = &tls.Config{ServerName: c.Endpoint, MinVersion: tls.VersionTLS12}
	if len(c.RootCAs) > 0 {
		settings.RootCAs = x509.NewCertPool()
		if !settings.RootCAs.AppendCertsFromPEM(c.RootCAs) {
			return nil, false, errors.New("root certificates contain no PEM certificate")
		}
	}
	switch c.SSLMode {
	case SSLDisable:
		return nil, false, nil
	case SSLPrefer, SSLRequire:
		settings.InsecureSkipVerify = true // What these modes mean.
	case SSLVerifyCA:
		settings.InsecureSkipVerify = true // The name does not matter; the next line checks the rest.
		settings.VerifyConnection = func(seen tls.ConnectionState) error { return verifyChain(settings.RootCAs, seen) }
	case SSLVerifyFull:
	default:
		return nil, false, fmt.Errorf("SSL mode %q is not one of disable, prefer, require, verify-ca and verify-full", c.SSLMode)
	}
	return settings, c.SSLMode == SSLPrefer, nil
}

func verifyChain(roots *x509.CertPool, seen tls.ConnectionState) error {
	between := x509.NewCertPool()
	for _, certificate := range seen.PeerCertificates[1:] {
		between.AddCert(certificate)
	}
	_, err := seen.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: roots, Intermediates: between})
	return err
}
