// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package kubernetes

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bowline-dev/bowline/internal/testkit"
	"github.com/bowline-dev/bowline/test/guides"
	"github.com/bowline-dev/bowline/test/kubernetes/cluster"
)

// The guide works as written on an empty cluster: with pods that are processes of this machine or, with BOWLINE_NODE, on a node, where also
// many objects are created.
func TestGuide(t *testing.T) {
	t.Parallel()
	w := newEmptyWorld(t)
	address := testkit.FreeAddress(t)
	if os.Getenv("BOWLINE_NODE") == "" {
		w.runPods(t)
		w.runGuide(t, address)
		return
	}
	defer w.startNode(t)()
	_, port, err := net.SplitHostPort(address)
	w.do(err)
	w.runGuide(t, net.JoinHostPort(cluster.NodeAddress, port))
	w.measure(t)
}

// runGuide runs the commands of the guide, whose cloud listens on an address that pods reach.
func (w *world) runGuide(t *testing.T, address string) {
	t.Helper()
	root, err := testkit.Make("helm")
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
