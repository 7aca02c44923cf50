// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package scaffold

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	"github.com/bowline-dev/bowline/internal/cli/command"
)

// Roles of a kind.
const (
	roleManaged = "managed"
	roleClaim   = "claim"
	roleClass   = "class"
)

// An api is a new kind of a provider.
type api struct {
	project

	SubGroup, Version, Kind, Role, Scopes string
	Claim                                 string // Kind.group that a class is for
}

// NewCreate returns the command create.
func NewCreate(module string, std command.Streams) *cobra.Command {
	cmd := &cobra.Command{Use: "create", Short: "Add to a provider", Args: command.Subcommand, RunE: command.ShowHelp}
	cmd.AddCommand(newCreateAPI(module, std))
	return cmd
}

func newCreateAPI(module string, std command.Streams) *cobra.Command {
	a := api{project: project{Bowline: bowline{Module: module}}}
	dir := "."
	cmd := &cobra.Command{
		Use:   "api --version VERSION --kind KIND",
		Short: "Add a kind to a provider",
		Long: `Writes the Go types of a kind into the repository of a provider, as bowline init provider makes it, and enters the kind into kinds.go.

  --role managed   a kind of external resources: also its four functions, for an HTTP API, a test and an example
  --role claim     a kind that application teams claim resources with
  --role class     the class of a managed kind that exists, for claims of the kind in --claim

The kind works at once, with one sample setting. Change the types and functions, then run make generate and make test. Nothing is replaced.`,
		Example: `  bowline create api --version v1alpha1 --kind Gadget
  bowline create api --group storage --version v1alpha1 --kind Disk --scopes Namespaced
  bowline create api --group claims --version v1alpha1 --kind DiskClaim --role claim
  bowline create api --version v1alpha1 --kind Gadget --role class --claim DiskClaim.claims.acme.example.org`,
		Args: command.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := a.complete(cmd, dir); err != nil {
				return err
			}
			c := &change{}
			err := a.add(c, dir)
			for _, name := range []string{"go.mod", "go.sum"} { // which generate changes
				if err == nil {
					_, err = c.read(filepath.Join(dir, name))
				}
			}
			if err == nil {
				err = generate(cmd.Context(), dir)
			}
			if err != nil {
				return errors.Join(err, c.undo())
			}
			fmt.Fprintf(std.Out, "Kind %s of %s is in %s. Change it, then: make generate test\n", a.Kind, a.APIGroup(), a.typesFile("."))
			return nil
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&a.SubGroup, "group", "", "first `part` of the API group, before that of the provider (default: the group of the ProviderConfig)")
	flags.StringVar(&a.Version, "version", "", "API `version`, such as v1alpha1")
	flags.StringVar(&a.Kind, "kind", "", "`name` of the kind in CamelCase, such as MessageQueue")
	flags.StringVar(&a.Role, "role", roleManaged, "managed, class or claim")
	flags.StringVar(&a.Scopes, "scopes", "Cluster,Namespaced", "of a managed kind: Cluster, Namespaced or both, separated by a comma")
	flags.StringVar(&a.Claim, "claim", "", "`Kind.group` of the claims that a class is for")
	flags.StringVar(&dir, "dir", ".", "`folder` of the provider")
	return cmd
}

// complete reads the project, and refuses what cannot be used.
func (a *api) complete(cmd *cobra.Command, dir string) error {
	content, err := os.ReadFile(filepath.Join(dir, projectFile))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s has no file %s: go to the folder of a provider, or make one with bowline init provider NAME", dir, projectFile)
	}
	if err != nil {
		return err
	}
	if err := yaml.UnmarshalStrict(content, &a.project); err != nil {
		return fmt.Errorf("reading %s: %w", projectFile, err)
	}
	if a.Role == roleClaim && cmd.Flags().Changed("scopes") {
		return command.Usagef(cmd, "claims are namespaced: leave out --scopes")
	}
	switch {
	case !regexp.MustCompile(`^v[1-9][0-9]*((alpha|beta)[1-9][0-9]*)?$`).MatchString(a.Version):
		return command.Usagef(cmd, "--version must be one such as v1alpha1, not %q", a.Version)
	case !regexp.MustCompile(`^[A-Z][a-zA-Z0-9]{0,50}$`).MatchString(a.Kind):
		return command.Usagef(cmd, "--kind must be a name in CamelCase such as MessageQueue, not %q", a.Kind)
	case regexp.MustCompile(`(ProviderConfig|Spec|Status|List|Parameters|Observation|Class)$`).MatchString(a.Kind):
		return command.Usagef(cmd, "--kind must not end as the names of types that are generated, such as %s: choose another name", a.Kind)
	case slices.Contains([]string{"internal", "vendor", "testdata", "namespaced", "crds", "m"}, a.SubGroup), regexp.MustCompile(`^v[0-9]`).MatchString(a.SubGroup):
		return command.Usagef(cmd, "--group cannot be %q, which has a meaning in folders or groups: choose another word", a.SubGroup)
	case a.SubGroup != "" && len(validation.IsDNS1123Label(a.SubGroup)) > 0:
		return command.Usagef(cmd, "--group must be one word such as storage, not %q: the group is then storage.%s", a.SubGroup, a.Group)
	case a.Role != roleManaged && a.Role != roleClaim && a.Role != roleClass:
		return command.Usagef(cmd, "--role must be managed, class or claim, not %q", a.Role)
	case a.Role != roleClass && a.Claim != "":
		return command.Usagef(cmd, "--claim is for --role class")
	case !regexp.MustCompile(`^(Cluster|Namespaced|Cluster,Namespaced)$`).MatchString(a.Scopes):
		return command.Usagef(cmd, "--scopes must be Cluster, Namespaced or Cluster,Namespaced, not %q", a.Scopes)
	case a.Role == roleClass:
		return a.completeClass(cmd)
	}
	return nil
}

// APIGroup is the group of the kind. Kinds that are only namespaced have one of their own (N2).
func (a api) APIGroup() string {
	group := strings.TrimPrefix(a.SubGroup+"."+a.Group, ".")
	if labels := strings.Split(group, "."); a.IsNamespaced() {
		group = strings.Join(slices.Insert(labels, len(labels)-2, "m"), ".")
	}
	return group
}

// Noun is the kind in sentences.
func (a api) Noun() string { return noun(a.Kind) }

// A is the article of the noun.
func (a api) A() string { return article(a.Noun()) }

// Plural is the name of the resource.
func (a api) Plural() string { return plural(strings.ToLower(a.Kind)) }

// Variable is the kind as the beginning of names in Go: HTTPRoute is httpRoute.
func (a api) Variable() string {
	capitals := len(a.Kind) - len(strings.TrimLeftFunc(a.Kind, unicode.IsUpper))
	if capitals > 1 && capitals < len(a.Kind) {
		capitals--
	}
	return strings.ToLower(a.Kind[:capitals]) + a.Kind[capitals:]
}

// IsNamespaced is true if there is no cluster-scoped kind.
func (a api) IsNamespaced() bool { return a.Role != roleClaim && a.Scopes == "Namespaced" }

// folder is that of the types, below that of the provider.
func (a api) folder() string {
	if a.IsNamespaced() {
		return filepath.Join("apis", "namespaced", a.SubGroup, a.Version)
	}
	return filepath.Join("apis", a.SubGroup, a.Version)
}

// Alias is the name of the package of the types in Go files.
func (a api) Alias() string { return a.alias(a.IsNamespaced()) }

func (a api) alias(namespaced bool) string {
	prefix := strings.ReplaceAll(a.SubGroup, "-", "")
	if namespaced {
		prefix = "namespaced" + prefix
	}
	return prefix + a.Version
}

// Import is the import of the types in Go files.
func (a api) Import() string { return a.importOf(a.Alias(), a.folder()) }

func (a api) importOf(alias, folder string) string {
	path := fmt.Sprintf("%q", a.Module+"/"+filepath.ToSlash(folder))
	if alias == a.Version {
		return path
	}
	return alias + " " + path
}

func (a api) typesFile(dir string) string {
	return filepath.Join(dir, a.folder(), strings.ToLower(a.Kind)+".go")
}

// add writes the files of the kind, and enters it into kinds.go.
func (a api) add(c *change, dir string) error {
	if a.Role == roleClass {
		return a.addClass(c, dir)
	}
	docs, err := filepath.Glob(filepath.Join(dir, a.folder(), "*doc.go"))
	if err == nil && len(docs) == 0 {
		err = c.renderFile("group/doc.go"+suffix, filepath.Join(dir, a.folder(), "doc.go"), a)
	}
	if err != nil {
		return err
	}
	kinds := filepath.Join(dir, "kinds.go")
	if a.Role == roleClaim {
		return errors.Join(
			c.renderFile("claim/types.go"+suffix, a.typesFile(dir), a),
			c.insert(kinds, "imports", a.Import()),
			c.insert(kinds, "claims", fmt.Sprintf("&%s.%s{},", a.Alias(), a.Kind)),
		)
	}
	base := strings.ToLower(a.Kind)
	objects := fmt.Sprintf("&%s.%s{}", a.Alias(), a.Kind)
	if strings.Contains(a.Scopes, ",") {
		objects += fmt.Sprintf(", &%s.%s{}", a.alias(true), a.Kind)
		err = c.insert(kinds, "imports", a.importOf(a.alias(true), filepath.Join("apis", "namespaced", a.SubGroup, a.Version)))
	}
	return errors.Join(err,
		c.renderFile("managed/types.go"+suffix, a.typesFile(dir), a),
		c.renderFile("managed/kind.go"+suffix, filepath.Join(dir, base+"_kind.go"), a),
		c.renderFile("managed/kind_test.go"+suffix, filepath.Join(dir, base+"_kind_test.go"), a),
		c.renderFile("managed/example.yaml"+suffix, filepath.Join(dir, "examples", base+".yaml"), a),
		c.insert(kinds, "imports", a.Import()),
		c.insert(kinds, "kinds", fmt.Sprintf("kind.Serve(in, %sKind(), %s),", a.Variable(), objects)),
	)
}
