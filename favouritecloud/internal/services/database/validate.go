// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package database

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/bowline-dev/bowline/favouritecloud/internal/postgres"
	"github.com/bowline-dev/bowline/favouritecloud/internal/refusal"
	api "github.com/bowline-dev/bowline/favouritecloud/sdk/services/database"
)

const (
	maxLabels           = 64
	maxLabelNameLength  = 63
	maxLabelPrefix      = 253
	maxLabelValueLength = 256
)

// ValidateName refuses what is not an RFC 1035 label of at most 63 characters. what names the thing in the message.
func ValidateName(what, name string) error {
	if !regexp.MustCompile(`^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$`).MatchString(name) {
		return refusal.Invalid("%s %q is not valid: use 1 to 63 lower case letters, digits and hyphens, starting with a letter and not ending with a hyphen", what, name)
	}
	return nil
}

func (s *Service) validateCreate(ctx context.Context, in api.CreateInstanceInput) error {
	if err := ValidateName("name", in.Name); err != nil {
		return err
	}
	if err := validateFanciness(in.FancinessLevel); err != nil {
		return err
	}
	if err := validateLabels(in.Labels); err != nil {
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
	return validateLabels(in.Labels)
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
	installed, err := postgres.FindInstallations(ctx, s.SearchPath)
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

func validateLabels(labels map[string]string) error {
	if len(labels) > maxLabels {
		return refusal.Invalid("labels: %d are too many: at most %d are kept", len(labels), maxLabels)
	}
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		if problem := labelKeyProblem(key); problem != "" {
			return refusal.Invalid("label key %q is not valid: %s", key, problem)
		}
		if problem := labelValueProblem(labels[key]); problem != "" {
			return refusal.Invalid("value of label %q is not valid: %s", key, problem)
		}
	}
	return nil
}

// labelKeyProblem says what is wrong with a key, which is a name with an optional DNS domain and slash before it, as
// in Kubernetes.
func labelKeyProblem(key string) string {
	name := key
	if prefix, rest, ok := strings.Cut(key, "/"); ok {
		name = rest
		if len(prefix) > maxLabelPrefix || !regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`).MatchString(prefix) {
			return fmt.Sprintf("the part before the slash must be a DNS domain of at most %d characters", maxLabelPrefix)
		}
	}
	if len(name) > maxLabelNameLength || !regexp.MustCompile(`^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$`).MatchString(name) {
		return fmt.Sprintf("use 1 to %d letters, digits, '-', '_' and '.', starting and ending with a letter or digit", maxLabelNameLength)
	}
	return ""
}

func labelValueProblem(value string) string {
	if !utf8.ValidString(value) || utf8.RuneCountInString(value) > maxLabelValueLength ||
		strings.ContainsFunc(value, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return fmt.Sprintf("use at most %d printable characters", maxLabelValueLength)
	}
	return ""
}
