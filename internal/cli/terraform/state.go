// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package terraform

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/bowline-dev/bowline/internal/cli/terraform/source"
	"github.com/bowline-dev/bowline/pkg/terraform/plugin"
	"github.com/bowline-dev/bowline/pkg/terraform/schema"
)

const (
	stateVersion = 4
	stateFile    = "terraform.tfstate"
	// builtin is the provider of terraform_data, which is in Terraform itself.
	builtin = "terraform.io/builtin/terraform"
)

// A stored state is a file of Terraform.
type stored struct {
	Version   int              `json:"version"`
	Resources []storedResource `json:"resources"`
}

type storedResource struct {
	Module    string           `json:"module"`
	Mode      string           `json:"mode"`
	Type      string           `json:"type"`
	Name      string           `json:"name"`
	Provider  string           `json:"provider"`
	Instances []storedInstance `json:"instances"`
}

type storedInstance struct {
	Index         any             `json:"index_key"`
	Status        string          `json:"status"`
	Deposed       string          `json:"deposed"`
	SchemaVersion int64           `json:"schema_version"`
	Attributes    json.RawMessage `json:"attributes"`
	Sensitive     [][]storedStep  `json:"sensitive_attributes"`
	Dependencies  []string        `json:"dependencies"`
}

type storedStep struct {
	Type  string `json:"type"`
	Value any    `json:"value"`
}

// readState reads a file, that of a folder, or the standard input.
func readState(from string, in io.Reader) (*stored, error) {
	content, err := readContent(from, in)
	if err != nil {
		return nil, err
	}
	s := &stored{}
	decoder := json.NewDecoder(bytes.NewReader(content))
	decoder.UseNumber() // an index is 10, not 1e+01
	if err := decoder.Decode(s); err != nil {
		return nil, fmt.Errorf("%s is no Terraform state: give the output of terraform state pull", from) // the error may have a part of it
	}
	if s.Version != stateVersion {
		return nil, fmt.Errorf("%s has version %d of Terraform's states, not %d: give the output of terraform state pull, of Terraform 0.12 or later",
			from, s.Version, stateVersion)
	}
	return s, nil
}

func readContent(from string, in io.Reader) ([]byte, error) {
	if from == "-" {
		return io.ReadAll(in)
	}
	if info, err := os.Stat(from); err == nil && info.IsDir() {
		from = filepath.Join(from, stateFile)
	}
	content, err := os.ReadFile(from)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("reading the state: %w; where the state is elsewhere, use: terraform state pull | bowline terraform import -", err)
	}
	return content, err
}

var (
	indexKey     = regexp.MustCompile(`\[(?:"(?:[^"\\]|\\.)*"|[^\]"]*)\]`)
	providerPath = regexp.MustCompile(`provider\["([^"]+)"\](?:\.(.+))?$`)
)

// An instance is what Terraform manages under an address.
type instance struct {
	address string
	source  *source.Provider
	of      plugin.Resource
	value   cty.Value
	id      string

	dependencies []string // addresses without index keys
	hidden       []string // paths, as in Terraform, of what the configuration made sensitive
	tainted      bool
	config       string // alias of the provider configuration; empty for the default
	name         string // of the object
	secretName   string
	notes        []string // what its object lacks
}

// resource returns the address without index keys, as dependencies have it.
func (i *instance) resource() string { return indexKey.ReplaceAllString(i.address, "") }

// A reading turns a state into instances.
type reading struct {
	sources []*source.Provider
	// skipped are addresses that no object is made of, with the reason.
	skipped []string
	errs    []error
}

func (r *reading) instances(ctx context.Context, s *stored) []*instance {
	var all []*instance
	for _, resource := range s.Resources {
		parts := providerPath.FindStringSubmatch(resource.Provider)
		switch {
		case resource.Mode != "managed":
			continue
		case parts == nil:
			r.errs = append(r.errs, fmt.Errorf("%s has provider %q, as Terraform 0.12 writes it: run terraform apply -refresh-only with a later one",
				resource.Type, resource.Provider))
			continue
		case parts[1] == builtin:
			r.skip(resource.address(nil), "it is a part of Terraform itself")
			continue
		}
		source := r.source(parts[1], resource.Type)
		if source == nil {
			r.addUnknownType(parts[1], resource)
			continue
		}
		for _, one := range resource.Instances {
			i := &instance{address: resource.address(one.Index), source: source, of: plugin.Resource{Type: resource.Type, Schema: source.Types[resource.Type]},
				dependencies: one.Dependencies, tainted: one.Status == "tainted", config: parts[2]}
			if one.Deposed != "" {
				r.skip(i.address, "deposed object "+one.Deposed+" waits for its deletion by Terraform")
			} else if err := i.read(ctx, one); err != nil {
				r.errs = append(r.errs, fmt.Errorf("%s: %w", i.address, err))
			} else if i.id == "" {
				r.skip(i.address, "it has no id, by which a provider could import it")
			} else {
				all = append(all, i)
			}
		}
	}
	return all
}

func (r *reading) skip(address, reason string) {
	r.skipped = append(r.skipped, address+": "+reason)
}

// source returns the provider of a resource type: that of the name in the address, else the only one that has the type. It is nil for none.
func (r *reading) source(address, resourceType string) *source.Provider {
	var having []*source.Provider
	for _, s := range r.sources {
		if s.Types[resourceType] == nil {
			continue
		}
		if s.Name == path.Base(address) {
			return s
		}
		having = append(having, s)
	}
	if len(having) == 1 {
		return having[0]
	}
	return nil
}

// addUnknownType notes that no provider is given for a resource, with others of its type.
func (r *reading) addUnknownType(provider string, resource storedResource) {
	for _, err := range r.errs {
		if known, ok := errors.AsType[*unknownType](err); ok && known.provider == provider && known.of == resource.Type {
			known.addresses = append(known.addresses, resource.address(nil))
			return
		}
	}
	given := slices.ContainsFunc(r.sources, func(s *source.Provider) bool { return s.Name == path.Base(provider) })
	r.errs = append(r.errs, &unknownType{provider, resource.Type, given, []string{resource.address(nil)}})
}

// An unknownType is the error of resources for which no provider is given, or one without their type.
type unknownType struct {
	provider, of string
	given        bool
	addresses    []string
}

func (e *unknownType) Error() string {
	name, about := path.Base(e.provider), e.addresses[0]
	if more := len(e.addresses) - 1; more > 0 {
		about += fmt.Sprintf(" and %d more", more)
	}
	if e.given {
		return fmt.Sprintf("%s: the binary of --provider %s has no resource type %s: give that of a version which has it, or remove the resources from a "+
			"copy of the state to leave them out, by terraform state rm -state=COPY ADDRESS", about, name, e.of)
	}
	return fmt.Sprintf("%s: no provider is given for resource type %s of %s: add --provider %s=BINARY; after terraform init it is below "+
		".terraform/providers/%[3]s", about, e.of, e.provider, name)
}

func (r storedResource) address(index any) string {
	address := strings.TrimPrefix(r.Module+"."+r.Type+"."+r.Name, ".")
	switch key := index.(type) {
	case string:
		return address + "[" + strconv.Quote(key) + "]"
	case json.Number:
		return address + "[" + key.String() + "]"
	}
	return address
}

// read lets the provider decode the state, which an earlier version may have stored.
func (i *instance) read(ctx context.Context, one storedInstance) (err error) {
	if len(one.Attributes) == 0 || string(one.Attributes) == "null" {
		return errors.New("its state was stored by Terraform 0.11: run terraform apply -refresh-only with a later one")
	}
	i.value, err = i.source.Process.Upgrade(ctx, i.of, one.SchemaVersion, one.Attributes)
	if err != nil || one.SchemaVersion > i.of.Schema.Version { // the error may repeat values
		return fmt.Errorf("provider %s does not accept its state: give the binary of the version with which Terraform stored it, or of a later one",
			i.source.Name)
	}
	for _, path := range one.Sensitive {
		i.hidden = append(i.hidden, pathOf(path))
	}
	if a := i.of.Schema.Block.Attribute("id"); !i.value.IsNull() && a != nil && !a.Sensitive && a.Type == cty.String && !i.isHidden(idPath, true) {
		i.id = text(i.value.GetAttr("id"))
	}
	return nil
}

// pathOf returns a path such as .layer[0].token. One into a set, whose elements have no index, ends there.
func pathOf(steps []storedStep) (path string) {
	for _, step := range steps {
		value := step.Value
		if index, ok := value.(map[string]any); ok { // with its type
			value = index["value"]
		}
		switch value.(type) {
		case string, json.Number:
		default:
			return path
		}
		if step.Type == "get_attr" {
			path += "." + fmt.Sprint(value)
		} else {
			path += "[" + fmt.Sprint(value) + "]"
		}
	}
	return path
}

// isHidden is true for a value, or with parts for what has a part, that the configuration made sensitive.
func (i *instance) isHidden(at string, parts bool) bool {
	return slices.ContainsFunc(i.hidden, func(hidden string) bool {
		rest, below := strings.CutPrefix(hidden, at)
		return hidden == "" || hidden == at || parts && below && (rest[0] == '.' || rest[0] == '[')
	})
}

// text returns a string, empty for any other value.
func text(v cty.Value) string {
	if v.IsNull() || !v.IsKnown() || v.Type() != cty.String {
		return ""
	}
	return v.AsString()
}

// computed returns the attributes with a value that only the provider sets.
func (i *instance) computed(secret bool) []*schema.Attribute {
	return slices.DeleteFunc(slices.Clone(i.of.Schema.Block.Attributes), func(a *schema.Attribute) bool {
		return !a.Computed || a.Optional || a.Sensitive != secret || i.value.GetAttr(a.Name).IsNull() || !secret && i.isHidden("."+a.Name, true)
	})
}

const longestName = 63 // of objects of Terraform kinds

var (
	noLabel   = regexp.MustCompile(`[^a-z0-9]+`)
	ofModules = regexp.MustCompile(`(^|\.)module\.`)
)

// nameAll gives each instance a name by its address without the type: b-0 in module a becomes a-b-0. One that is too long, or that
// another object of its kind has, ends with a hash.
func nameAll(all []*instance) {
	count := map[string]int{}
	for _, i := range all {
		count[i.of.Type+"/"+i.shortName()]++
	}
	for _, i := range all {
		name := i.shortName()
		if len(name) > longestName || count[i.of.Type+"/"+name] > 1 || name == "" {
			h := fnv.New32a()
			_, _ = h.Write([]byte(i.address)) // never fails
			name = strings.TrimLeft(fmt.Sprintf("%s-%08x", strings.TrimRight(name[:min(len(name), longestName-9)], "-"), h.Sum32()), "-")
		}
		i.name = name
		i.secretName = label(i.of.Type) + "-" + name
	}
}

func (i *instance) shortName() string {
	address := ofModules.ReplaceAllString(i.address, "$1")
	return label(strings.Replace("."+address, "."+i.of.Type+".", ".", 1))
}

// label returns a text as names of objects allow it.
func label(text string) string {
	return strings.Trim(noLabel.ReplaceAllString(strings.ToLower(text), "-"), "-")
}
