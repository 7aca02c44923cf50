// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package kinds_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
)

// allDefinitions is the environment variable that has the API server check all definitions, which takes a minute, instead of those with a
// shape that no earlier one has, and a ninth of the others.
const allDefinitions = "BOWLINE_ALL_DEFINITIONS"

const largestDefinition = 1 << 19 // bytes

// In a dry run the API server checks a definition as in a real one.
func TestServerAcceptsTheTypesOfALargeProvider(t *testing.T) {
	t.Parallel()
	env := controlplanetest.New(t)
	types := public(1300)
	all, sent, known := os.Getenv(allDefinitions) != "", 0, shapes{}
	var group errgroup.Group
	group.SetLimit(4)
	for i, resourceType := range slices.Sorted(maps.Keys(types)) {
		d := definitions(t, "reef", resourceType, types[resourceType])[i%2]
		for _, problem := range problemsOf(t, d) {
			t.Errorf("%s: %s", d.Name, problem)
		}
		if !known.addDefinition(d) && i%9 > 0 && !all {
			continue
		}
		sent++
		group.Go(func() error {
			if err := env.Client.Create(t.Context(), d, client.DryRunAll); err != nil {
				t.Errorf("%s: %v", d.Name, err)
			}
			return nil
		})
	}
	_ = group.Wait() // it reports itself
	t.Logf("the API server checked %d of %d definitions with %d shapes", sent, len(types), len(known))
}

// shapes are the keywords of properties, each with those of the properties around it.
type shapes map[string]bool

// addDefinition is true if the definition has a shape that none before has.
func (known shapes) addDefinition(d *apiextensionsv1.CustomResourceDefinition) bool {
	before := len(known)
	root := d.Spec.Versions[0].Schema.OpenAPIV3Schema
	spec := root.Properties["spec"]
	known.add(spec.Properties["forProvider"], "forProvider", "")
	known.add(spec.Properties["initProvider"], "initProvider", "")
	known.add(root.Properties["status"].Properties["atProvider"], "atProvider", "")
	for _, rule := range spec.XValidations {
		path, _, _ := strings.Cut(rule.Message, " ")
		name, _ := strings.CutPrefix(path, "spec.forProvider.")
		known[keywords(spec.Properties["forProvider"].Properties[name])+" has a rule"] = true
	}
	return len(known) > before
}

func (known shapes) add(s apiextensionsv1.JSONSchemaProps, around, furtherAround string) {
	own := keywords(s)
	known[furtherAround+" > "+around+" > "+own] = true
	for _, property := range s.Properties {
		known.add(property, own, around)
	}
	if s.Items != nil {
		known.add(*s.Items.Schema, own, around)
	}
	if s.AdditionalProperties != nil {
		known.add(*s.AdditionalProperties.Schema, own, around)
	}
}

// keywords has what the API server checks of a property without those in it.
func keywords(s apiextensionsv1.JSONSchemaProps) string {
	return fmt.Sprint(s.Type, s.XPreserveUnknownFields != nil, s.XListType != nil, s.MinItems != nil, s.MaxItems != nil, len(s.Required) > 0,
		s.AdditionalProperties != nil, s.Properties != nil)
}

// problemsOf returns which rules of the API server a definition breaks, as far as a test can know without a server.
func problemsOf(t *testing.T, d *apiextensionsv1.CustomResourceDefinition) (problems []string) {
	t.Helper()
	data, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	if len(data) > largestDefinition {
		problems = append(problems, fmt.Sprintf("it has %d bytes", len(data)))
	}
	names := d.Spec.Names
	problems = append(problems, validation.IsDNS1123Subdomain(d.Name)...)
	for _, name := range append([]string{names.Plural, names.Singular, strings.ToLower(names.Kind), strings.ToLower(names.ListKind)}, names.Categories...) {
		problems = append(problems, validation.IsDNS1035Label(name)...)
	}
	for _, rule := range d.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].XValidations {
		if rule.Rule == "" || strings.ContainsAny(rule.Message, "\n\r") {
			problems = append(problems, fmt.Sprintf("rule %q has message %q", rule.Rule, rule.Message))
		}
	}
	return append(problems, notStructural(*d.Spec.Versions[0].Schema.OpenAPIV3Schema, "")...)
}

// notStructural returns where a schema is not structural, as the API server requires.
func notStructural(s apiextensionsv1.JSONSchemaProps, at string) (problems []string) {
	anything := s.XPreserveUnknownFields != nil && *s.XPreserveUnknownFields
	switch {
	case s.Type == "" && !anything:
		problems = append(problems, at+" has no type")
	case (s.Type == "array") != (s.Items != nil):
		problems = append(problems, at+" is an array without items, or has items and is none")
	case s.Type != "object" && !anything && (s.Properties != nil || s.AdditionalProperties != nil):
		problems = append(problems, at+" has fields and is no object")
	case len(s.Properties) > 0 && s.AdditionalProperties != nil:
		problems = append(problems, at+" has both properties and additional properties")
	case s.Type != "array" && (s.XListType != nil || s.MinItems != nil || s.MaxItems != nil):
		problems = append(problems, at+" is no list, but has keywords of lists")
	case s.MinItems != nil && s.MaxItems != nil && *s.MinItems > *s.MaxItems:
		problems = append(problems, at+" has more items at least than at most")
	}
	for _, name := range s.Required {
		if _, ok := s.Properties[name]; !ok {
			problems = append(problems, at+" requires "+name+", which it does not have")
		}
	}
	for name, property := range s.Properties {
		problems = append(problems, notStructural(property, at+"."+name)...)
	}
	if s.Items != nil {
		problems = append(problems, notStructural(*s.Items.Schema, at+"[]")...)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		problems = append(problems, notStructural(*s.AdditionalProperties.Schema, at+"[*]")...)
	}
	return problems
}
