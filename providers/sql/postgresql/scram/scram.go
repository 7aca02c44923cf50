// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package scram computes and checks the verifiers that PostgreSQL stores instead of passwords.
//
// ALTER ROLE … PASSWORD 'secret' exposes the password in logs, pg_stat_statements and audit trails. The server accepts a verifier
// as well, so a client that computes it never sends the password.
//
//	verifier, err := scram.Verifier(password)   // SCRAM-SHA-256$4096:salt$StoredKey:ServerKey
//	same := scram.Matches(verifier, "orders", password)
//
// See RFC 5803 and RFC 7677.
package scram

import (
	"crypto/hmac"
	"crypto/md5" // What old servers store.
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

const (
	mechanism  = "SCRAM-SHA-256"
	iterations = 4096 // as PostgreSQL itself, whose clients compute it at each login
	saltBytes  = 16
	// maxIterations bounds the work of Matches.
	maxIterations = 1_000_000
)

// ErrUnusable means that clients would encode the password differently.
var ErrUnusable = errors.New("the password is empty or contains characters that clients normalize differently, such as " +
	"control characters, special spaces and ligatures: use letters, digits and punctuation")

// Verifier returns the verifier of a password, with a random salt. The error is ErrUnusable.
func Verifier(password string) (string, error) {
	if !usable(password) {
		return "", ErrUnusable
	}
	salt := make([]byte, saltBytes)
	rand.Read(salt) // never fails
	stored, server, err := keys(password, salt, iterations)
	if err != nil {
		return "", err
	}
	text := base64.StdEncoding.EncodeToString
	return fmt.Sprintf("%s$%d:%s$%s:%s", mechanism, iterations, text(salt), text(stored), text(server)), nil
}

// Matches reports whether a stored verifier of a role matches the password. It supports SCRAM-SHA-256 and MD5, which includes the
// name of the role.
func Matches(verifier, role, password string) bool {
	if digest, ok := strings.CutPrefix(verifier, "md5"); ok {
		sum := md5.Sum([]byte(password + role)) // What old servers store.
		return subtle.ConstantTimeCompare([]byte(digest), []byte(hex.EncodeToString(sum[:]))) == 1
	}
	count, salt, storedKey, ok := parse(verifier)
	if !ok || !usable(password) {
		return false
	}
	stored, _, err := keys(password, salt, count)
	return err == nil && subtle.ConstantTimeCompare(stored, storedKey) == 1
}

func parse(verifier string) (count int, salt, storedKey []byte, ok bool) {
	parts := strings.Split(verifier, "$")
	if len(parts) != 3 || parts[0] != mechanism {
		return 0, nil, nil, false
	}
	work, encodedSalt, _ := strings.Cut(parts[1], ":")
	encodedKey, _, _ := strings.Cut(parts[2], ":")
	count, countErr := strconv.Atoi(work)
	salt, saltErr := base64.StdEncoding.DecodeString(encodedSalt)
	storedKey, keyErr := base64.StdEncoding.DecodeString(encodedKey)
	ok = errors.Join(countErr, saltErr, keyErr) == nil && count > 0 && count <= maxIterations
	return count, salt, storedKey, ok
}

func keys(password string, salt []byte, count int) (stored, server []byte, err error) {
	salted, err := pbkdf2.Key(sha256.New, password, salt, count, sha256.Size)
	if err != nil {
		return nil, nil, fmt.Errorf("computing SCRAM verifier: %w", err)
	}
	client := sha256.Sum256(mac(salted, "Client Key"))
	return client[:], mac(salted, "Server Key"), nil
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
