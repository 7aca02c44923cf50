// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package kubernetes

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bowline-dev/bowline/internal/testkit"
	"github.com/bowline-dev/bowline/test/guides"
	"github.com/bowline-dev/bowline/test/plane"
)

// The guide works as written on an empty cluster.
func TestGuide(t *testing.T) {
	t.Parallel()
	w := newEmptyWorld(t)
	w.runPods(t)
	w.runGuide(t, testkit.FreeAddress(t))
}

// runGuide runs the commands of the guide, whose cloud listens on an address that pods reach.
func (w *world) runGuide(t *testing.T, address string) {
	t.Helper()
	root, err := plane.Make("helm")
	w.do(err)
	text, err := os.ReadFile(filepath.Join(root, "docs", "guides", "kubernetes.md"))
	w.do(err)
	programs := t.TempDir()
	w.do(os.Symlink(filepath.Join(root, "bin", "helm"), filepath.Join(programs, "helm")))
	kubectl := "#!/bin/sh\nexec '" + w.bowline + "' kubectl \"$@\"\n"
	w.do(os.WriteFile(filepath.Join(programs, "kubectl"), []byte(kubectl), 0o700))
	guide := strings.ReplaceAll(string(text), "127.0.0.1:7070", address)
	guides.Run(t, guide, guides.Checkout(t, root, "http://"+address), "KUBECONFIG="+w.Kubeconfig, "BOWLINE_DATA_DIR=", "HOME="+t.TempDir(),
		"PATH="+programs+string(os.PathListSeparator)+os.Getenv("PATH"))
}
