// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/bowline-dev/bowline/favouritecloud"
	"github.com/bowline-dev/bowline/favouritecloud/sdk"
)

func newCloudKeyCmd(std Streams, folder *dataDirFlag) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "key",
		Short: "Make API keys of the local cloud",
		Args:  knownCommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	var project string
	create := &cobra.Command{
		Use:   "create --project NAME",
		Short: "Make an API key of a project, and the project if it is new",
		Long: `Makes an API key and prints it, alone, to the standard output. This is the only time that it is shown: the cloud keeps
no more than its hash.`,
		Example: `  KEY=$(bowline cloud key create --project demo)`,
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if project == "" {
				return &usageError{command: cmd.CommandPath(), err: errors.New("say which project with --project NAME")}
			}
			dataDir, err := folder.client()
			if err != nil {
				return err
			}
			key, err := createKey(cmd.Context(), dataDir, project)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(std.Out, key)
			return err
		},
	}
	create.Flags().StringVar(&project, "project", "", "name of the project (required)")
	cmd.AddCommand(create)
	return cmd
}

func createKey(ctx context.Context, dataDir, project string) (string, error) {
	endpoint, err := favouritecloud.ReadEndpoint(cloudDir(dataDir))
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("no local cloud runs on %s; start one with: bowline up --detach%s, or name its folder with --data-dir",
			dataDir, dataDirArgument(dataDir))
	}
	if err != nil {
		return "", err
	}
	token, err := favouritecloud.ReadAdminToken(cloudDir(dataDir))
	if err != nil {
		return "", err
	}
	key, err := sdk.CreateKey(ctx, endpoint, token, project)
	if err != nil {
		return "", fmt.Errorf("creating key of project %s: %w", project, err)
	}
	return key.Key, nil
}
