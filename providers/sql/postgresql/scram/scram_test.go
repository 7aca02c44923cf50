// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package scram_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/bowline-dev/bowline/providers/sql/postgresql/scram"
)

func TestVerifier(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		password string
		unusable bool
	}{
		"plain": {password: "pencil"}, "space": {password: "a b"}, "quotes": {password: `'"\`}, "composed": {password: "größer"},
		"wide": {password: "名"}, "emoji": {password: "🙂"},
		"empty": {unusable: true}, "NUL": {password: "a\x00", unusable: true}, "tab": {password: "a\tb", unusable: true},
		"decomposed": {password: "gro\u0308sser", unusable: true}, "ligature": {password: "\ufb01", unusable: true},
		"soft hyphen": {password: "a\u00adb", unusable: true}, "no-break space": {password: "a\u00a0b", unusable: true},
		"variation": {password: "☺\ufe0f", unusable: true}, "joiner": {password: "a\u034fb", unusable: true},
		"no UTF-8": {password: "\xff", unusable: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			verifier, err := scram.Verifier(tc.password)
			if errors.Is(err, scram.ErrUnusable) != tc.unusable {
				t.Fatalf("got %v", err)
			}
			if tc.unusable {
				return
			}
			if !scram.Matches(verifier, "anybody", tc.password) || scram.Matches(verifier, "anybody", tc.password+"x") {
				t.Errorf("%s is not one of %q alone", verifier, tc.password)
			}
			if another, _ := scram.Verifier(tc.password); another == verifier {
				t.Error("the salt is always the same")
			}
		})
	}
}

// The first is the example of RFC 7677, the last what PostgreSQL stores with password_encryption = md5.
func TestMatches(t *testing.T) {
	t.Parallel()
	const known = "SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:" +
		"wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU="
	cases := map[string]struct {
		verifier, role, password string
		want                     bool
	}{
		"known":          {known, "user", "pencil", true},
		"other password": {known, "user", "pen", false},
		"too much work":  {"SCRAM-SHA-256$2000000:W22ZaJ0SNY7soEsUEjb6gQ==$AAAA:AAAA", "user", "pencil", false},
		"no number":      {"SCRAM-SHA-256$x:W22ZaJ0SNY7soEsUEjb6gQ==$AAAA:AAAA", "user", "pencil", false},
		"cut off":        {"SCRAM-SHA-256$4096", "user", "pencil", false},
		"other kind":     {"SCRAM-SHA-512$4096:AAAA$AAAA:AAAA", "user", "pencil", false},
		"empty":          {"", "user", "", false},
		"MD5":            {"md520c46e3762c864548e296b33c3406aa9", "user", "pencil", true},
		"MD5 of another": {"md520c46e3762c864548e296b33c3406aa9", "admin", "pencil", false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := scram.Matches(tc.verifier, tc.role, tc.password); got != tc.want {
				t.Errorf("got %t", got)
			}
		})
	}
}

func ExampleMatches() {
	verifier, err := scram.Verifier("s3cret")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(scram.Matches(verifier, "orders", "s3cret"), scram.Matches(verifier, "orders", "guess"))
	// Output: true false
}
