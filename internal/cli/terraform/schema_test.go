// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package terraform

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/internal/testkit/mirror"
)

// document has types that the test providers lack.
const document = `{"format_version": "1.0", "provider_schemas": {
	"registry.terraform.io/hashicorp/old": {"provider": {"version": 0, "block": {}}, "resource_schemas": {
		"old_thing": {"version": 0, "block": {
			"description": "Much\n  text. ` + `", "deprecated": true,
			"attributes": {
				"id": {"type": "string", "optional": true, "computed": true},
				"enabled": {"type": "bool", "required": true},
				"y": {"type": ["list", ["object", {"api_key": "string", "sizes": ["set", "number"]}]], "required": true},
				"pair": {"type": ["tuple", ["string", "bool"]], "optional": true},
				"pin": {"type": "number", "required": true, "sensitive": true},
				"routes": {"optional": true, "nested_type": {"nesting_mode": "map", "attributes": {"hop": {"type": "string", "required": true}}}}
			},
			"block_types": {
				"disk": {"nesting_mode": "list", "min_items": 2, "max_items": 3, "block": {"attributes": {"label": {"type": "string", "optional": true}}}},
				"level": {"nesting_mode": "single", "block": {"block_types": {"level": {"nesting_mode": "single", "block": {"block_types": {
					"level": {"nesting_mode": "single", "block": {"block_types": {"level": {"nesting_mode": "single", "block": {"block_types": {
					"level": {"nesting_mode": "single", "block": {}}}}}}}}}}}}}}
			}
		}}
	}},
	"registry.terraform.io/hashicorp/new": {"provider": {"version": 0, "block": {}}, "resource_schemas": {"new_box": {"version": 0, "block": {}}}}
}}`

func writeDocument(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "schemas.json")
	if err := os.WriteFile(file, []byte(document), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestSchema(t *testing.T) {
	t.Parallel()
	reef, shoal, file := mirror.Program(t, "reef"), mirror.Program(t, "shoal"), writeDocument(t)
	for name, args := range map[string][]string{
		"types.txt":             {reef},
		"types-of-document.txt": {file},
		"reef_chart.yaml":       {reef, "reef_chart"},
		"shoal_chart.yaml":      {shoal, "shoal_chart", "-n", "shop"},
		"shoal_berth.yaml":      {shoal, "shoal_berth", "--name", "harbour"},
		"two.yaml":              {file, "old_thing", "new_box"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := run(t, "", append([]string{"schema"}, args...)...)
			if got.failed != nil {
				t.Fatal(got.failed)
			}
			golden(t, name, got.out)
		})
	}
}

func TestSchemaAsData(t *testing.T) {
	t.Parallel()
	got := run(t, "", "schema", writeDocument(t), "old_thing", "-o", "json")
	var all []map[string]any
	if err := json.Unmarshal([]byte(got.out), &all); err != nil {
		t.Fatal(err, got.all())
	}
	want := []map[string]any{{"type": "old_thing", "kind": "Thing", "apiVersion": "old.tf.bowline.dev/v1alpha1",
		"namespacedAPIVersion": "old.tf.m.bowline.dev/v1alpha1", "required": []any{"disk", "enabled", "pinSecretRef", "y"},
		"deprecated": true, "description": "Much text."}}
	if diff := cmp.Diff(want, all); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestSchemaErrors(t *testing.T) {
	t.Parallel()
	script := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(script, []byte("#!/bin/sh\necho hello\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	state, err := filepath.Abs("testdata/harbour.tfstate")
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"nothing":            {nil, "name a TerraformProvider, a provider binary"},
		"no file":            {[]string{"/nowhere"}, "give the path of a provider binary"},
		"no provider":        {[]string{script}, "starting the provider"},
		"another document":   {[]string{state}, "terraform providers schema -json"},
		"no such type":       {[]string{writeDocument(t), "old_thing", "old_box"}, "there is no resource type old_box"},
		"a name for two":     {[]string{writeDocument(t), "--name", "x"}, "has 2"},
		"a name of no group": {[]string{mirror.Program(t, "reef"), "--name", "X_Y"}, "choose another with --name"},
		"another output":     {[]string{writeDocument(t), "-o", "dot"}, "use json or yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := run(t, "", append([]string{"schema"}, tc.args...)...); got.failed == nil || !strings.Contains(got.failed.Error(), tc.want) {
				t.Errorf("%v, want %q", got.failed, tc.want)
			}
		})
	}
}

var (
	commented = regexp.MustCompile(`(?m)^( *)# `)
	anything  = regexp.MustCompile(`<([a-z ]+)>`)
)

// fill replaces the placeholders of a manifest, and with all also sets what is a comment.
func fill(manifest, namespace string, all bool) string {
	manifest = strings.SplitN(manifest, "\n", 4)[3] // without the introduction
	for last := ""; all && last != manifest; {
		last, manifest = manifest, commented.ReplaceAllString(manifest, "$1")
	}
	if all {
		manifest = strings.ReplaceAll(manifest, " {} # Remove {} to set a field.", "")
	}
	manifest = strings.NewReplacer("<number>", "1", "<true or false>", "true", "<namespace>", namespace, "<kind>", "Other").Replace(manifest)
	return anything.ReplaceAllString(manifest, "text")
}

func TestServerAcceptsManifests(t *testing.T) {
	t.Parallel()
	env := controlplanetest.New(t)
	for _, provider := range []string{"reef", "shoal"} {
		_, s := install(t, env, provider)
		for resourceType := range s.Types {
			for _, namespace := range []string{"", env.Namespace} {
				text := s.Manifest(resourceType, namespace)
				tryCreate(t, env, fill(text, env.Namespace, false))
				tryCreate(t, env, fill(text, env.Namespace, true))
			}
		}
	}
}
