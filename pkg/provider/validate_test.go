// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package provider_test

import (
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/bowline-dev/bowline/internal/testkit/kinds"
	"github.com/bowline-dev/bowline/pkg/provider"
)

// A mistake is a change of a valid provider and words of the errors it causes; none if it stays valid.
type mistake struct {
	change func(*provider.Provider)
	words  []string
}

// crds changes definitions.
func crds(change func(*apiextensionsv1.CustomResourceDefinition)) func(*provider.Provider) {
	return func(p *provider.Provider) { p.CRDs = depotCRDs(change) }
}

// ofItem changes that of namespaced items.
func ofItem(change func(*apiextensionsv1.CustomResourceDefinition)) func(*provider.Provider) {
	return crds(func(d *apiextensionsv1.CustomResourceDefinition) {
		if d.Name == "items.depot.m.test.bowline.dev" {
			change(d)
		}
	})
}

// What a provider lacks.
func missingParts() map[string]mistake {
	return map[string]mistake{
		"fits (R227)":    {func(*provider.Provider) {}, nil},
		"no name (A73)":  {func(p *provider.Provider) { p.Name = "" }, []string{"set Provider.Name"}},
		"no CRDs (A73)":  {func(p *provider.Provider) { p.CRDs = nil }, []string{"provider depot has no definitions"}},
		"bad CRDs (A73)": {func(p *provider.Provider) { p.CRDs = fstest.MapFS{"a.yaml": {Data: []byte("kind: Letter")}} }, []string{"a.yaml"}},
		"no types (A73)": {func(p *provider.Provider) { p.AddToScheme = nil }, []string{"set Provider.AddToScheme"}},
		"kinds not in the scheme (A73)": {
			func(p *provider.Provider) { p.AddToScheme = func(*runtime.Scheme) error { return nil } },
			[]string{"kind *shop.Item", "kind *shop.Item", "configuration *shop.ProviderConfig", "let Provider.AddToScheme add it"},
		},
		"list not in the scheme (A73)": {
			func(p *provider.Provider) {
				p.AddToScheme = func(s *runtime.Scheme) error {
					s.AddKnownTypeWithName(depotKinds().Namespaced.WithKind("Item"), &kinds.TeamItem{})
					return nil
				}
			},
			[]string{"its list ItemList is not in the scheme"},
		},
		"mistake in a kind (A73)": {
			func(p *provider.Provider) { p.Kinds[0].Err = errors.New("it has no function Get") }, []string{"*shop.Item: it has no function Get"},
		},
		"holds data without the marker (N62)": {
			func(p *provider.Provider) { p.Kinds[0].HoldsData = true }, []string{"Item.depot.test.bowline.dev holds data", "+bowline:holdsData"},
		},
		"holds data (N62)": {
			func(p *provider.Provider) { p.CRDs, p.Kinds[0].HoldsData = depotCRDs(holdData), true }, nil,
		},
		"no object (A73)": {func(p *provider.Provider) { p.Kinds[1].Object = nil }, []string{"kind 1 of Provider.Kinds has no object"}},
		"a kind twice (R15)": {
			func(p *provider.Provider) { p.Kinds = append(p.Kinds, p.Kinds[0]) }, []string{"Item.depot.test.bowline.dev is there twice"},
		},
		"kind without definition (A73)": {
			ofItem(func(d *apiextensionsv1.CustomResourceDefinition) { d.Spec.Names.Kind = "Thing" }),
			[]string{"Item.depot.m.test.bowline.dev has no definition among Provider.CRDs"},
		},
		"version not served (A73)": {
			ofItem(func(d *apiextensionsv1.CustomResourceDefinition) { d.Spec.Versions[0].Served = false }),
			[]string{"does not serve version v1"},
		},
	}
}

// How kinds and configurations do not fit together.
func misfits() map[string]mistake {
	return map[string]mistake{
		"no label (N29)": {
			ofItem(func(d *apiextensionsv1.CustomResourceDefinition) { d.Labels = nil }),
			[]string{"no label bowline.dev/provider-config"},
		},
		"label of another group (N29)": {
			ofItem(func(d *apiextensionsv1.CustomResourceDefinition) { d.Labels["bowline.dev/provider-config"] = "other" }),
			[]string{"Provider.Configs has no ProviderConfig for it", "Provider.Configs has no ClusterProviderConfig for it"},
		},
		"scopes of kind and configuration differ (N2)": {
			ofItem(func(d *apiextensionsv1.CustomResourceDefinition) { d.Spec.Scope = apiextensionsv1.ClusterScoped }),
			[]string{"is cluster-scoped and uses configurations of group depot.m.test.bowline.dev"},
		},
		"configuration missing (N2)": {
			func(p *provider.Provider) { p.Configs = p.Configs[:2] }, []string{"has no ClusterProviderConfig"},
		},
		"configuration of another name (N2)": {
			func(p *provider.Provider) {
				p.AddToScheme = func(s *runtime.Scheme) error {
					s.AddKnownTypeWithName(depotKinds().Namespaced.WithKind("Letter"), &kinds.ClusterProviderConfig{})
					return nil
				}
				p.CRDs = depotCRDs(func(d *apiextensionsv1.CustomResourceDefinition) {
					if d.Spec.Names.Kind == "ClusterProviderConfig" {
						d.Spec.Names.Kind = "Letter"
					}
				})
			}, []string{"configuration Letter.depot.m.test.bowline.dev: managed resources can only name the kinds"},
		},
		"scope of a configuration (N2)": {
			crds(func(d *apiextensionsv1.CustomResourceDefinition) {
				if d.Spec.Names.Kind == "ClusterProviderConfig" {
					d.Spec.Scope = apiextensionsv1.NamespaceScoped
				}
			}), []string{"a kind of this name is cluster-scoped"},
		},
		"no configurations at all (R227)": {
			func(p *provider.Provider) {
				p.Configs = nil
				p.CRDs = depotCRDs(func(d *apiextensionsv1.CustomResourceDefinition) { d.Labels = nil })
			}, nil,
		},
	}
}

// All mistakes are reported at once, before anything runs, each with what to do.
func TestValidate(t *testing.T) {
	t.Parallel()
	for _, table := range []map[string]mistake{missingParts(), misfits()} {
		for name, tc := range table {
			t.Run(name, func(t *testing.T) { validate(t, tc) })
		}
	}
}

func validate(t *testing.T, tc mistake) {
	p := newProvider((&clientJournal{}).factory(0))
	tc.change(&p)
	err := p.Validate()
	if (err == nil) != (tc.words == nil) {
		t.Fatalf("got error %v", err)
	}
	for _, words := range tc.words {
		if !strings.Contains(err.Error(), words) {
			t.Errorf("the error lacks %q:\n%v", words, err)
		}
	}
}
