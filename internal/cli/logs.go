// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/spf13/cobra"

	"github.com/bowline-dev/bowline/internal/cli/command"
	"github.com/bowline-dev/bowline/internal/cli/datadir"
	"github.com/bowline-dev/bowline/internal/cli/logs"
)

func newLogsCmd(std Streams, folder *datadir.Flag) *cobra.Command {
	var selection logs.Selection
	var since time.Duration
	cmd := &cobra.Command{
		Use:   "logs",
		Short: "Show the log of a server in the background",
		Long: `Shows the log of bowline up --detach, with its rotated files. By default it has one line for each notable event of an object and
for each error, once per change; start the server with -v 1 for more.

The log is bowline.log in the data folder. It is rotated at 10 MiB and after a week; the last nine rotated files are kept, compressed,
for at most 30 days. A server in the foreground writes its log to the standard error instead.`,
		Example: `  bowline logs
  bowline logs --since 1h
  bowline logs --tail 20 --follow`,
		Args: command.NoArgs,
	}
	cmd.Flags().DurationVar(&since, "since", 0, "only lines of this last time, such as 90s or 2h")
	cmd.Flags().IntVar(&selection.Tail, "tail", -1, "only this many of the last lines")
	cmd.Flags().BoolVarP(&selection.Follow, "follow", "f", false, "also show what is logged from now on, until Ctrl-C")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if since < 0 {
			return command.Usagef(cmd, "--since must not be negative")
		}
		if selection.Tail < 0 && cmd.Flags().Changed("tail") {
			return command.Usagef(cmd, "--tail must not be negative")
		}
		dataDir, err := folder.Client()
		if err != nil {
			return err
		}
		if since > 0 {
			selection.Since = time.Now().Add(-since)
		}
		err = logs.Read(cmd.Context(), std.Out, datadir.LogPath(dataDir), selection)
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s has no log: only bowline up --detach writes one, in the foreground it goes to the standard error", dataDir)
		}
		return err
	}
	return cmd
}
