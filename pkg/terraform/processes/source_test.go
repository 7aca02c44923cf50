// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package processes

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/bowline-dev/bowline/pkg/clients"
	"github.com/bowline-dev/bowline/pkg/clients/limits"
)

// What a configuration shows of the account that it leads to tells external systems apart, and credentials can be rotated (N55).
func TestSystemOfConfiguration_N55(t *testing.T) {
	t.Parallel()
	const settings = `{"configuration": {"region": "eu", "tokenSecretRef": {"name": "cloud", "key": "token"}},
		"environment": [{"name": "ACCOUNT", "valueSecretRef": {"name": "cloud", "key": "account"}}],
		"files": [{"name": "key.pem", "contentSecretRef": {"name": "cloud", "key": "key.pem"}}]}`
	for name, tc := range map[string]struct {
		a, b string // settings; empty: those above
		at   string // namespace of the second configuration
		open bool   // there are no Secrets
		same bool
	}{
		"other values of Secrets":           {same: true},
		"another region":                    {b: `{"configuration": {"region": "us"}}`},
		"another Secret in the environment": {b: strings.Replace(settings, `"cloud", "key": "account"`, `"mine", "key": "account"`, 1)},
		"another Secret in a file":          {b: strings.Replace(settings, `"cloud", "key": "key.pem"`, `"mine", "key": "key.pem"`, 1)},
		"Secrets of another namespace":      {at: "team"},
		"no Secrets, another namespace":     {a: `{"configuration": {"region": "eu"}}`, b: `{"configuration": {"region": "eu"}}`, at: "team", open: true, same: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			connection := func(name, namespace, spec, secret string) (c clients.Connection[Settings]) {
				if spec == "" {
					spec = settings
				}
				if err := json.Unmarshal([]byte(spec), &c.Settings); err != nil {
					t.Fatal(err)
				}
				if c.Key = (limits.Key{Name: name, Namespace: namespace}); !tc.open {
					c.Inputs = map[string][]byte{"configuration.tokenSecretRef": []byte(secret)}
				}
				return c
			}
			a, b := systemOf(connection("a", "", tc.a, "first")), systemOf(connection("b", tc.at, tc.b, "second"))
			if same := a.ID == b.ID; same != tc.same || a.ID == "" {
				t.Errorf("the systems are %q and %q", a.ID, b.ID)
			}
		})
	}
}
