// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package postgresql

import (
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

const (
	scramIterations = 4096 // as PostgreSQL itself, whose clients compute it at each login
	scramSaltBytes  = 16
)

// errUnusable means that clients would encode the password differently.
var errUnusable = errors.New("the password is empty or contains characters that clients normalize differently, such as " +
	"control characters, special spaces and ligatures: use letters, digits and punctuation")

// verifier returns what PostgreSQL stores instead of a password, with a random salt: the server accepts it as well, so the password
// does not occur in statements, which are logged. See RFC 5803 and RFC 7677.
func verifier(password string) (string, error) {
	if !usable(password) {
		return "", errUnusable
	}
	salt := make([]byte, scramSaltBytes)
	rand.Read(salt) // never fails
	salted, err := pbkdf2.Key(sha256.New, password, salt, scramIterations, sha256.Size)
	if err != nil {
		return "", err
	}
	stored, text := sha256.Sum256(mac(salted, "Client Key")), base64.StdEncoding.EncodeToString
	return fmt.Sprintf("SCRAM-SHA-256$%d:%s$%s:%s", scramIterations, text(salt), text(stored[:]), text(mac(salted, "Server Key"))), nil
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
