// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/bowline-dev/bowline/internal/cli/command"
)

// version is set by the linker (see the Makefile).
var version string

const modulePath = "github.com/bowline-dev/bowline"

func newVersionCmd(std Streams) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  command.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintf(std.Out, "bowline %s (Kubernetes %s, %s, %s/%s)\n",
				ownVersion(), moduleVersion("k8s.io/kubernetes"), runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}

// ownVersion is the version of the linker, else of `go install …@version`, else "devel".
func ownVersion() string {
	if version != "" {
		return version
	}
	if v := moduleVersion(modulePath); v != "(devel)" {
		return v
	}
	return "devel"
}

// moduleVersion returns the version of a module that this binary was built from, or "unknown".
func moduleVersion(path string) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, module := range append(info.Deps, &info.Main) {
		if module.Path == path {
			return cmp.Or(module.Version, "unknown")
		}
	}
	return "unknown"
}
