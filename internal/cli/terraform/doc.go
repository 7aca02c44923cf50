// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package terraform has the commands for those who use Terraform, or did: schema prints manifests of the kinds of a provider, import turns a
// Terraform state into objects that only observe, and export turns objects into Terraform configuration.
//
// None of them changes anything: they print. No secret value is printed, unless import is asked for them.
package terraform

import (
	"cmp"

	"github.com/spf13/cobra"

	"github.com/bowline-dev/bowline/internal/cli/command"
	"github.com/bowline-dev/bowline/internal/cli/datadir"
	"github.com/bowline-dev/bowline/internal/cli/inspect"
	"github.com/bowline-dev/bowline/providers/terraform/controller"
)

// New returns the command terraform. Providers of TerraformProviders are run as the options say; nil is the default.
func New(o *controller.Options, std command.Streams, folder *datadir.Flag, open inspect.Opener) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "terraform",
		Short: "Print manifests of Terraform resource types, import Terraform states, export objects to Terraform",
		Long: `Terraform providers run as providers of Bowline: resource type aws_s3_bucket becomes kind S3Bucket.aws.tf.bowline.dev. These commands
print manifests of such kinds and the Terraform configuration of such objects. They change nothing.`,
		Example: `  bowline terraform schema ./terraform-provider-postgresql
  bowline terraform import terraform.tfstate --provider postgresql=./terraform-provider-postgresql > objects.yaml
  bowline terraform export --all --provider postgresql=./terraform-provider-postgresql > main.tf`,
		Args: command.Subcommand,
		RunE: command.ShowHelp,
	}
	o = cmp.Or(o, &controller.Options{})
	cmd.AddCommand(newSchema(o, std, folder, open), newImport(std), newExport(o, std, folder, open))
	return cmd
}
