// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"encoding/pem"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sync"
	"testing"
)

// A Network is a network mirror of Terraform providers behind TLS.
type Network struct {
	*httptest.Server

	mu       sync.Mutex
	answers  map[string]http.HandlerFunc
	versions map[string]map[string]struct{} // by provider
	requests []string
}

// TrustNetworks has this process trust the certificates of Networks, as an administrator does: before its first connection with TLS.
func TrustNetworks(folder string) error {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	name := filepath.Join(folder, "roots.pem")
	roots := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(name, roots, 0o600); err != nil {
		return err
	}
	return os.Setenv("SSL_CERT_FILE", name)
}

// NewNetwork starts a mirror without providers.
func NewNetwork(t testing.TB) *Network {
	n := &Network{answers: map[string]http.HandlerFunc{}, versions: map[string]map[string]struct{}{}}
	n.Server = httptest.NewTLSServer(http.HandlerFunc(n.serve))
	t.Cleanup(n.Close)
	return n
}

func (n *Network) serve(w http.ResponseWriter, r *http.Request) {
	n.mu.Lock()
	n.requests = append(n.requests, r.URL.Path)
	answer := n.answers[r.URL.Path]
	n.mu.Unlock()
	if answer == nil {
		answer = http.NotFound
	}
	answer(w, r)
}

// Requests returns the paths that were asked for.
func (n *Network) Requests() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.requests)
}

// Answer decides on the answer for a path.
func (n *Network) Answer(path string, with http.HandlerFunc) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.answers[path] = with
}

// Serve has a path return some content.
func (n *Network) Serve(path string, content []byte) {
	n.Answer(path, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(content) }) // the client is gone, and knows
}

// Publish adds a version of a provider, HOST/NAMESPACE/TYPE, with an archive for a platform, whose path is below that of the provider.
func (n *Network) Publish(t testing.TB, provider, version, platform string, archive []byte, hashes ...string) {
	t.Helper()
	file := version + "_" + platform + ".zip"
	n.mu.Lock()
	if n.versions[provider] == nil {
		n.versions[provider] = map[string]struct{}{}
	}
	n.versions[provider][version] = struct{}{}
	index, failed := json.Marshal(map[string]any{"versions": n.versions[provider]})
	n.mu.Unlock()
	document, err := json.Marshal(map[string]any{"archives": map[string]any{platform: map[string]any{"url": file, "hashes": hashes}}})
	if err != nil || failed != nil {
		t.Fatal(err, failed)
	}
	n.Serve("/"+path.Join(provider, "index.json"), index)
	n.Serve("/"+path.Join(provider, version+".json"), document)
	n.Serve("/"+path.Join(provider, file), archive)
}

// A File of an archive.
type File struct {
	Name, Content string
	Mode          fs.FileMode
}

// Archive returns a zip of files.
func Archive(t testing.TB, files ...File) []byte {
	t.Helper()
	var content bytes.Buffer
	archive := zip.NewWriter(&content)
	for _, f := range files {
		header := &zip.FileHeader{Name: f.Name}
		header.SetMode(f.Mode)
		w, err := archive.CreateHeader(header)
		if err == nil {
			_, err = w.Write([]byte(f.Content))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	return content.Bytes()
}
