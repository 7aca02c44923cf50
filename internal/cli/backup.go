// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/bowline-dev/bowline/internal/cli/backup"
	"github.com/bowline-dev/bowline/internal/cli/command"
	"github.com/bowline-dev/bowline/internal/cli/datadir"
	"github.com/bowline-dev/bowline/internal/cli/inspect"
)

func newBackupCmd(std Streams, folder *datadir.Flag) *cobra.Command {
	var skip []string
	cmd := &cobra.Command{
		Use:   "backup FILE",
		Short: "Write everything into one file, while it runs",
		Long: `Writes the store, the keys, and the local cloud with the data of its servers into one file, while the server runs. The file
appears when it is complete and its checksums are verified. It has mode 0600: it contains all Secrets and the keys to them.

Not in the file: data of systems outside of the local cloud, and a file given by --encryption-provider-config.

A backup needs all servers of the local cloud. If one cannot be repaired, the error has the flag --skip that leaves it out: after a
restore the object of a database reports that its data is lost, and a cache is created again, empty. With --skip, no backup is replaced.`,
		Example: `  bowline backup /backups/bowline-$(date +%F).tar.gz
  bowline restore /backups/bowline-2026-01-02.tar.gz --data-dir ./restored`,
		Args: oneFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			dataDir, err := folder.Running()
			if err != nil {
				return err
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
			defer stop()
			path := filepath.Clean(args[0])
			manifest, err := backup.Create(ctx, dataDir, path, backup.Options{Version: ownVersion(), Skip: skip, Waits: func(cause string) {
				fmt.Fprintf(std.Err, "waiting: %s\n", inspect.Plain(cause))
			}})
			if err != nil {
				return fmt.Errorf("backup of %s: %w", dataDir, err)
			}
			info, err := os.Stat(path)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(std.Out, "The backup is complete and verified: %s, %d files, %d MB\n%s", path, len(manifest.Files), info.Size()>>20,
				manifest.Missing())
			return err
		},
	}
	cmd.Flags().StringSliceVar(&skip, "skip", nil, "instance of the local cloud to leave out, such as database/demo/orders")
	return cmd
}

func newRestoreCmd(std Streams, folder *datadir.Flag) *cobra.Command {
	return &cobra.Command{
		Use:   "restore FILE",
		Short: "Create a data folder from a backup",
		Long: `Creates the data folder, which must be empty or not exist, from a file of bowline backup. All checksums are verified first. An
interrupted restore can be repeated; no server starts on its folder.

The restored control plane has an identity, a cloud and servers of its own. If the original still exists on this machine, its servers
get other ports, and the first bowline up writes these into the Secrets; both can run, on different --listen and --cloud-listen
addresses. Systems outside of the local cloud exist only once: stop the original before you start a restored control plane that manages
such systems.`,
		Example: `  bowline restore backup.tar.gz --data-dir ./restored
  bowline up --data-dir ./restored --listen 127.0.0.1:0 --cloud-listen 127.0.0.1:0`,
		Args: oneFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			dataDir, err := folder.Server()
			if err != nil {
				return err
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
			defer stop()
			manifest, moved, err := backup.Restore(ctx, args[0], filepath.Clean(dataDir))
			if err != nil {
				return fmt.Errorf("restore into %s: %w", dataDir, err)
			}
			fmt.Fprintf(std.Out, "Restored the backup of %s into %s\n%s", manifest.Created.Local().Format("2006-01-02 15:04:05"), dataDir,
				manifest.Missing())
			if len(moved.Ports) > 0 {
				fmt.Fprintf(std.Out, "%d servers have other ports than in %s, which still exists or has them\n", len(moved.Ports), manifest.Original.Folder)
			}
			_, err = fmt.Fprintf(std.Out, "Systems outside of the local cloud are set to the state of the backup when it starts. What was created there since "+
				"the backup is unknown to it:\nsee docs/guides/operations.md, section \"Backup and restore\"\nStart it with: bowline up --detach%s\n",
				datadir.Argument(dataDir))
			return err
		},
	}
}

func oneFile(cmd *cobra.Command, args []string) error {
	if len(args) != 1 || args[0] == "" {
		return command.Usagef(cmd, "name one file")
	}
	if args[0] == "-" {
		return command.Usagef(cmd, "a backup is a file that is complete and verified when it appears, not a stream: name a file")
	}
	return nil
}
