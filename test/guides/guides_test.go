// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package guides

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bowline-dev/bowline/internal/testkit"
	"github.com/bowline-dev/bowline/internal/testkit/mirror"
	"github.com/bowline-dev/bowline/test/plane"
)

// metrics is the default address of metrics, which guides name.
const metrics = "127.0.0.1:8081"

func TestMain(m *testing.M) { os.Exit(plane.Main(m)) }

// Every guide works as written.
func TestGuides(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	guides, err := filepath.Glob(filepath.Join(root, "docs", "guides", "*.md"))
	if err != nil || len(guides) == 0 {
		t.Fatalf("looking for guides: %v, found %d", err, len(guides))
	}
	for _, guide := range guides {
		if filepath.Base(guide) == "kubernetes.md" { // package test/kubernetes runs it
			continue
		}
		t.Run(filepath.Base(guide), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(guide)
			if err != nil {
				t.Fatal(err)
			}
			own := testkit.FreeAddress(t)
			p := plane.New(t, "--metrics-listen", own, "--terraform-plugins", mirror.Providers(t))
			p.Up(t)
			guide := strings.NewReplacer(metrics, own, cloud, p.Cloud).Replace(string(text))
			Run(t, guide, Checkout(t, root, p.Cloud), "BOWLINE_DATA_DIR="+p.Dir, "HOME="+t.TempDir())
		})
	}
}
