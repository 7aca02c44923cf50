// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package upgrade has the commands around an upgrade: check tells before it what this program would do to the objects of a server that has
// another version, and to their external resources; migrate stores all objects in the present versions after it.
package upgrade

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/bowline-dev/bowline/internal/cli/command"
	"github.com/bowline-dev/bowline/internal/cli/datadir"
	"github.com/bowline-dev/bowline/internal/cli/inspect"
	"github.com/bowline-dev/bowline/internal/cli/manifests"
	"github.com/bowline-dev/bowline/internal/cli/terraform/folders"
	"github.com/bowline-dev/bowline/pkg/provider"
	"github.com/bowline-dev/bowline/providers/terraform/controller"
)

// most findings of the same kind in the table; -o json has all.
const most = 20

// New returns the command upgrade. Providers of Terraform are run as the options say, which are nil for none.
func New(providers []provider.Provider, terraform *controller.Options, std command.Streams, folder *datadir.Flag) *cobra.Command {
	cmd := &cobra.Command{Use: "upgrade", Short: "Prepare an upgrade", Args: command.Subcommand, RunE: command.ShowHelp}
	cmd.AddCommand(newCheck(providers, terraform, std, folder), newMigrate(std, folder))
	return cmd
}

func newCheck(providers []provider.Provider, terraform *controller.Options, std command.Streams, folder *datadir.Flag) *cobra.Command {
	var access datadir.Access
	selection := manifests.NewSelection(providers)
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Tell what an upgrade to this program would break",
		Long: `Compares the definitions of this program with those of a server, which another version installed, and reads all objects. Run it with the
new program before you upgrade. It changes nothing, and finds

  versions in which objects are stored or read, and that the new definitions lack;
  fields that the new definitions lack, with the objects that would lose them;
  objects that the new definitions would refuse: they could be neither changed there nor restored;
  kinds that this program does not have, whose objects would no longer be reconciled;
  what the controllers of this program would change in external resources, for example because of a new default.

For the last it observes every external resource once, as the controllers do each minute, with the credentials of the ProviderConfigs. So
the external systems have to be in reach from here, and you need the right to read all Secrets. The binaries of TerraformProviders have to be on
this machine, in the folders of --terraform-plugins or among what the controllers of the data folder downloaded. No other program is run. What differs now and is not reconciled yet shows, too, such as a deletion that has begun. Objects that are paused are not compared.

The exit code is 1 if something would break or an external system could not be observed, and 0 if there are only warnings.`,
		Example: `  bowline upgrade check
  bowline upgrade check --external=false      compare definitions and objects only
  bowline upgrade check --kubeconfig ~/.kube/config -o json | jq '.findings[] | select(.severity == "problem")'`,
		Args: command.NoArgs,
	}
	access.AddFlags(cmd.Flags())
	selection.AddFlags(cmd.Flags())
	folders.AddFlag(cmd.Flags(), terraform)
	external := cmd.Flags().Bool("external", true, "observe external resources, and tell what the controllers of this program would change")
	output := command.NewOutput(cmd, "a table", "json", "yaml")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		folders.UseDownloads(terraform, folder)
		cfg, _, err := folder.Connect(access)
		if err != nil {
			return err
		}
		var progress io.Writer
		if *external {
			progress = std.Err
		}
		report, err := check(cmd.Context(), cfg, selection, progress)
		if err != nil {
			return err
		}
		if err := output.Print(std.Out, report, report.print); err != nil {
			return err
		}
		if report.problems() > 0 {
			return errors.New("the upgrade would break something: see the problems above")
		}
		if report.incomplete {
			return errors.New("not all external systems could be observed: see the warnings above, or leave them out with --external=false")
		}
		return nil
	}
	return cmd
}

// A Report is the output of -o json; its keys are an interface.
type Report struct {
	Definitions int       `json:"definitions"` // that were compared
	New         []string  `json:"new"`         // definitions that the server does not have
	Changed     []string  `json:"changed"`     // definitions that would change
	Objects     int       `json:"objects"`     // that were read
	Observed    int       `json:"observed"`    // external resources
	Findings    []Finding `json:"findings"`
	incomplete  bool
}

// A Severity says whether something would break.
type Severity string

// Severities.
const (
	Problem Severity = "problem"
	Warning Severity = "warning"
)

// A Reason is what was found.
type Reason string

// Reasons.
const (
	StoredVersionRemoved Reason = "StoredVersionRemoved" // objects may be stored in a version that would not exist
	StoredVersionFormer  Reason = "StoredVersionFormer"  // objects may be stored in a version that would not be stored any longer
	ServedVersionRemoved Reason = "ServedVersionRemoved" // clients may use a version that would not be served
	ScopeChanged         Reason = "ScopeChanged"         // a definition cannot change its scope
	FieldRemoved         Reason = "FieldRemoved"         // objects would lose a field
	ObjectRefused        Reason = "ObjectRefused"        // an object does not fit the schema
	KindRemoved          Reason = "KindRemoved"          // the program does not have the kind

	ExternalResourceChanged Reason = "ExternalResourceChanged" // the controllers would change it
	ExternalResourceDiffers Reason = "ExternalResourceDiffers" // the controllers would report that it differs, and change nothing
	ExternalResourceUnknown Reason = "ExternalResourceUnknown" // it could not be observed
)

// A Finding is one thing to know before an upgrade.
type Finding struct {
	Severity   Severity `json:"severity"`
	Reason     Reason   `json:"reason"`
	Definition string   `json:"definition"`
	Object     string   `json:"object,omitempty"` // namespace/name, or name
	Message    string   `json:"message"`          // without values of fields that the definitions refuse
}

func (r *Report) problems() (n int) {
	for _, f := range r.Findings {
		if f.Severity == Problem {
			n++
		}
	}
	return n
}

func (r *Report) print(w io.Writer, _ string) error {
	fmt.Fprintf(w, "%d definitions compared (%d new, %d changed), %d objects read, %d external resources observed: %d problems, %d warnings\n",
		r.Definitions, len(r.New), len(r.Changed), r.Objects, r.Observed, r.problems(), len(r.Findings)-r.problems())
	if len(r.Findings) == 0 {
		return nil
	}
	rows := [][]any{{"\nSEVERITY", "REASON", "DEFINITION", "OBJECT", "MESSAGE"}}
	shown, left := map[Reason]int{}, 0
	for _, f := range r.Findings {
		if shown[f.Reason]++; shown[f.Reason] > most {
			left++
			continue
		}
		rows = append(rows, []any{f.Severity, f.Reason, f.Definition, f.Object, inspect.Plain(f.Message)})
	}
	if err := command.PrintTable(w, rows...); err != nil {
		return err
	}
	if left > 0 {
		fmt.Fprintf(w, "and %d more: bowline upgrade check -o json\n", left)
	}
	return nil
}
