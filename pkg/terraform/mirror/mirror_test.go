// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/mod/sumdb/dirhash"

	testmirror "github.com/bowline-dev/bowline/internal/testkit/mirror"
	"github.com/bowline-dev/bowline/pkg/terraform/mirror"
)

const (
	coral    = "registry.example.org/reefs/coral"
	linux    = "linux_amd64"
	program  = "terraform-provider-coral_v1.2.0"
	deadline = 20 * time.Second
)

func TestMain(m *testing.M) {
	folder, err := os.MkdirTemp("", "roots")
	if err == nil {
		err = testmirror.TrustNetworks(folder)
	}
	if err != nil {
		panic(err)
	}
	code := m.Run()
	_ = os.RemoveAll(folder)
	os.Exit(code)
}

// A stage is a mirror and a folder of downloads.
type stage struct {
	*testmirror.Network
	t         *testing.T
	folder    string
	downloads *mirror.Downloads
}

func newStage(t *testing.T, n *testmirror.Network, c mirror.Config) *stage {
	t.Helper()
	s := &stage{Network: n, t: t, folder: c.Folder}
	if s.folder == "" {
		s.folder = filepath.Join(t.TempDir(), "made", "on", "demand")
	}
	if c.URL == "" {
		c.URL = n.URL
	}
	c.Folder = s.folder
	var err error
	if s.downloads, err = mirror.New(c); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.downloads.Stop)
	return s
}

func accept(string) error { return nil }

// fetch waits for the end of an attempt.
func (s *stage) fetch(p mirror.Package) error {
	s.t.Helper()
	if p.Check == nil {
		p.Check = accept
	}
	for end := time.Now().Add(deadline); ; {
		err := s.downloads.Fetch(p)
		if err == nil || errors.Unwrap(err) != nil {
			return errors.Unwrap(err)
		}
		if time.Now().After(end) {
			s.t.Fatalf("no end after %s: %v", deadline, err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// files returns the files with their modes, but for checksums.
func (s *stage) files() map[string]string {
	s.t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(s.folder, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		relative, failed := filepath.Rel(s.folder, name)
		found[relative] = info.Mode().String()
		return errors.Join(err, failed)
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.t.Fatal(err)
	}
	return found
}

func zh(archive []byte) string {
	sum := sha256.Sum256(archive)
	return "zh:" + hex.EncodeToString(sum[:])
}

func h1(t *testing.T, archive []byte) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "archive.zip")
	if err := os.WriteFile(name, archive, 0o600); err != nil {
		t.Fatal(err)
	}
	sum, err := dirhash.HashZip(name, dirhash.Hash1)
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

func good(t *testing.T) []byte {
	return testmirror.Archive(t, testmirror.File{Name: program, Content: "program", Mode: 0o700},
		testmirror.File{Name: "docs/LICENSE", Content: "licence", Mode: 0o600}, testmirror.File{Name: "empty/", Mode: fs.ModeDir | 0o700})
}

// The newest version that satisfies the constraint and has an archive for the platform is there, with its checksums.
func TestPackageIsDownloaded(t *testing.T) {
	t.Parallel()
	archive := good(t)
	n := testmirror.NewNetwork(t)
	n.Publish(t, coral, "1.0.0", linux, []byte("not asked for"))
	n.Publish(t, coral, "1.2.0", linux, archive, "unknown:kind", h1(t, archive), zh(archive))
	n.Publish(t, coral, "1.3.0", "plan9_arm", []byte("of another platform"))
	n.Publish(t, coral, "1.4.0-beta1", linux, []byte("not released"))
	n.Publish(t, coral, "2.0.0", linux, []byte("not allowed"))
	s := newStage(t, n, mirror.Config{})
	folder := filepath.Join(s.folder, filepath.FromSlash(coral), "1.2.0", linux)
	var checked string
	err := s.fetch(mirror.Package{Source: coral, Constraint: "~> 1.0", Platform: linux, Check: func(name string) error {
		if _, err := os.Stat(folder); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the package was in its place before it was checked (%v)", err)
		}
		sum, err := dirhash.HashDir(filepath.Dir(name), "", dirhash.Hash1)
		checked = mirror.ArchiveChecksum(filepath.Dir(name), sum)
		return err
	}})
	if err != nil {
		t.Fatal(err)
	}
	place := coral + "/1.2.0/" + linux
	want := map[string]string{place + "/" + program: "-rwxr-xr-x", place + "/docs/LICENSE": "-rw-r--r--", place + ".checksums": "-rw-r--r--"}
	if diff := cmp.Diff(want, s.files()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	unpacked, err := dirhash.HashDir(folder, "", dirhash.Hash1)
	if err != nil {
		t.Fatal(err)
	}
	if got := mirror.ArchiveChecksum(folder, unpacked); got != zh(archive) || checked != got {
		t.Errorf("the checksum of the archive is %q, and was %q when it was checked", got, checked)
	}
	if got := mirror.ArchiveChecksum(folder, "h1:other"); got != "" {
		t.Errorf("another package has the checksum of this archive: %s", got)
	}
}

// What is refused leaves nothing in the folder, and says why.
func TestPackageIsRefused(t *testing.T) {
	t.Parallel()
	archive := good(t)
	file := func(files ...testmirror.File) []byte {
		return testmirror.Archive(t, append(files, testmirror.File{Name: program, Content: "program", Mode: 0o700})...)
	}
	many := make([]testmirror.File, 1000)
	for i := range many {
		many[i] = testmirror.File{Name: fmt.Sprint(i)}
	}
	for name, tc := range map[string]struct {
		archive []byte
		hashes  []string
		check   error
		want    string
	}{
		"ZipSlip":          {archive: file(testmirror.File{Name: "../../escaped", Content: "x"}), want: `"../../escaped" would be outside`},
		"AbsoluteName":     {archive: file(testmirror.File{Name: "/tmp/escaped", Content: "x"}), want: "would be outside"},
		"Backslashes":      {archive: file(testmirror.File{Name: `..\escaped`, Content: "x"}), want: "would be outside"},
		"Link":             {archive: file(testmirror.File{Name: "link", Content: "/etc/passwd", Mode: fs.ModeSymlink | 0o777}), want: "no regular file"},
		"Device":           {archive: file(testmirror.File{Name: "device", Mode: fs.ModeDevice}), want: "no regular file"},
		"SameNameTwice":    {archive: file(testmirror.File{Name: program, Content: "another", Mode: 0o700}), want: "file exists"},
		"FileAsFolder":     {archive: file(testmirror.File{Name: "a"}, testmirror.File{Name: "a/b"}), want: "\"a/b\""},
		"TooManyFiles":     {archive: file(many...), want: "at most 1000"},
		"TooLarge":         {archive: enormous(t), want: "bytes, and at most"},
		"LongerThanItSays": {archive: understated(t), want: "not a valid zip"},
		"BrokenContent":    {archive: broken(t), want: "checksum error"},
		"NoProgram":        {archive: testmirror.Archive(t, testmirror.File{Name: "bin/" + program}), want: "no program terraform-provider-coral"},
		"LinkAsProgram":    {archive: testmirror.Archive(t, testmirror.File{Name: program, Content: "/bin/sh", Mode: fs.ModeSymlink}), want: "no regular file"},
		"Truncated":        {archive: archive[:len(archive)/2], want: "not a valid zip"},
		"NoArchive":        {archive: []byte("<html>"), want: "not a valid zip"},
		"OtherArchive":     {archive: archive, hashes: []string{zh([]byte("other"))}, want: "the mirror lists another one"},
		"OtherContent":     {archive: archive, hashes: []string{zh(archive), "h1:AAAA="}, want: "the mirror lists another one"},
		"OtherChecksum":    {archive: archive, check: errors.New("not the checksums of the spec"), want: "not the checksums of the spec"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := testmirror.NewNetwork(t)
			n.Publish(t, coral, "1.2.0", linux, tc.archive, tc.hashes...)
			s := newStage(t, n, mirror.Config{})
			err := s.fetch(mirror.Package{Source: coral, Constraint: "1.2.0", Platform: linux, Check: func(string) error { return tc.check }})
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
			if diff := cmp.Diff(map[string]string{}, s.files()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// enormous returns an archive whose header announces more than may be unpacked.
func enormous(t *testing.T) []byte {
	return raw(t, zip.FileHeader{Name: program, UncompressedSize64: 5 << 30, CompressedSize64: 1})
}

// broken returns an archive with a file that has another checksum than its header says.
func broken(t *testing.T) []byte {
	return raw(t, zip.FileHeader{Name: program, UncompressedSize64: 4, CompressedSize64: 4, CRC32: 1})
}

// understated returns an archive with a file that is longer than its header says.
func understated(t *testing.T) []byte {
	return raw(t, zip.FileHeader{Name: program, UncompressedSize64: 1, CompressedSize64: 4})
}

func raw(t *testing.T, h zip.FileHeader) []byte {
	t.Helper()
	var content bytes.Buffer
	archive := zip.NewWriter(&content)
	w, err := archive.CreateRaw(&h)
	if err == nil {
		_, err = w.Write(bytes.Repeat([]byte{'x'}, int(h.CompressedSize64)))
	}
	if err := errors.Join(err, archive.Close()); err != nil {
		t.Fatal(err)
	}
	return content.Bytes()
}

// Answers that are no use are reported, without the secrets in their addresses.
func TestMirrorAnswersInAnotherWay(t *testing.T) {
	t.Parallel()
	plain := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(plain.Close)
	const index, document = "/" + coral + "/index.json", "/" + coral + "/1.2.0.json"
	redirect := func(to string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", to)
			w.WriteHeader(http.StatusFound)
		}
	}
	for name, tc := range map[string]struct {
		path       string
		answer     http.HandlerFunc
		constraint string
		platform   string
		want       string
	}{
		"NoSuchProvider":      {path: index, answer: http.NotFound, want: "answers 404 Not Found for " + index},
		"NoSuchVersion":       {constraint: "~> 7.0", want: `none of its 1 versions satisfies "~> 7.0"`},
		"OtherPlatform":       {platform: "plan9_arm", want: "no archive for plan9_arm"},
		"NoJSON":              {path: index, answer: func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") }, want: "is the URL of the mirror right?"},
		"VersionGone":         {path: document, answer: http.NotFound, want: "answers 404"},
		"ServerFails":         {path: document, answer: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) }, want: "answers 503"},
		"Interrupted":         {path: document, answer: func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, want: "EOF"},
		"CutOff":              {path: document, answer: cutOff, want: "unexpected EOF"},
		"RedirectToHTTP":      {path: index, answer: redirect(plain.URL + "/?signature=verysecret"), want: "without https"},
		"RedirectToNowhere":   {path: index, answer: redirect("https://%zz?signature=verysecret"), want: "no URL"},
		"RedirectsWithoutEnd": {path: index, answer: redirect(index + "?signature=verysecret"), want: "more than 10 times"},
		"RedirectIsRefused":   {path: index, answer: redirect("https://127.0.0.1:1/?signature=verysecret"), want: "connection refused"},
		"RedirectTo404":       {path: index, answer: redirect("/nothing?signature=verysecret"), want: "answers 404 Not Found for /nothing"},
		"ArchiveByHTTP": {path: document, want: "without https", answer: func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintf(w, `{"archives": {%q: {"url": %q}}}`, linux, plain.URL+"/a.zip?signature=verysecret")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := testmirror.NewNetwork(t)
			n.Publish(t, coral, "1.2.0", linux, good(t))
			if tc.answer != nil {
				n.Answer(tc.path, tc.answer)
			}
			s := newStage(t, n, mirror.Config{})
			p := mirror.Package{Source: coral, Constraint: "1.2.0", Platform: linux}
			if tc.constraint != "" {
				p.Constraint = tc.constraint
			}
			if tc.platform != "" {
				p.Platform = tc.platform
			}
			err := s.fetch(p)
			if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "verysecret") {
				t.Errorf("got %v, want %q", err, tc.want)
			}
			if diff := cmp.Diff(map[string]string{}, s.files()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func cutOff(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Length", "100")
	fmt.Fprint(w, "{")
}

// The token is for the mirror only, and is read again when it has changed.
func TestToken(t *testing.T) {
	t.Parallel()
	var elsewhere []string
	other := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		elsewhere = append(elsewhere, r.Header.Get("Authorization"))
		_, _ = w.Write(good(t))
	}))
	t.Cleanup(other.Close)
	n := testmirror.NewNetwork(t)
	n.Publish(t, coral, "1.2.0", linux, nil)
	n.Answer("/"+coral+"/1.2.0_"+linux+".zip", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer second" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		http.Redirect(w, r, other.URL, http.StatusFound)
	})
	file := filepath.Join(t.TempDir(), "token")
	s := newStage(t, n, mirror.Config{TokenFile: file})
	for _, token := range []string{"", "first\n", "second\n"} {
		want := map[string]string{"": "no such file", "first\n": "answers 403", "second\n": ""}[token]
		if token != "" {
			if err := os.WriteFile(file, []byte(token), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		err := s.fetch(mirror.Package{Source: coral, Constraint: "1.2.0", Platform: linux, Checksums: []string{token}})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "first")) {
			t.Errorf("with token %q: got %v, want %q", token, err, want)
		}
	}
	if diff := cmp.Diff([]string{""}, elsewhere); diff != "" {
		t.Errorf("what another host was sent, -want +got:\n%s", diff)
	}
}

// Whoever starts after a kill finds nothing that is used, and removes it; a folder in the place of a package is replaced.
func TestLeftoversOfAKill(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for _, name := range []string{".download-0123456789abcdef/" + linux + "/" + program, coral + "/1.2.0/" + linux + "/half"} {
		if err := errors.Join(os.MkdirAll(filepath.Join(folder, filepath.Dir(name)), 0o755), os.WriteFile(filepath.Join(folder, name), nil, 0o700)); err != nil {
			t.Fatal(err)
		}
	}
	n := testmirror.NewNetwork(t)
	n.Publish(t, coral, "1.2.0", linux, good(t))
	s := newStage(t, n, mirror.Config{Folder: folder})
	if err := s.fetch(mirror.Package{Source: coral, Constraint: "1.2.0", Platform: linux}); err != nil {
		t.Fatal(err)
	}
	place := coral + "/1.2.0/" + linux
	want := map[string]string{place + "/" + program: "-rwxr-xr-x", place + "/docs/LICENSE": "-rw-r--r--", place + ".checksums": "-rw-r--r--"}
	if diff := cmp.Diff(want, s.files()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// A stop ends a download at once, and nothing of it stays.
func TestStop(t *testing.T) {
	t.Parallel()
	n := testmirror.NewNetwork(t)
	n.Publish(t, coral, "1.2.0", linux, nil)
	begun := make(chan struct{})
	n.Answer("/"+coral+"/1.2.0_"+linux+".zip", func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte("PK"))
		_ = http.NewResponseController(w).Flush()
		close(begun)
		<-r.Context().Done()
	})
	s := newStage(t, n, mirror.Config{})
	p := mirror.Package{Source: coral, Constraint: "1.2.0", Platform: linux, Check: accept}
	for range 3 { // of which one begins
		if err := s.downloads.Fetch(p); err == nil || !strings.HasPrefix(err.Error(), "Downloading "+coral) {
			t.Errorf("got %v", err)
		}
	}
	<-begun
	s.downloads.Stop()
	if diff := cmp.Diff(map[string]string{}, s.files()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// Attempts at a mirror that does not answer become rare, and their message stays the same.
func TestBackoff(t *testing.T) {
	folder := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		// No address is asked: an absent token fails first.
		s := newStage(t, nil, mirror.Config{URL: "https://127.0.0.1:1", TokenFile: filepath.Join(folder, "absent"), Folder: folder})
		p := mirror.Package{Source: coral, Constraint: "1.2.0", Platform: linux, Check: accept}
		messages := map[string]bool{}
		var waits []time.Duration
		if err := s.downloads.Fetch(p); err == nil {
			t.Fatal("there is no mirror")
		}
		for range 11 {
			synctest.Wait()
			wait, ok := errors.AsType[*mirror.WaitError](s.downloads.Fetch(p))
			if !ok {
				t.Fatal("there is no mirror")
			}
			messages[wait.Error()] = true
			waits = append(waits, wait.After)
			time.Sleep(wait.After)
			if err := s.downloads.Fetch(p); err != nil { // the next attempt
				messages[err.Error()] = true
			}
		}
		want := []time.Duration{1e9, 2e9, 4e9, 8e9, 16e9, 32e9, 64e9, 128e9, 256e9, 300e9, 300e9}
		if diff := cmp.Diff(want, waits); diff != "" || len(messages) != 1 {
			t.Errorf("%d messages %v, waits -want +got:\n%s", len(messages), messages, diff)
		}
	})
}

func TestConfigs(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		url, token string
		ok         bool
	}{
		{"", "", true},
		{"https://mirror.example.com", "/token", true},
		{"https://mirror.example.com:8443/providers/", "", true},
		{"http://127.0.0.1:8080/", "", true},
		{"http://[::1]/", "", true},
		{"http://localhost/", "", true},
		{"http://mirror.example.com/", "", false},
		{"http://localhost.example.com/", "", false},
		{"http://192.168.0.1/", "", false},
		{"ftp://127.0.0.1/", "", false},
		{"https://me:verysecret@mirror.example.com/", "", false},
		{"https://mirror.example.com/?token=verysecret", "", false},
		{"https://:8080/", "", false},
		{"https://verysecret%zz/", "", false},
		{"mirror.example.com", "", false},
		{"", "/token", false},
	} {
		err := mirror.Config{URL: tc.url, TokenFile: tc.token}.Validate()
		if (err == nil) != tc.ok || err != nil && strings.Contains(err.Error(), "verysecret") {
			t.Errorf("%q with token %q: %v", tc.url, tc.token, err)
		}
	}
	if _, err := mirror.New(mirror.Config{URL: "https://mirror.example.com"}); err == nil {
		t.Error("a mirror without a folder was opened")
	}
}
