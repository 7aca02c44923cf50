// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package external

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/go-logr/logr"

	"github.com/bowline-dev/bowline/pkg/clients"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/terraform/journal"
	"github.com/bowline-dev/bowline/pkg/terraform/kinds"
	"github.com/bowline-dev/bowline/pkg/terraform/plugin"
)

// A Binary is that of a provider, with what it declares.
type Binary struct {
	Path    string
	Schemas *plugin.Schemas
}

// A Source starts the processes of a provider, one for each ProviderConfig in use. Its binary may be replaced while they run.
type Source struct {
	Binary  atomic.Pointer[Binary]
	Journal *journal.Journal // nil for none
	Log     logr.Logger
}

// Settings is the spec of a ProviderConfig, as far as the process needs it.
type Settings struct {
	Configuration map[string]any `json:"configuration,omitempty"`
	Environment   []Variable     `json:"environment,omitempty"`
}

// A Variable of the environment of the process. Its value may be in a Secret.
type Variable struct {
	Name  string `json:"name"`
	Value string `json:"value,omitempty"`
}

// factory returns the factory of the processes.
func (s *Source) factory() *clients.Factory[Settings, *plugin.Provider] {
	return &clients.Factory[Settings, *plugin.Provider]{New: s.start, Close: func(p *plugin.Provider) { p.Close() }}
}

// start starts a process and configures it.
func (s *Source) start(ctx context.Context, c clients.Connection[Settings]) (*plugin.Provider, error) {
	binary := s.Binary.Load()
	if binary == nil {
		return nil, failure.New(failure.ProviderConfigUnavailable, "the Terraform provider is not ready: see its TerraformProvider")
	}
	config, err := kinds.Config(binary.Schemas.Provider.Block, "spec.configuration", c.Settings.Configuration, func(field string) ([]byte, bool) {
		value, has := c.Inputs["configuration."+field]
		return value, has
	})
	if err != nil {
		return nil, err
	}
	command := plugin.Command{Path: binary.Path, Output: &lines{log: s.Log.WithValues("config", c.Name)}}
	for i, v := range c.Settings.Environment {
		value := v.Value
		if secret, has := c.Inputs[fmt.Sprintf("environment[%d].valueSecretRef", i)]; has {
			value = string(secret)
		}
		command.Env = append(command.Env, v.Name+"="+value)
	}
	if command, err = s.Journal.Command(command); err != nil {
		return nil, err
	}
	process, err := plugin.Start(ctx, command)
	if err != nil {
		return nil, err
	}
	provider, err := binary.Schemas.Configure(ctx, process, config, func(warnings plugin.Diagnostics) {
		s.Log.V(1).Info("The provider warns", "config", c.Name, "count", len(warnings))
	})
	if err != nil {
		process.Close()
		return nil, fmt.Errorf("configuring the provider: %w", err)
	}
	provider.Limit = c.Limiter.Do
	return provider, nil
}

// lines counts what a process prints: it may hold secrets, so that the log has only that there was something.
type lines struct{ log logr.Logger }

var _ io.Writer = &lines{}

func (l *lines) Write(printed []byte) (int, error) {
	l.log.V(1).Info("The provider's process printed something", "bytes", len(printed), "lines", bytes.Count(printed, []byte("\n")))
	return len(printed), nil
}
