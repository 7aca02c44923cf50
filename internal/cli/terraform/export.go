// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package terraform

import (
	"github.com/spf13/cobra"

	"github.com/bowline-dev/bowline/internal/cli/command"
	"github.com/bowline-dev/bowline/internal/cli/datadir"
	"github.com/bowline-dev/bowline/internal/cli/inspect"
)

func newExport(command.Streams, *datadir.Flag, inspect.Opener) *cobra.Command { return &cobra.Command{Use: "export"} }
