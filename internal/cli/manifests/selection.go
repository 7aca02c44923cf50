// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/bowline-dev/bowline/internal/cli/plane"
	"github.com/bowline-dev/bowline/pkg/provider"
)

// A Selection is the flag --providers: which of the program's providers a command is about. Default: all but those that define kinds at run
// time, which need more rights.
type Selection struct {
	all      []provider.Provider
	standard []provider.Provider // by default
	chosen   []string
}

// NewSelection returns a selection of the given providers.
func NewSelection(of []provider.Provider) *Selection {
	return &Selection{all: of, standard: slices.DeleteFunc(slices.Clone(of), func(p provider.Provider) bool { return p.Extend != nil })}
}

// AddFlags registers the flag.
func (s *Selection) AddFlags(flags *pflag.FlagSet) {
	flags.Var(s, "providers", fmt.Sprintf("names of the providers, of %s (default: %s)", strings.Join(plane.Names(s.all), ", "),
		strings.Join(plane.Names(s.standard), ", ")))
}

// String implements pflag.Value.
func (s *Selection) String() string { return strings.Join(s.chosen, ",") }

// Type implements pflag.Value.
func (*Selection) Type() string { return "names" }

// Set implements pflag.Value.
func (s *Selection) Set(list string) error {
	for name := range strings.SplitSeq(list, ",") {
		name = strings.TrimSpace(name)
		if !slices.Contains(plane.Names(s.all), name) {
			return fmt.Errorf("there is no provider %q: choose one of %s", name, strings.Join(plane.Names(s.all), ", "))
		}
		s.chosen = append(s.chosen, name)
	}
	return nil
}

// Further returns the providers that are not selected by default. It has none once some are chosen.
func (s *Selection) Further() []provider.Provider {
	if len(s.chosen) > 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(s.all), func(p provider.Provider) bool { return slices.Contains(plane.Names(s.standard), p.Name) })
}

// Part names what is selected, in the order of the program; empty for the default.
func (s *Selection) Part() string {
	selected := plane.Names(s.Providers())
	if slices.Equal(selected, plane.Names(s.standard)) {
		return ""
	}
	return strings.Join(selected, ",")
}

// Providers returns what is selected, in the order of the program.
func (s *Selection) Providers() []provider.Provider {
	if len(s.chosen) == 0 {
		return s.standard
	}
	return slices.DeleteFunc(slices.Clone(s.all), func(p provider.Provider) bool { return !slices.Contains(s.chosen, p.Name) })
}
