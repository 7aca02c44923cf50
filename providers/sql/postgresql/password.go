// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package postgresql

import (
	"context"
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"golang.org/x/text/unicode/norm"
)

const (
	scramIterations = 4096 // as PostgreSQL itself, whose clients compute it at each login
	scramSaltBytes  = 16
	// maxIterations bounds the work that a verifier of others can cause.
	maxIterations = 200_000

	// acceptedFor bounds how long an accepted password is not tried again, for servers that do not count updates.
	acceptedFor = 10 * time.Minute
)

// errUnusable means that clients would encode the password differently.
var errUnusable = errors.New("the password is empty or contains characters that clients normalize differently, such as " +
	"control characters, special spaces and ligatures: use letters, digits and punctuation")

// RefusesPassword reports whether a role that Get returned has another password. It compares the verifier that the server stores.
// Where the user must not read that, it logs in, which uses one of the connections of the role, and not again before some role of
// the server changed. Of a login only the refusal of the password counts, unless that has expired.
func (s *Server) RefusesPassword(ctx context.Context, role *Role, password Secret) (refuses bool, err error) {
	stored, version, err := s.storedPassword(ctx, role)
	if err != nil {
		return false, err
	}
	if stored != nil && *stored == "" {
		return true, nil
	}
	now := sha256.Sum256([]byte(version + "\x00" + string(password)))
	if s.accepted.has(role.OID, now) {
		return false, nil
	}
	matches, comparable := false, false
	if stored != nil {
		matches, comparable = matchesVerifier(string(password), *stored)
	}
	if comparable && !matches {
		return true, nil
	}
	if !comparable {
		if matches, refuses, err = s.tryLogin(ctx, role, password); err != nil || refuses {
			return refuses, err
		}
	}
	if matches {
		s.accepted.add(role.OID, now)
	}
	return false, nil
}

// storedPassword returns what the server stores instead of the password of a role, empty for none and nil if the user must not read
// it, and what changes with it.
func (s *Server) storedPassword(ctx context.Context, role *Role) (stored *string, version string, err error) {
	err = s.reading(ctx, s.config.Database, func(ctx context.Context, c *pgx.Conn) error {
		var readable bool
		err := c.QueryRow(ctx, "SELECT has_column_privilege('pg_catalog.pg_authid', 'rolpassword', 'SELECT'), "+
			"pg_stat_get_tuples_updated('pg_catalog.pg_authid'::regclass)::text").Scan(&readable, &version)
		if err != nil || !readable {
			return err
		}
		err = c.QueryRow(ctx, "SELECT coalesce(rolpassword, '') FROM pg_catalog.pg_authid WHERE oid = $1", role.OID).Scan(&version)
		stored = &version
		if errors.Is(err, pgx.ErrNoRows) {
			return notFound(codeNoObject, "role", role.Name)
		}
		return err
	})
	return stored, version, err
}

// tryLogin reports whether the server accepts or refuses a password. It does neither if the login fails for another reason. That a role
// may not log in, or not connect to the database, PostgreSQL reports only after it accepted the password. A rule of the server that admits no
// login accepts no other password either.
func (s *Server) tryLogin(ctx context.Context, role *Role, password Secret) (accepts, refuses bool, err error) {
	config := s.pool.config.Copy()
	config.User, config.Password = role.Name, string(password)
	err = s.sequence(ctx, func(ctx context.Context, _ useConn) error {
		connecting, cancel := context.WithTimeout(ctx, connectTimeout)
		defer cancel()
		conn, err := pgx.ConnectConfig(connecting, config)
		if err == nil {
			closeConn(conn)
		}
		answer, answered := errors.AsType[*pgconn.PgError](err)
		if err != nil && !answered {
			err = s.pool.explain(ctx, err, fmt.Sprintf("logins of role %q", role.Name), s.arrive)
			return s.classify(ctx, config.Database, &connectError{error: err})
		}
		expired := *role.ValidUntil < time.Now().UTC().Format(time.RFC3339) // infinity is not
		accepts = err == nil || answered && (answer.Code == codeNoPrivilege || answer.Code == codeNoLogin)
		refuses = answered && answer.Code == codeBadPassword && !expired
		return nil
	})
	return accepts, refuses, err
}

// acceptances are the passwords that the server is known to accept, by role.
type acceptances struct {
	mu sync.Mutex
	of map[uint32]acceptance
}

type acceptance struct {
	sum   [sha256.Size]byte // of the password, and of the state of the server that accepted it
	until time.Time
}

func (a *acceptances) has(role uint32, sum [sha256.Size]byte) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	known := a.of[role]
	return known.sum == sum && time.Now().Before(known.until)
}

func (a *acceptances) add(role uint32, sum [sha256.Size]byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.of == nil {
		a.of = map[uint32]acceptance{}
	}
	maps.DeleteFunc(a.of, func(_ uint32, known acceptance) bool { return time.Now().After(known.until) }) // roles that are gone
	a.of[role] = acceptance{sum, time.Now().Add(acceptedFor)}
}

// verifier returns what PostgreSQL stores instead of a password, with a random salt: the server accepts it as well, so the password
// does not occur in statements, which are logged. See RFC 5803 and RFC 7677.
func verifier(password string) (string, error) {
	if !usable(password) {
		return "", errUnusable
	}
	salt := make([]byte, scramSaltBytes)
	rand.Read(salt) // never fails
	return scram(password, salt, scramIterations)
}

func scram(password string, salt []byte, iterations int) (string, error) {
	salted, err := pbkdf2.Key(sha256.New, password, salt, iterations, sha256.Size)
	if err != nil {
		return "", err
	}
	stored, text := sha256.Sum256(mac(salted, "Client Key")), base64.StdEncoding.EncodeToString
	return fmt.Sprintf("SCRAM-SHA-256$%d:%s$%s:%s", iterations, text(salt), text(stored[:]), text(mac(salted, "Server Key"))), nil
}

// matchesVerifier compares a password with a verifier. Those of other algorithms are not comparable; one that takes too much work is not ours.
func matchesVerifier(password, stored string) (matches, comparable bool) {
	parameters, isScram := strings.CutPrefix(stored, "SCRAM-SHA-256$")
	parameters, _, _ = strings.Cut(parameters, "$")
	count, encoded, _ := strings.Cut(parameters, ":")
	iterations, err := strconv.Atoi(count)
	salt, errSalt := base64.StdEncoding.DecodeString(encoded)
	if !isScram || err != nil || errSalt != nil {
		return false, false
	}
	if iterations < 1 || iterations > maxIterations {
		return false, true
	}
	computed, err := scram(password, salt, iterations)
	return err == nil && hmac.Equal([]byte(computed), []byte(stored)), true
}

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

// usable reports whether all clients encode the password alike. SCRAM requires SASLprep, which clients implement by different
// tables or not at all; they agree on text that it does not change.
func usable(password string) bool {
	const graphemeJoiner, mongolianHyphen = '\u034F', '\u1806'
	odd := func(r rune) bool {
		return unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Variation_Selector) ||
			unicode.Is(unicode.Zs, r) && r != ' ' || r == graphemeJoiner || r == mongolianHyphen
	}
	return password != "" && utf8.ValidString(password) && norm.NFKC.IsNormalString(password) && !strings.ContainsFunc(password, odd)
}
