// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package scaffold

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	"github.com/bowline-dev/bowline/internal/cli/command"
)

// projectFile has what create api needs to know of a provider.
const projectFile = "bowline.yaml"

// A project is a provider's repository.
type project struct {
	Name    string  `json:"name"`   // of the provider
	Title   string  `json:"title"`  // of the external system, in sentences
	Group   string  `json:"group"`  // of the ProviderConfig; those of kinds end with it
	Module  string  `json:"module"` // of Go
	Bowline bowline `json:"-"`
	Go      string  `json:"-"` // version
	Program string  `json:"-"`
	Command string  `json:"-"` // bowline, as it was called
}

// NewInit returns the command init.
func NewInit(module, version string, std command.Streams) *cobra.Command {
	cmd := &cobra.Command{Use: "init", Short: "Begin a provider", Args: command.Subcommand, RunE: command.ShowHelp}
	cmd.AddCommand(newInitProvider(module, version, std))
	return cmd
}

func newInitProvider(module, version string, std command.Streams) *cobra.Command {
	p := project{Bowline: bowline{Module: module, Version: version}}
	dir := ""
	cmd := &cobra.Command{
		Use:   "provider NAME",
		Short: "Write a provider's repository, with a sample kind",
		Long: `Writes a Go module into a new folder: a provider for an external system with an HTTP API, with a ProviderConfig, a sample kind Widget with its
tests, a Makefile, CI, a Dockerfile and a licence. It builds, and its tests pass on a real API server, before you change anything. Then replace
the kind by those of your API: bowline create api adds more, and docs/guides/writing-a-provider.md explains them.

Go must be installed. As long as the module of Bowline is not published, name a checkout of it with --bowline: go.mod then refers to that folder.`,
		Example: `  bowline init provider acme --bowline ~/bowline
  cd provider-acme && make test && make run`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return command.Usagef(cmd, "name the provider, for example: bowline init provider acme")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			p.Name = args[0]
			if err := p.complete(cmd); err != nil {
				return err
			}
			return p.write(cmd, cmp.Or(dir, p.Program), std)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&dir, "dir", "", "`folder` to create (default: provider-NAME)")
	flags.StringVar(&p.Module, "module", "", "Go `module` (default: example.org/provider-NAME)")
	flags.StringVar(&p.Group, "group", "", "API `group` of the ProviderConfig (default: NAME.example.org)")
	flags.StringVar(&p.Title, "title", "", "`name` of the external system in sentences (default: NAME with a capital letter)")
	flags.StringVar(&p.Bowline.Folder, "bowline", "", "`folder` of a checkout of Bowline (default: the module of this version, if it is published)")
	return cmd
}

// complete sets defaults, and refuses what cannot be used.
func (p *project) complete(cmd *cobra.Command) error {
	if !regexp.MustCompile(`^[a-z][a-z0-9-]{0,39}$`).MatchString(p.Name) {
		return command.Usagef(cmd, "%q cannot be the name of a provider: use at most 40 lower case letters, digits and hyphens, beginning with a letter", p.Name)
	}
	p.Program = "provider-" + p.Name
	p.Module, p.Group = cmp.Or(p.Module, "example.org/"+p.Program), cmp.Or(p.Group, p.Name+".example.org")
	p.Title = cmp.Or(p.Title, strings.ToUpper(p.Name[:1])+p.Name[1:])
	if problems := validation.IsDNS1123Subdomain(p.Group); len(problems) > 0 || !strings.Contains(p.Group, ".") {
		return command.Usagef(cmd, "%q cannot be an API group: use a domain that is yours, such as %s.example.org", p.Group, p.Name)
	}
	p.Go = strings.TrimPrefix(runtime.Version(), "go")
	if _, err := exec.LookPath("go"); err != nil {
		return errors.New("the command go is not installed, which generates and builds the provider: see https://go.dev/dl")
	}
	if p.Command, _ = os.Executable(); p.Bowline.Folder == "" {
		if p.Command = "bowline"; !regexp.MustCompile(`^v[0-9]+\.[0-9]+\.[0-9]+`).MatchString(p.Bowline.Version) {
			return command.Usagef(cmd, "version %s of Bowline is not published: name a checkout of it with --bowline FOLDER", p.Bowline.Version)
		}
		return nil
	}
	folder, err := filepath.Abs(p.Bowline.Folder)
	if err != nil {
		return err
	}
	content, err := os.ReadFile(filepath.Join(folder, "go.mod"))
	if err != nil || !strings.HasPrefix(string(content), "module "+p.Bowline.Module+"\n") {
		return command.Usagef(cmd, "%s is no checkout of Bowline: it has no go.mod of module %s", folder, p.Bowline.Module)
	}
	_, requirements, _ := strings.Cut(string(content), "\nrequire ")
	p.Bowline.Folder, p.Bowline.Version, p.Bowline.Requirements = folder, "v0.0.0", "require "+requirements
	return nil
}

func (p *project) write(cmd *cobra.Command, dir string, std command.Streams) error {
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return fmt.Errorf("folder %s is not empty: choose another one with --dir", dir)
	}
	settings, err := yaml.Marshal(p)
	if err != nil {
		return err
	}
	c := &change{}
	sample := api{project: *p, Kind: "Widget", Version: "v1alpha1", Scopes: "Cluster,Namespaced"}
	err = c.render("provider", dir, p)
	if err == nil {
		err = errors.Join(c.create(filepath.Join(dir, projectFile), settings), sample.add(c, dir))
	}
	if sums, readErr := os.ReadFile(filepath.Join(p.Bowline.Folder, "go.sum")); err == nil && p.Bowline.Folder != "" {
		err = cmp.Or(readErr, c.create(filepath.Join(dir, "go.sum"), sums))
	}
	if err != nil {
		return errors.Join(err, c.undo())
	}
	fmt.Fprintln(std.Err, "Generating code, and looking for the modules that it needs ...")
	if err := generate(cmd.Context(), dir); err != nil {
		return fmt.Errorf("%w\nThe files are in %s: remove the cause and run make generate there, or remove the folder and begin anew", err, dir)
	}
	fmt.Fprintf(std.Out, "Provider %s is in %s.\n\n  cd %s\n  make test   # all tests, on a real API server; the first time takes some minutes\n"+
		"  make run    # a control plane with the provider\n  %s create api --version v1alpha1 --kind Gadget   # another kind\n", p.Name, dir, dir, p.Command)
	return nil
}
