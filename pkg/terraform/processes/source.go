// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package processes runs the processes of Terraform providers: one for each ProviderConfig in use, started again when it ends, with pauses when
// it keeps ending, and replaced when its binary or its configuration changes.
package processes

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/clients"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/telemetry"
	"github.com/bowline-dev/bowline/pkg/terraform/journal"
	"github.com/bowline-dev/bowline/pkg/terraform/kinds"
	"github.com/bowline-dev/bowline/pkg/terraform/plugin"
	"github.com/bowline-dev/bowline/pkg/terraform/wire"
)

// A Binary is that of a provider, with what it declares.
type Binary struct {
	Path    string
	Schemas *plugin.Schemas
}

// A Source starts the processes of a provider, one for each ProviderConfig in use.
type Source struct {
	Journal *journal.Journal // nil for none
	// Leaves is true where journals outlive this process, also when it is asked to end: see journal.Outlives. Changes that are in progress then
	// are left to them. Default: providers are asked to stop, which ends changes in part.
	Leaves bool
	Log    logr.Logger
	// Changed is called when a process has started, could not be started, or ended. It must not block. Default: nothing.
	Changed func()
	// Metrics record what the processes do. Default: nothing.
	Metrics *telemetry.Terraform
	// Wear is when another process replaces one. Default: see its fields.
	Wear Wear

	processes processes

	mu       sync.Mutex
	binary   *Binary       // nil before the first Use
	replaced chan struct{} // closed by the next Use
}

// Use has processes start from a binary from now on, or none where it is nil. Those of another one end once the passes that use them have
// ended.
func (s *Source) Use(b *Binary) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.replaced != nil {
		close(s.replaced)
	}
	s.binary, s.replaced = b, make(chan struct{})
}

func (s *Source) current() (*Binary, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.binary, s.replaced
}

// Processes are those of all configurations in use, in the order of these, and how often any of them was started again since this Source
// exists.
func (s *Source) Processes() (all []Status, restarts int) {
	all, restarts = s.processes.all(time.Now())
	if s.Metrics != nil {
		running, memory := 0, int64(0)
		for _, p := range all {
			if memory += p.Memory; p.State == Running {
				running++
			}
		}
		s.Metrics.Processes(running, memory)
	}
	return all, restarts
}

func (s *Source) changed(news bool) {
	if news && s.Changed != nil {
		s.Changed()
	}
}

// Settings is the spec of a ProviderConfig, as far as the process needs it.
type Settings struct {
	Configuration map[string]any `json:"configuration,omitempty"`
	Environment   []Variable     `json:"environment,omitempty"`
	Files         []File         `json:"files,omitempty"`
}

// systemOf identifies the external system that a configuration leads to, as far as it shows: Terraform providers have no other way to tell. Which
// Secrets it refers to counts, since these may be of two accounts; their values do not, so that credentials can be rotated.
func systemOf(c clients.Connection[Settings]) xpv1.ExternalSystem {
	namespace := "" // of the Secrets, where references do not have it
	if len(c.Inputs) > 0 {
		namespace = c.Key.Namespace
	}
	content, _ := json.Marshal([]any{c.Settings, namespace}) // which was JSON
	sum := sha256.Sum256(content)
	return xpv1.ExternalSystem{ID: hex.EncodeToString(sum[:8]), Name: c.Key.String()}
}

// A Variable of the environment of the process. Its value may be in a Secret.
type Variable struct {
	Name           string         `json:"name"`
	Value          string         `json:"value,omitempty"`
	ValueSecretRef map[string]any `json:"valueSecretRef,omitempty"`
}

// A File of the process. Its content is in a Secret.
type File struct {
	Name             string         `json:"name"`
	ContentSecretRef map[string]any `json:"contentSecretRef"`
}

// reserved are the beginnings of names of variables by which the processes find each other, and programs their code.
var reserved = []string{"PLUGIN_", "TF_PLUGIN_", "BOWLINE_", "LD_", "DYLD_", "GODEBUG", "GOCOVERDIR", "HOME", "TMPDIR", "PATH"}

// Factory returns the factory of the processes.
func (s *Source) Factory() *clients.Factory[Settings, *Process] {
	return &clients.Factory[Settings, *Process]{New: s.start, Lend: lend, Close: s.close}
}

func (s *Source) close(p *Process) {
	s.changed(s.processes.closed(p.Config, p, time.Now()))
	p.Close()
}

// start starts a process, unless one has just been started in vain.
func (s *Source) start(ctx context.Context, c clients.Connection[Settings]) (*Process, error) {
	binary, replaced := s.current()
	if binary == nil {
		return nil, failure.New(failure.ProviderConfigUnavailable, "the Terraform provider cannot be used, and nothing "+
			"is kept as it is declared: see condition Ready of its TerraformProvider, or create it again if it was deleted")
	}
	if err := s.processes.admit(c.Key, origin{c.Version, binary}, time.Now()); err != nil {
		return nil, err
	}
	began := time.Now()
	provider, warnings, err := s.configured(ctx, binary, c)
	var p *Process
	worn := make(chan struct{})
	if err == nil {
		life := &life{wear: s.Wear.withDefaults(), serves: time.Now().Add(starts * time.Since(began)), done: make(chan struct{}), worn: worn,
			leaves: s.Leaves && s.Journal != nil, left: make(chan struct{})}
		p = &Process{Provider: provider, life: life, Config: c.Key, System: systemOf(c), Version: c.Version,
			Configured: warnings}
	}
	news, again := s.processes.started(c.Key, p, err, time.Now())
	if again && s.Metrics != nil {
		s.Metrics.Restarted()
	}
	s.changed(news)
	if err != nil {
		return nil, err
	}
	go func() {
		defer close(p.done)
		select {
		case <-provider.Done():
			s.changed(s.processes.ended(c.Key, p, time.Now()))
		case <-replaced:
		case <-worn:
		}
	}()
	return p, nil
}

// configured starts a process and configures it. It returns the warnings about the configuration, which may repeat secrets.
func (s *Source) configured(ctx context.Context, binary *Binary, c clients.Connection[Settings]) (
	p *plugin.Provider, warnings plugin.Diagnostics, err error) {
	config, err := kinds.Config(binary.Schemas.Provider.Block, "spec.configuration", c.Settings.Configuration, func(field string) ([]byte, bool) {
		value, has := c.Inputs["configuration."+field]
		return bytes.TrimSuffix(value, []byte("\n")), has // which most commands add to the Secret
	})
	if err != nil {
		return nil, nil, err
	}
	command := plugin.Command{Path: binary.Path, Files: map[string][]byte{}, Output: &lines{log: s.Log.WithValues("config", c.Name)}}
	for i, v := range c.Settings.Environment {
		if slices.ContainsFunc(reserved, func(name string) bool { return strings.HasPrefix(v.Name, name) }) {
			return nil, nil, fmt.Errorf("spec.environment[%d]: the variable %s is not for configurations: remove it", i, v.Name)
		}
		value := v.Value
		if secret, has := c.Inputs[fmt.Sprintf("environment[%d].valueSecretRef", i)]; has {
			value = string(secret)
		}
		command.Env = append(command.Env, v.Name+"="+value)
	}
	for i, f := range c.Settings.Files {
		command.Files[f.Name] = c.Inputs[fmt.Sprintf("files[%d].contentSecretRef", i)]
	}
	if command, err = s.Journal.Command(command); err != nil {
		return nil, nil, err
	}
	started, err := plugin.Start(ctx, command)
	if err != nil {
		return nil, nil, err
	}
	if s.Metrics != nil {
		started.Called = func(m wire.Method, o wire.Outcome, took time.Duration) { s.Metrics.Called(m.Name(), string(o), took) }
	}
	p, err = binary.Schemas.Configure(ctx, started, config, func(d plugin.Diagnostics) { warnings = append(warnings, d...) })
	if err != nil {
		started.Close()
		return nil, nil, fmt.Errorf("configuring the provider: %w", err)
	}
	p.Limit = c.Limiter.Do
	return p, warnings, nil
}

// lines counts what a process prints: it may hold secrets, so that the log has only that there was something.
type lines struct{ log logr.Logger }

var _ io.Writer = &lines{}

func (l *lines) Write(printed []byte) (int, error) {
	l.log.V(1).Info("The provider's process printed something", "bytes", len(printed), "lines", bytes.Count(printed, []byte("\n")))
	return len(printed), nil
}
