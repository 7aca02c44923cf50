// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package memvendor

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/internal/testkit/shop"
	"github.com/bowline-dev/bowline/pkg/provider"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/reconciler/providerconfig"
	"github.com/bowline-dev/bowline/pkg/resource/unstructured"
)

// Copies returns that many copies of the definition of items under other names. They need no ProviderConfig.
func Copies(n int) []*apiextensionsv1.CustomResourceDefinition {
	all := shop.CRDs()
	items := all[slices.IndexFunc(all, func(d *apiextensionsv1.CustomResourceDefinition) bool {
		return d.Spec.Names.Kind == shop.ItemKind && d.Spec.Group == shop.Group
	})]
	delete(items.Labels, providerconfig.LabelProviderConfig)
	for i := range n {
		d := items.DeepCopy()
		kind, names := fmt.Sprintf("%s%04d", shop.ItemKind, i), &d.Spec.Names
		names.Kind, names.ListKind, names.Singular = kind, kind+"List", strings.ToLower(kind)
		names.Plural, names.ShortNames = names.Singular+"s", nil
		d.Name = names.Plural + "." + d.Spec.Group
		all = append(all, d)
	}
	return all[len(all)-n:]
}

// KindsWithoutObjects returns a provider of that many kinds, which have no Go types and never get an object. Its definitions are in files
// of a new folder, since other providers have theirs in their program, which is no anonymous memory.
func KindsWithoutObjects(n int, folder string) (provider.Provider, error) {
	if err := os.Mkdir(folder, 0o700); err != nil {
		return provider.Provider{}, err
	}
	p := provider.Provider{Name: "kinds", CRDs: os.DirFS(folder), AddToScheme: func(*runtime.Scheme) error { return nil }}
	for _, d := range Copies(n) {
		content, err := json.Marshal(d)
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, d.Name+".yaml"), content, 0o600)
		}
		if err != nil {
			return p, err
		}
		p.Kinds = append(p.Kinds, provider.Kind{
			Object:    unstructured.New(schema.GroupVersionKind{Group: d.Spec.Group, Version: d.Spec.Versions[0].Name, Kind: d.Spec.Names.Kind}),
			Connecter: func(*provider.Setup) managed.ExternalConnecter { return nil },
		})
	}
	return p, nil
}
