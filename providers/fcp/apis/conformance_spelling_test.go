// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package apis_test

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// spellsAcronyms wants JSON names that follow from the Go names, in which acronyms are in upper case.
func spellsAcronyms(t *testing.T, k rootKind) {
	for _, part := range [][]string{{"Spec", "ForProvider"}, {"Status", "AtProvider"}} {
		for _, f := range fieldsOf(t, k.part(t, part...)) {
			if got, want := f.json(), lowerCamel(f.Name); got != want {
				t.Errorf("%s is %s in JSON, want %s", f.Name, got, want)
			}
			for _, acronym := range []string{"Id", "Ip", "Cidr", "Dns", "Mtu", "Url", "Api"} {
				if i := strings.Index(f.Name+".", acronym); i >= 0 && !unicode.IsLower(rune((f.Name + ".")[i+len(acronym)])) {
					t.Errorf("%s has an acronym that is not in upper case", f.Name)
				}
			}
		}
	}
}

func TestP6LowerCamel(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"ID": "id", "IPVersion": "ipVersion", "SecondaryIPRanges": "secondaryIpRanges", "SubnetIDs": "subnetIds",
		"SubnetIDRefs": "subnetIdRefs", "FancinessLevel": "fancinessLevel", "DNSServers": "dnsServers",
	} {
		if got := lowerCamel(name); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}

// lowerCamel spells a Go name as JSON does: acronyms, also those in the plural, are words like others.
func lowerCamel(name string) string {
	name = regexp.MustCompile(`[A-Z]{2,}s($|[A-Z])`).ReplaceAllStringFunc(name, func(plural string) string {
		end := strings.Index(plural, "s") + 1
		return plural[:1] + strings.ToLower(plural[1:end]) + plural[end:]
	})
	name = regexp.MustCompile(`([A-Z])([A-Z][a-z])`).ReplaceAllString(name, "${1}_$2")
	name = regexp.MustCompile(`([a-z0-9])([A-Z])`).ReplaceAllString(name, "${1}_$2")
	return camel(strings.ToLower(name))
}

// camel spells snake_case as Kubernetes does.
func camel(snake string) string {
	words := strings.Split(snake, "_")
	for i, w := range words[1:] {
		words[i+1] = strings.ToUpper(w[:1]) + w[1:]
	}
	return strings.Join(words, "")
}

// A limit is a marker with a number that the definition has to carry.
type limit struct {
	marker string
	of     func(apiextensionsv1.JSONSchemaProps) (float64, bool)
}

func limits() []limit {
	integer := func(n *int64) (float64, bool) {
		if n == nil {
			return 0, false
		}
		return float64(*n), true
	}
	number := func(n *float64) (float64, bool) {
		if n == nil {
			return 0, false
		}
		return *n, true
	}
	const validation = "+kubebuilder:validation:"
	return []limit{
		{validation + "Minimum=", func(s apiextensionsv1.JSONSchemaProps) (float64, bool) { return number(s.Minimum) }},
		{validation + "Maximum=", func(s apiextensionsv1.JSONSchemaProps) (float64, bool) { return number(s.Maximum) }},
		{validation + "MinLength=", func(s apiextensionsv1.JSONSchemaProps) (float64, bool) { return integer(s.MinLength) }},
		{validation + "MaxLength=", func(s apiextensionsv1.JSONSchemaProps) (float64, bool) { return integer(s.MaxLength) }},
		{validation + "MaxItems=", func(s apiextensionsv1.JSONSchemaProps) (float64, bool) { return integer(s.MaxItems) }},
		{validation + "MaxProperties=", func(s apiextensionsv1.JSONSchemaProps) (float64, bool) { return integer(s.MaxProperties) }},
	}
}

// check returns how many limits the field's source has, which the schema must have too.
func (l limit) check(t *testing.T, f field, s apiextensionsv1.JSONSchemaProps) int {
	t.Helper()
	got, limited := l.of(s)
	for line := range strings.SplitSeq(f.comment, "\n") {
		text, ok := strings.CutPrefix(line, l.marker)
		if !ok {
			continue
		}
		if want, err := strconv.ParseFloat(text, 64); err != nil || !limited || got != want {
			t.Errorf("%s: the definition has %v, %t, the source %s, %v", f, got, limited, line, err)
		}
		return 1
	}
	if limited {
		t.Errorf("%s: the definition has the limit %v, the source no %s", f, got, l.marker)
	}
	return 0
}
