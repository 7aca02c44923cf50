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
	"strings"

	"github.com/spf13/cobra"

	"github.com/bowline-dev/bowline/internal/cli/command"
)

// claimsOfCore are the groups of the claim kinds of Bowline, whose packages are below apis.
const claimsOfCore = ".crossplane.io"

// completeClass refuses what cannot be a class.
func (a *api) completeClass(cmd *cobra.Command) error {
	if !regexp.MustCompile(`^[A-Z][a-zA-Z0-9]*\.[a-z0-9-]+(\.[a-z0-9-]+)+$`).MatchString(a.Claim) {
		return command.Usagef(cmd, "name the claim kind that the class is for, such as --claim RedisCluster.cache.crossplane.io, not %q", a.Claim)
	}
	if a.IsNamespaced() {
		return command.Usagef(cmd, "classes are of cluster-scoped kinds, since teams must not read the original Secrets: leave out --scopes")
	}
	return nil
}

// addClass marks a managed kind, whose class kind is generated from that, and enters the class into kinds.go.
func (a api) addClass(c *change, dir string) error {
	claim, imported, err := a.claimType(dir)
	if err != nil {
		return err
	}
	file := a.typesFile(dir)
	content, err := c.read(file)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s does not exist: a class belongs to a managed kind, which bowline create api --role managed makes", file)
	}
	if err != nil {
		return err
	}
	marked, err := a.mark(string(content))
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	kinds := filepath.Join(dir, "kinds.go")
	kind := a.Alias() + "." + a.Kind
	return errors.Join(
		os.WriteFile(file, []byte(marked), 0o644),
		c.insert(kinds, "imports", imported),
		c.insert(kinds, "classes", fmt.Sprintf("provider.ClassOf(&%s{}, &%sClass{}, &%[2]s{}, nil), // nil: the claim has no settings of its own", claim, kind)),
	)
}

// mark adds the claim kind to the marker of the managed kind.
func (a api) mark(types string) (string, error) {
	const marker = "// +bowline:class="
	kind := strings.Index(types, "\ntype "+a.Kind+" struct")
	scopes := strings.LastIndex(types[:max(kind, 0)], "// +bowline:scopes=")
	if scopes < 0 {
		return "", fmt.Errorf("there is no kind %s with a marker +bowline:scopes", a.Kind)
	}
	before, comment := types[:scopes], types[scopes:kind]
	switch i := strings.Index(comment, marker); {
	case strings.Contains(comment, a.Claim):
		return "", fmt.Errorf("it has a class for %s", a.Claim)
	case i >= 0:
		comment = comment[:i+len(marker)] + a.Claim + "," + comment[i+len(marker):]
	default:
		comment += "\n" + marker + a.Claim
	}
	return before + comment + types[kind:], nil
}

// claimType returns the Go type of the claim kind, and its import: one of Bowline, or of this provider.
func (a api) claimType(dir string) (name, imported string, err error) {
	kind, group, _ := strings.Cut(a.Claim, ".")
	module, folder := a.Module, ""
	if first, isCore := strings.CutSuffix(group, claimsOfCore); isCore && !strings.Contains(first, ".") {
		module, folder = a.Bowline.Module, "apis/"+first+"/v1alpha1"
	} else if first, isOwn := strings.CutSuffix(group, a.Group); isOwn {
		found, err := filepath.Glob(filepath.Join(dir, "apis", strings.TrimSuffix(first, "."), "v*", strings.ToLower(kind)+".go"))
		if err != nil || len(found) == 0 {
			return "", "", fmt.Errorf("there is no claim kind %s in %s: make it first, with --role claim", a.Claim, dir)
		}
		relative, err := filepath.Rel(dir, filepath.Dir(found[len(found)-1]))
		if err != nil {
			return "", "", err
		}
		folder = filepath.ToSlash(relative)
	} else {
		return "", "", fmt.Errorf("%s is a claim kind neither of Bowline nor of this provider: add the marker +bowline:class=%[1]s to the kind, and an "+
			"entry to classes() in kinds.go", a.Claim)
	}
	parts := strings.Split(folder, "/")[1:]
	alias := strings.ReplaceAll(strings.Join(parts, ""), "-", "")
	if module != a.Module {
		alias = "core" + alias
	}
	return alias + "." + kind, fmt.Sprintf("%s %q", alias, module+"/"+folder), nil
}
