// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/bowline-dev/bowline/pkg/provider"
)

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestProgramHasPartsOfItsOwn runs the controllers of a program whose only provider and whose transport are the test's.
func TestProgramHasPartsOfItsOwn(t *testing.T) {
	t.Parallel()
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	err := os.WriteFile(kubeconfig, []byte(`{"clusters": [{"name": "c", "cluster": {"server": "http://nowhere.invalid"}}],
		"contexts": [{"name": "x", "context": {"cluster": "c"}}], "current-context": "x"}`), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	theirs := provider.Provider{Name: "theirs", CRDs: fstest.MapFS{"theirs.yaml": &fstest.MapFile{Data: []byte(
		`{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "theirs.example.org"}}`)}}}
	asked := ""
	p := Program{
		Providers: []provider.Provider{theirs},
		WrapTransport: func(http.RoundTripper) http.RoundTripper {
			return roundTripper(func(r *http.Request) (*http.Response, error) {
				asked = r.URL.Path
				return nil, errors.New("the wrapped transport refuses")
			})
		},
	}
	var stderr bytes.Buffer
	code := p.Run(t.Context(), []string{"bowline", "controllers", "--kubeconfig", kubeconfig}, Streams{Out: &stderr, Err: &stderr})
	if code != exitError || !strings.Contains(stderr.String(), "the wrapped transport refuses") {
		t.Errorf("exit code %d: %s", code, &stderr)
	}
	if !strings.HasSuffix(asked, "/theirs.example.org") {
		t.Errorf("asked for %q, not for the program's own definition", asked)
	}
}
