// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package database

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"github.com/bowline-dev/bowline/favouritecloud/internal/postgres"
	"github.com/bowline-dev/bowline/favouritecloud/internal/refusal"
	"github.com/bowline-dev/bowline/favouritecloud/internal/rules"
	api "github.com/bowline-dev/bowline/favouritecloud/sdk/services/database"
)

func (s *Service) validateCreate(ctx context.Context, in api.CreateInstanceInput) error {
	if err := rules.Name("name", in.Name); err != nil {
		return err
	}
	if err := validateFanciness(in.FancinessLevel); err != nil {
		return err
	}
	if err := rules.Labels(in.Labels); err != nil {
		return err
	}
	if err := rules.Password(in.Password); err != nil {
		return err
	}
	if in.Version == nil {
		return nil
	}
	return s.validateVersion(ctx, *in.Version)
}

func validateUpdate(in api.UpdateInstanceInput) error {
	if in.FancinessLevel != nil {
		if err := validateFanciness(*in.FancinessLevel); err != nil {
			return err
		}
	}
	if err := rules.Password(in.Password); err != nil {
		return err
	}
	return rules.Labels(in.Labels)
}

func validateFanciness(level int) error {
	if level < api.MinFancinessLevel || level > api.MaxFancinessLevel {
		return refusal.Invalid("fanciness_level %d is not valid: it must be %d to %d", level, api.MinFancinessLevel, api.MaxFancinessLevel)
	}
	return nil
}

// validateVersion refuses versions that are not installed. With nothing installed at all every number passes: the
// instance then fails with a message that says what to install, and comes up once that is done.
func (s *Service) validateVersion(ctx context.Context, version string) error {
	installed, err := postgres.FindInstallations(ctx, s.searchPath)
	if err != nil {
		return err
	}
	var majors []string
	for _, i := range installed {
		majors = append(majors, i.Major)
	}
	switch {
	case slices.Contains(majors, version):
		return nil
	case len(majors) > 0:
		return refusal.Invalid("version %q is not available: this cloud has PostgreSQL %s", version, strings.Join(majors, ", "))
	case !regexp.MustCompile(`^[1-9][0-9]{0,3}$`).MatchString(version):
		return refusal.Invalid("version %q is not valid: it must be a major version of PostgreSQL such as \"15\"", version)
	}
	return nil
}
