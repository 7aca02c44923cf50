// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package terraform

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/internal/testkit/mirror"
)

const harbour = "testdata/harbour.tfstate"

func TestImport(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"import.yaml":            nil,
		"import-namespaced.yaml": {"--scope", "namespaced", "-n", "shop"},
		"import-secrets.yaml":    {"--with-secrets", "-n", "shop"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := run(t, "", append(append([]string{"import", harbour}, providers(t)...), args...)...)
			if got.failed != nil {
				t.Fatal(got.failed)
			}
			golden(t, name, got.out)
			golden(t, strings.Replace(name, "yaml", "txt", 1), got.err)
			if strings.Contains(got.all(), hidden) != (name == "import-secrets.yaml") || strings.Contains(got.all(), "geheim-tag") {
				t.Error("secrets:\n", got.all())
			}
		})
	}
}

func TestImportReadsFoldersAndTheStandardInput(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile(harbour)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "terraform.tfstate"), content, 0o600); err != nil {
		t.Fatal(err)
	}
	for from, input := range map[string]string{"-": string(content), dir: ""} {
		got := run(t, input, append([]string{"import", from}, providers(t)...)...)
		if got.failed != nil {
			t.Fatal(got.failed)
		}
		golden(t, "import.yaml", got.out)
	}
}

func TestServerAcceptsWhatIsImported(t *testing.T) {
	t.Parallel()
	env := controlplanetest.New(t)
	reef, _ := install(t, env, "reef")
	shoal, _ := install(t, env, "shoal")
	for _, args := range [][]string{nil, {"--scope", "namespaced"}, {"--with-secrets"}} {
		got := run(t, "", append([]string{"import", harbour, "-n", env.Namespace, "--provider", reef + "=" + mirror.Program(t, "reef"),
			"--provider", shoal + "=" + mirror.Program(t, "shoal")}, args...)...)
		if got.failed != nil {
			t.Fatal(got.failed)
		}
		tryCreate(t, env, got.out)
	}
}

// stateOf returns a state with one berth.
func stateOf(provider, instance string) string { return stateWith(provider, "shoal_berth", instance) }

// stateWith returns a state with a resource of a type in the root module, and one in each of the modules.
func stateWith(provider, of, instance string, modules ...string) string {
	var all []string
	for _, module := range append(modules, "") {
		all = append(all, fmt.Sprintf(`{"module": %q, "mode": "managed", "type": %q, "name": "b", "provider": %q, "instances": [%s]}`,
			module, of, provider, instance))
	}
	return `{"version": 4, "resources": [` + strings.Join(all, ", ") + "]}"
}

func TestImportErrors(t *testing.T) {
	t.Parallel()
	const address = `provider["registry.terraform.io/bowline-dev/shoal"]`
	shoal, reef := []string{"--provider", "shoal=" + mirror.Program(t, "shoal")}, []string{"--provider", "reef=" + mirror.Program(t, "reef")}
	for name, tc := range map[string]struct {
		state string
		args  []string
		want  string
	}{
		"no provider":                 {"{}", nil, "--provider NAME=BINARY"},
		"a provider without a binary": {"{}", []string{"--provider", "shoal"}, "it must be NAME=BINARY"},
		"another scope":               {"{}", append([]string{"--scope", "world"}, shoal...), `unknown scope "world"`},
		"another namespace":           {"{}", append([]string{"-n", "a/b"}, shoal...), "cannot be a namespace"},
		"a provider of a wrong name":  {"{}", []string{"--provider", "x_y=z"}, "cannot be the name of a provider"},
		"a provider that is missing":  {"{}", []string{"--provider", "shoal=/nowhere"}, ""},
		"no state":                    {`{"geheim`, shoal, "is no Terraform state"},
		"an old state":                {`{"version": 3, "modules": []}`, shoal, "version 3"},
		"a state without resources":   {`{"version": 4}`, shoal, "no resource to import"},
		"a provider that is not given": {stateOf(`provider["example.org/x/sea"]`, "{}"), reef,
			"shoal_berth.b: no provider is given for resource type shoal_berth of example.org/x/sea: add --provider sea=BINARY; after terraform init it is below .terraform/providers/example.org/x/sea"},
		"two providers that may be meant": {stateOf(`provider["example.org/x/sea"]`, "{}"),
			append([]string{"--provider", "another=" + mirror.Program(t, "shoal")}, shoal...), "shoal_berth.b: no provider is given"},
		"a type that the provider does not have": {stateWith(address, "shoal_wreck", "{}", "module.a[0]"), shoal,
			"module.a[0].shoal_wreck.b and 1 more: the binary of --provider shoal has no resource type shoal_wreck: give that of a version which has it"},
		"a provider of Terraform 0.12":  {stateOf("provider.shoal", "{}"), shoal, "terraform apply -refresh-only"},
		"a state of Terraform 0.11":     {stateOf(address, `{"attributes_flat": {"id": "geheim"}}`), shoal, "Terraform 0.11"},
		"a state of a later schema":     {stateOf(address, `{"schema_version": 99, "attributes": {"id": "geheim"}}`), shoal, "does not accept its state"},
		"attributes that are not there": {stateOf(address, `{"attributes": {"id": {"geheim": "geheim"}}}`), shoal, "does not accept its state"},
		"an instance without an id":     {stateOf(address, `{"attributes": {"id": null, "name": "geheim"}}`), shoal, "no resource to import"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := run(t, tc.state, append([]string{"import", "-"}, tc.args...)...)
			if got.failed == nil || !strings.Contains(got.failed.Error(), tc.want) {
				t.Errorf("%v, want %q", got.failed, tc.want)
			}
			if strings.Contains(got.all(), hidden) {
				t.Error("secrets:", got.all())
			}
		})
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("long_", 20)
	for address, want := range map[string]string{
		"shoal_berth.b":                                 "b",
		"shoal_berth.b[0]":                              "b-0",
		`shoal_berth.b["Å/é"]`:                          "b",
		"module.a.module.b[2].shoal_berth.c":            "a-b-2-c",
		`module.a["x.y"].shoal_berth.my_berth["k-1"]`:   "a-x-y-my-berth-k-1",
		"shoal_berth." + long:                           "long-long-long-long-long-long-long-long-long-long-long-ca8158b2",
		`shoal_berth.shoal_berth["shoal_berth.module"]`: "shoal-berth-shoal-berth-module",
	} {
		i := &instance{address: address}
		i.of.Type = "shoal_berth"
		if nameAll([]*instance{i}); i.name != want || len(i.name) > 63 {
			t.Errorf("%s is %s, want %s", address, i.name, want)
		}
	}
}

func TestWhatTheConfigurationMadeSensitiveIsHidden(t *testing.T) {
	t.Parallel()
	const attribute = `{"type": "get_attr", "value": "tags"}`
	for name, tc := range map[string]struct {
		path   string
		at     string
		parts  bool
		hidden bool
	}{
		"itself":              {attribute, ".tags", false, true},
		"another":             {attribute, ".tag", true, false},
		"a part":              {attribute + `, {"type": "index", "value": {"value": "k", "type": "string"}}`, ".tags", true, true},
		"a part, of a block":  {attribute + `, {"type": "index", "value": {"value": 0, "type": "number"}}`, ".tags", false, false},
		"an item":             {attribute + `, {"type": "index", "value": {"value": 10, "type": "number"}}`, ".tags[10]", false, true},
		"an element of a set": {attribute + `, {"type": "index", "value": {"value": {"a": "b"}, "type": "x"}}, ` + attribute, ".tags", false, true},
		"everything":          {"", ".tags", false, true},
	} {
		decoder := json.NewDecoder(strings.NewReader("[" + tc.path + "]"))
		decoder.UseNumber()
		var steps []storedStep
		if err := decoder.Decode(&steps); err != nil {
			t.Fatal(err)
		}
		i := &instance{hidden: []string{pathOf(steps)}}
		if got := i.isHidden(tc.at, tc.parts); got != tc.hidden {
			t.Errorf("%s: %v", name, got)
		}
	}
}
