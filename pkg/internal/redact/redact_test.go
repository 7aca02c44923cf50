// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestText(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		secret, text, want string
	}{
		"PartOfAWord":   {"postgres", "no such file: /usr/share/postgresql/15/tsearch", "no such file: /usr/share/postgresql/15/tsearch"},
		"WholeWord":     {"postgres", "login with postgres: refused", "login with (sensitive): refused"},
		"Both":          {"post", "posted post, post-it", "posted (sensitive), (sensitive)-it"},
		"AfterAnEscape": {"hunter2", `"user\nhunter2" a%20hunter2`, `"user\n(sensitive)" a%20(sensitive)`},
		"Punctuation":   {"p;ss", "ap;ss p;ss", "ap;ss (sensitive)"},
		"Overlapping":   {"aaaa", "aaaaa aaaa", "aaaaa (sensitive)"},
		"Short":         {"pwd", "pwd", "pwd"},
		"OneLine":       {"-----KEY-----\nMIIEvAIBADANBgkqhkiG9w\nshort\n", "line MIIEvAIBADANBgkqhkiG9w, short", "line (sensitive), short"},
		"LongInAWord":   {"correct-horse", "xcorrect-horsex", "x(sensitive)x"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, Text(tc.text, [][]byte{[]byte(tc.secret)})); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// The middle of a long text is left out, without a part of a secret or of a letter, and once, also where something is added.
func TestLongErrors(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ü", 1275) + "correct-horse" + strings.Repeat("é", 50_000) + ", so try again"
	err := Error(errors.New(long), []byte("correct-horse"))
	err = Error(fmt.Errorf("creating the resource: %w", err), []byte("correct-horse"))
	got := err.Error()
	if len(got) > longestText || !utf8.ValidString(got) || strings.Contains(got, "corr") || strings.Count(got, leftOut) != 1 ||
		!strings.HasPrefix(got, "creating the resource: ü") || !strings.HasSuffix(got, ", so try again") {
		t.Errorf("got %d bytes: %s", len(got), got)
	}
}

// The spellings of a megabyte of quotes fill a gigabyte.
func TestLongSecretsTakeNoMemory(t *testing.T) {
	long := []byte(strings.Repeat("\"\\é", 1<<18))
	for name, redact := range map[string]func(){
		"text":     func() { Text("a message", [][]byte{long}) },
		"cut text": func() { end(string(long[:60])+"…", [][]byte{long}) },
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		redact()
		runtime.ReadMemStats(&after)
		if bytes := after.TotalAlloc - before.TotalAlloc; bytes > 10<<20 {
			t.Errorf("%s: %d bytes", name, bytes)
		}
	}
}

func TestCutOffSecrets(t *testing.T) {
	t.Parallel()
	var long string
	for i := range 50 {
		long += fmt.Sprintf("%dpä\"'", i)
	}
	for _, once := range spellings(long) {
		for _, twice := range spellings(once) {
			for n := shortestSecret; n < 120; n += 13 {
				if got := end(twice[:n]+"…", [][]byte{[]byte(long)}); got != Hidden+"…" {
					t.Fatalf("the first %d bytes of %.60q... become %q", n, twice, got)
				}
			}
		}
	}
}

func TestDetails(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		details map[string]string
		want    []string
	}{
		"Standard": {map[string]string{"endpoint": "db.example.org", "port": "5432", "username": "postgres", "database": "postgres",
			"password": "hunter2"}, []string{"hunter2"}},
		"OtherSpellings":       {map[string]string{"PGUSER": "postgres", "userName": "postgres", "hostname": "db.example.org"}, nil},
		"PasswordIsTheName":    {map[string]string{"username": "postgres", "password": "postgres"}, []string{"postgres"}},
		"OfUnknownUse":         {map[string]string{"DATABASE_URL": "postgresql://a:b@c/d", "flavour": "small"}, []string{"postgresql://a:b@c/d"}},
		"ShorterThanAnySecret": {map[string]string{"token": "abc", "pin": "123"}, nil},
		"Abbreviations": {map[string]string{"pwd": "hunter0", "DB_PASS": "hunter1", "pin": "0815", "adminPin": "4711", "pgpwd": "hunter2", "wifi.psk": "open5",
			"userPass1": "hunter3"}, []string{"0815", "4711", "hunter0", "hunter1", "hunter2", "hunter3", "open5"}},
		"PartsOfWords":    {map[string]string{"compass": "north", "bypass": "never", "pinned": "v1.2", "passive": "ready", "Pinot": "noir", "spin": "left"}, nil},
		"OrdinaryValues":  {map[string]string{"pass": "true", "pin": "None", "pwd": "null"}, nil},
		"PinIsThePort":    {map[string]string{"port": "5432", "pin": "5432"}, nil},
		"ShortAndUnknown": {map[string]string{"flavour": "small", "key": "value"}, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			details, got := map[string][]byte{}, []string(nil)
			for key, value := range tc.details {
				details[key] = []byte(value)
			}
			for _, secret := range Details(details) {
				got = append(got, string(secret))
			}
			slices.Sort(got)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// A short value under an abbreviated key is hidden as a whole word, and takes no other part of a message with it.
func TestShortDetails(t *testing.T) {
	t.Parallel()
	secrets := Details(map[string][]byte{"pin": []byte("4711"), "DB_PASS": []byte("north"), "port": []byte("5432"), "region": []byte("eu-north-1")})
	for text, want := range map[string]string{
		`login with pin 4711 failed`:               `login with pin (sensitive) failed`,
		`password=north host=db port=5432`:         `password=(sensitive) host=db port=5432`,
		`invalid password "north"`:                 `invalid password "(sensitive)"`,
		`the northern server, northwest, a_north`:  `the northern server, northwest, a_north`,
		`request 94711, 47110 bytes, id x4711`:     `request 94711, 47110 bytes, id x4711`,
		`user 'north' has no password: set pin`:    `user '(sensitive)' has no password: set pin`,
		`dial tcp 10.47.11.1:5432: refused (4712)`: `dial tcp 10.47.11.1:5432: refused (4712)`,
	} {
		if diff := cmp.Diff(want, Text(text, secrets)); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
}

// encodings are those of the code that writes errors: ours, of clients and of database servers.
var encodings = []func(string) string{
	func(s string) string { return s },
	func(s string) string { return fmt.Sprintf("%q", s) },
	func(s string) string { return fmt.Sprintf("%+q", s) },
	func(s string) string { text, _ := json.Marshal(map[string]string{"a": s}); return string(text) },
	func(s string) string { return url.Values{"a": {s}}.Encode() },
	func(s string) string {
		return (&url.URL{Scheme: "postgres", User: url.UserPassword("u", s), Host: "h"}).String()
	},
	func(s string) string { return "/" + url.PathEscape(s) },
	func(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" },
	func(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` },
	func(s string) string {
		return " E'" + strings.ReplaceAll(strings.ReplaceAll(s, "'", "''"), `\`, `\\`) + "'"
	},
	func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
	func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) },
}

// What base64 makes of a secret is found in that of a longer text, wherever it is there.
func TestWithinBase64(t *testing.T) {
	t.Parallel()
	for _, secret := range []string{"correct-hors", "correct-horse", "correct-horse-", "\xff\xfe\xfb???>>>~~~~"} {
		for before := range 7 {
			for after := range 4 {
				text := []byte(strings.Repeat("u", before) + secret + strings.Repeat("v", after))
				for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.RawURLEncoding} {
					got := Text("Basic "+encoding.EncodeToString(text), [][]byte{[]byte(secret)})
					left := strings.NewReplacer("Basic ", "", Hidden, "", "=", "").Replace(got)
					if most := (before*8+5)/6 + (after*8+5)/6 + 2; !strings.Contains(got, Hidden) || len(left) > most {
						t.Errorf("%q after %d and before %d bytes: %q", secret, before, after, got)
					}
				}
			}
		}
	}
}

// No secret of twelve bytes or more gets through, in one encoding or in one within another.
func FuzzText(f *testing.F) {
	for inner := range encodings {
		for outer := range encodings[:10] { // a text in base64 that contains more than the secret is not searched
			for _, secret := range []string{"correct-horse-battery", `p@ss w'o"rd\<1>&%20`, "ünïcode\tand\nlines\x00", "a+b/c==d?e&f=g"} {
				f.Add(secret, "before ", " after", byte(inner), byte(outer))
			}
		}
	}
	f.Fuzz(func(t *testing.T, secret, before, after string, inner, outer byte) {
		secret = strings.TrimSpace(secret)
		i, o := int(inner)%len(encodings), int(outer)%10
		if len(secret) < shortestInWord || strings.Contains(Hidden, secret) {
			return
		}
		text := before + encodings[o](encodings[i](secret)) + after
		got := Text(text, [][]byte{[]byte(secret)})
		if strings.Contains(got, encodings[o](encodings[i](secret))) {
			t.Errorf("%q in encodings %d and %d shows %q", secret, i, o, got)
		}
		if strings.Contains(got, secret) {
			t.Errorf("%q shows %q", secret, got)
		}
	})
}
