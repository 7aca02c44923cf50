// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect_test

import (
	"bytes"
	"io"
	"testing"

	"github.com/bowline-dev/bowline/internal/cli/command"
	"github.com/bowline-dev/bowline/internal/cli/inspect"
	"github.com/bowline-dev/bowline/internal/cli/trace"
)

// TestTraces compares traces of what is in an API server with those in testdata.
func TestTraces(t *testing.T) {
	t.Parallel()
	compareFiles(t, "../trace/testdata", func(t *testing.T, c *inspect.Cluster, found inspect.Reading, format string) string {
		root, err := trace.Build(t.Context(), c, found)
		if err != nil {
			return err.Error() + "\n"
		}
		write := trace.WriteTree
		switch format {
		case "json":
			write = func(w io.Writer, n *trace.Node) error { return command.WriteJSON(w, n) }
		case "dot":
			write = trace.WriteDOT
		}
		var out bytes.Buffer
		if err := write(&out, root); err != nil {
			t.Fatal(err)
		}
		return out.String()
	})
}
