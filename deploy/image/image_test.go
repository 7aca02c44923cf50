// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"crypto/x509"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/CycloneDX/cyclonedx-go"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// build builds the program of the tests.
func build(t *testing.T, goos, goarch string, flags ...string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "hello")
	cmd := exec.CommandContext(t.Context(), "go", append(append([]string{"build", "-o", out}, flags...), "./testdata/hello")...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+goos, "GOARCH="+goarch)
	if message, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, message)
	}
	return out
}

func makeImage(t *testing.T, folder string, args ...string) (printed string, err error) {
	t.Helper()
	var out strings.Builder
	err = run(t.Context(), append([]string{"--name", "hello", "--version", "v1", "--created", "1700000000", "--out", folder}, args...), &out)
	return out.String(), err
}

// stored returns the image in a folder, which must be whole.
func stored(t *testing.T, folder string) v1.ImageIndex {
	t.Helper()
	all, err := layout.ImageIndexFromPath(filepath.Join(folder, "hello"))
	if err != nil {
		t.Fatal(err)
	}
	list, err := all.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Manifests) != 1 {
		t.Fatalf("the layout has %d images, want 1", len(list.Manifests))
	}
	index, err := all.ImageIndex(list.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(index); err != nil {
		t.Error(err)
	}
	return index
}

// Packed twice, into other folders and with the platforms in another order, the image and its archive are the same. It is pushed as it is.
func TestImagesAreReproducible(t *testing.T) {
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	amd64, arm64 := "linux/amd64="+build(t, "linux", "amd64"), "linux/arm64="+build(t, "linux", "arm64")
	one, two := t.TempDir(), t.TempDir()
	if _, err := makeImage(t, one, amd64, arm64); err != nil {
		t.Fatal(err)
	}
	to := strings.TrimPrefix(server.URL, "http://") + "/team/hello:v1"
	if _, err := makeImage(t, two, "--push", to, arm64, amd64); err != nil {
		t.Fatal(err)
	}
	if _, err := makeImage(t, two, arm64, amd64); err != nil {
		t.Errorf("a second time into the same folder: %v", err)
	}
	for _, file := range []string{"hello.tar", "hello-linux-amd64.cdx.json", "hello-linux-arm64.cdx.json"} {
		if a, b := read(t, one, file), read(t, two, file); !bytes.Equal(a, b) {
			t.Errorf("%s differs", file)
		}
	}
	digest, err := stored(t, one).Digest()
	if err != nil {
		t.Fatal(err)
	}
	ref, err := name.ParseReference(to)
	if err != nil {
		t.Fatal(err)
	}
	pushed, err := remote.Get(ref)
	if err != nil {
		t.Fatal(err)
	}
	if pushed.Digest != digest {
		t.Errorf("pushed %s, want %s", pushed.Digest, digest)
	}
}

func read(t *testing.T, elements ...string) []byte {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(elements...))
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// The image has what the program needs and no more, and nothing in it may be changed by its account but its home and /tmp.
func TestImageHasTheProgramAndNoMore(t *testing.T) {
	folder := t.TempDir()
	program := build(t, "linux", "amd64")
	if _, err := makeImage(t, folder, "linux/amd64="+program); err != nil {
		t.Fatal(err)
	}
	list, err := stored(t, folder).IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	image, err := stored(t, folder).Image(list.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"65532:65532", "/usr/local/bin/hello", "linux/amd64"},
		[]string{config.Config.User, strings.Join(config.Config.Entrypoint, " "), list.Manifests[0].Platform.String()}); diff != "" {
		t.Errorf("configuration (-want +got):\n%s", diff)
	}
	modes, files := unpack(t, image)
	want := map[string]string{
		"etc":                                 "root drwxr-xr-x",
		"etc/passwd":                          "root -rw-r--r--",
		"etc/group":                           "root -rw-r--r--",
		"etc/ssl":                             "root drwxr-xr-x",
		"etc/ssl/certs":                       "root drwxr-xr-x",
		"etc/ssl/certs/ca-certificates.crt":   "root -rw-r--r--",
		"home":                                "root drwxr-xr-x",
		"home/nonroot":                        "its own drwx------",
		"tmp":                                 "root dtrwxrwxrwx",
		"usr":                                 "root drwxr-xr-x",
		"usr/local":                           "root drwxr-xr-x",
		"usr/local/bin":                       "root drwxr-xr-x",
		"usr/local/bin/hello":                 "root -rwxr-xr-x",
		"usr/local/share":                     "root drwxr-xr-x",
		"usr/local/share/sbom":                "root drwxr-xr-x",
		"usr/local/share/sbom/hello.cdx.json": "root -rw-r--r--",
	}
	if diff := cmp.Diff(want, modes); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if !bytes.Equal(files["usr/local/bin/hello"], read(t, program)) {
		t.Error("the program is not the one that was given")
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(files["etc/ssl/certs/ca-certificates.crt"]) {
		t.Error("there are no certificate authorities")
	}
	var bom cyclonedx.BOM
	if err := cyclonedx.NewBOMDecoder(bytes.NewReader(files["usr/local/share/sbom/hello.cdx.json"]), cyclonedx.BOMFileFormatJSON).Decode(&bom); err != nil {
		t.Fatal(err)
	}
	if got := bom.Metadata.Component.Name + " " + bom.Metadata.Component.Version; got != "hello v1" {
		t.Errorf("the bill of materials is of %s", got)
	}
	if parts := *bom.Components; parts[0].Name != "std" {
		t.Errorf("the bill of materials lacks the standard library: %v", parts)
	}
}

// unpack returns the owners and modes of an image's files, and their contents.
func unpack(t *testing.T, image v1.Image) (modes map[string]string, files map[string][]byte) {
	t.Helper()
	content := mutate.Extract(image)
	defer content.Close()
	modes, files = map[string]string{}, map[string][]byte{}
	for r := tar.NewReader(content); ; {
		header, err := r.Next()
		if err == io.EOF {
			return modes, files
		}
		if err != nil {
			t.Fatal(err)
		}
		owner := map[int]string{0: "root", 65532: "its own"}[header.Uid]
		modes[header.Name] = owner + " " + header.FileInfo().Mode().String()
		if files[header.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
}

func TestUnsuitableProgramsAreRefused(t *testing.T) {
	static, foreign := build(t, "linux", "amd64"), t.TempDir()
	if err := os.MkdirAll(filepath.Join(foreign, "hello", "precious"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		folder string
		args   []string
		want   string // part of the error
	}{
		"no program":                {args: nil, want: "for each platform"},
		"no platform":               {args: []string{static}, want: "linux/amd64=bin/program"},
		"of another system":         {args: []string{"windows/amd64=" + static}, want: "linux/amd64"},
		"of another architecture":   {args: []string{"linux/arm64=" + static}, want: "GOARCH=arm64"},
		"not there":                 {args: []string{"linux/amd64=nothing"}, want: "no such file"},
		"not a program":             {args: []string{"linux/amd64=go.mod"}, want: "not a program that Go built"},
		"for another system":        {args: []string{"linux/amd64=" + build(t, "windows", "amd64")}, want: "not a program for Linux"},
		"needs the C library":       {args: []string{"linux/amd64=" + build(t, "linux", "amd64", "-buildmode=pie")}, want: "CGO_ENABLED=0"},
		"twice":                     {args: []string{"linux/amd64=" + static, "linux/amd64=" + static}, want: "two programs"},
		"a name that leaves folder": {args: []string{"--name", "../hello", "linux/amd64=" + static}, want: "--name"},
		"a folder in use":           {folder: foreign, args: []string{"linux/amd64=" + static}, want: "choose another folder"},
		"a reference of nothing":    {args: []string{"--push", "UPPER", "linux/amd64=" + static}, want: "--push"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := tc.folder
			if folder == "" {
				folder = t.TempDir()
			}
			if _, err := makeImage(t, folder, tc.args...); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want an error with %q", err, tc.want)
			}
		})
	}
	if _, err := os.Stat(filepath.Join(foreign, "hello", "precious")); err != nil {
		t.Error(err)
	}
}
