// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"cmp"
	"context"
	"regexp"
	"slices"
	"strings"

	"github.com/bowline-dev/bowline/favouritecloud/internal/redis"
	"github.com/bowline-dev/bowline/favouritecloud/internal/refusal"
	"github.com/bowline-dev/bowline/favouritecloud/internal/rules"
	api "github.com/bowline-dev/bowline/favouritecloud/sdk/services/cache"
)

func (s *Service) validateCreate(ctx context.Context, in api.CreateInstanceInput) error {
	if err := rules.Name("name", in.Name); err != nil {
		return err
	}
	wanted := api.UpdateInstanceInput{
		MemoryMegabytes: &in.MemoryMegabytes, EvictionPolicy: in.EvictionPolicy, Password: in.Password, Labels: in.Labels,
	}
	if err := validateUpdate(wanted); err != nil || in.EngineVersion == nil {
		return err
	}
	return s.validateVersion(ctx, *in.EngineVersion)
}

func validateUpdate(in api.UpdateInstanceInput) error {
	memory := *cmp.Or(in.MemoryMegabytes, new(api.MinMemoryMegabytes))
	if memory < api.MinMemoryMegabytes || memory > api.MaxMemoryMegabytes {
		return refusal.Invalid("memory_megabytes %d is not valid: it must be %d to %d", memory, api.MinMemoryMegabytes, api.MaxMemoryMegabytes)
	}
	policies := []string{
		"noeviction", "allkeys-lru", "allkeys-lfu", "allkeys-random", "volatile-lru", "volatile-lfu", "volatile-random", "volatile-ttl",
	}
	if p := in.EvictionPolicy; p != nil && !slices.Contains(policies, *p) {
		return refusal.Invalid("eviction_policy %q is not valid: it must be one of %s", *p, strings.Join(policies, ", "))
	}
	if err := rules.Password(in.Password); err != nil {
		return err
	}
	return rules.Labels(in.Labels)
}

// validateVersion refuses versions that are not installed. With nothing installed at all every version passes: the
// instance then fails with a message that says what to install, and comes up once that is done.
func (s *Service) validateVersion(ctx context.Context, version string) error {
	installed, err := redis.FindInstallations(ctx, s.searchPath)
	if err != nil {
		return err
	}
	var versions []string
	for _, i := range installed {
		versions = append(versions, i.Version)
	}
	switch {
	case slices.Contains(versions, version):
		return nil
	case len(versions) > 0:
		return refusal.Invalid("engine_version %q is not available: this cloud has Redis %s", version, strings.Join(versions, ", "))
	case !regexp.MustCompile(`^[1-9][0-9]{0,3}\.[0-9]{1,4}$`).MatchString(version):
		return refusal.Invalid("engine_version %q is not valid: it must be a major and minor version of Redis such as \"7.0\"", version)
	}
	return nil
}
