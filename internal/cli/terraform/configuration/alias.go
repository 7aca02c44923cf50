// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package configuration

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/cli/inspect"
	api "github.com/bowline-dev/bowline/pkg/resource"
	managed "github.com/bowline-dev/bowline/pkg/resource/unstructured"
)

// A config identifies a ProviderConfig or ClusterProviderConfig, which becomes a provider configuration of Terraform.
type config struct{ provider, kind, namespace, name string }

// config returns that of the object. A ProviderConfig without a namespace is one of cluster-scoped kinds.
func (r *resource) config() config {
	of := managed.Wrap(r.Unstructured)
	c := config{provider: r.source.Name, kind: api.ProviderConfigKind(of), name: api.ProviderConfigName(of)}
	if c.kind == xpv1.ProviderConfigKind {
		c.namespace = r.GetNamespace()
	}
	return c
}

// qualified is an alias that also says which of several configurations of a name it is.
func (c config) qualified() string {
	return identifier(cmp.Or(c.namespace, strings.ToLower(c.kind)) + "_" + c.name)
}

// aliases names the provider configurations of resources: as the objects are named, unless another one of the provider is, too. The only one of the
// default name is Terraform's default configuration, which has no alias.
func aliases(all []*resource) (found []config, alias map[config]string) {
	same := map[string]int{}
	for _, r := range all {
		if c := r.config(); !slices.Contains(found, c) {
			found = append(found, c)
			same[c.provider+"."+identifier(c.name)]++
		}
	}
	slices.SortFunc(found, func(a, b config) int {
		return cmp.Or(cmp.Compare(a.provider, b.provider), cmp.Compare(a.name, b.name), cmp.Compare(a.kind, b.kind), cmp.Compare(a.namespace, b.namespace))
	})
	alias, taken := map[config]string{}, map[string]bool{}
	for _, c := range found {
		name, only := identifier(c.name), same[c.provider+"."+identifier(c.name)] == 1
		if only && c.name == api.DefaultProviderConfig {
			continue
		}
		if !only {
			name = c.qualified()
		}
		for taken[c.provider+"."+name] || !only && same[c.provider+"."+name] > 0 {
			name += "_"
		}
		alias[c], taken[c.provider+"."+name] = name, true
	}
	return found, alias
}

// writeAliases writes comments that say for what the aliases stand.
func writeAliases(file *hclwrite.Body, found []config, alias map[config]string) {
	var text string
	for _, c := range found {
		if alias[c] != "" {
			text += inspect.Plain(fmt.Sprintf("# Provider configuration %s.%s stands for %s %s.", c.provider, alias[c], c.kind,
				inspect.Path(c.namespace, c.name))) + "\n"
		}
	}
	if text != "" {
		file.AppendUnstructuredTokens(hclwrite.Tokens{{Type: hclsyntax.TokenComment, Bytes: []byte(text + "\n")}})
	}
}
