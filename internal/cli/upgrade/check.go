// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsclient "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/pager"

	"github.com/bowline-dev/bowline/internal/cli/inspect"
	"github.com/bowline-dev/bowline/internal/cli/manifests"
	"github.com/bowline-dev/bowline/internal/cli/outside"
	"github.com/bowline-dev/bowline/pkg/crd"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/provider"
	"github.com/bowline-dev/bowline/pkg/terraform/kinds"
)

// requestsPerSecond of one person who reads all objects.
const requestsPerSecond = 100

// A server has the definitions and objects of another version.
type server struct {
	definitions apiextensionsclient.CustomResourceDefinitionInterface
	objects     dynamic.Interface
	metadata    metadata.Interface
}

func newServer(cfg *rest.Config) (*server, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.QPS, cfg.Burst = requestsPerSecond, requestsPerSecond
	clients, err := apiextensionsclient.NewForConfig(cfg)
	objects, objectsErr := dynamic.NewForConfig(cfg)
	names, namesErr := metadata.NewForConfig(cfg)
	if err := errors.Join(err, objectsErr, namesErr); err != nil {
		return nil, fmt.Errorf("creating client: %w", err)
	}
	return &server{clients.CustomResourceDefinitions(), objects, names}, nil
}

// A checker compares definitions with a server.
type checker struct {
	*server
	systems *outside.Systems            // nil to leave external resources alone
	names   map[schema.GroupKind]string // of the definitions
	report  Report
}

// check compares the definitions of providers with a server, and the external resources with what their controllers want if progress is not
// nil.
func check(ctx context.Context, cfg *rest.Config, selection *manifests.Selection, progress io.Writer) (*Report, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	of, err := newServer(cfg)
	if err != nil {
		return nil, err
	}
	c := checker{server: of, names: map[schema.GroupKind]string{}, report: Report{New: []string{}, Changed: []string{}, Findings: []Finding{}}}
	providers, missing, err := c.providers(ctx, cfg, selection)
	if err != nil {
		return nil, err
	}
	ours, err := provider.Definitions(providers...)
	if err != nil {
		return nil, err
	}
	if progress != nil {
		if c.systems, err = outside.Connect(ctx, stop, cfg, progress, providers); err != nil {
			return nil, err
		}
		defer c.systems.Close()
	}
	for _, reason := range missing {
		c.report.incomplete = progress != nil
		c.found(Warning, ExternalResourceUnknown, "", "", "its kinds were not compared: %v", reason)
	}
	for _, d := range ours {
		if err := c.definition(ctx, d); err != nil {
			return nil, err
		}
	}
	if c.systems != nil {
		c.notReached()
	}
	if selection.Part() == "" {
		err = c.removed(ctx, ours, len(missing) == 0)
	}
	slices.SortStableFunc(c.report.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Definition, b.Definition), cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.Object, b.Object))
	})
	return &c.report, err
}

// providers returns the selected providers, those that are not by default but whose definitions the server has, and those whose kinds are
// known at run time only. missing says which of the last are not there.
func (c *checker) providers(ctx context.Context, cfg *rest.Config, selection *manifests.Selection) (all []provider.Provider, missing []error, err error) {
	all = slices.Clone(selection.Providers())
	for _, p := range selection.Further() {
		definitions, err := p.Definitions()
		if err != nil {
			return nil, nil, err
		}
		_, err = c.definitions.Get(ctx, definitions[0].Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, nil, refused(definitions[0].Name, err)
		}
		all = append(all, p)
	}
	return outside.Discover(ctx, cfg, all)
}

// refused is the error of a definition that cannot be read.
func refused(name string, err error) error {
	if apierrors.IsForbidden(err) {
		return fmt.Errorf("this needs the rights to read definitions and all objects, as an administrator has: %w", err)
	}
	return fmt.Errorf("reading definition %s: %w", name, err)
}

// found adds a finding about a definition.
func (c *checker) found(severity Severity, reason Reason, definition, object, format string, args ...any) {
	c.report.Findings = append(c.report.Findings, Finding{severity, reason, definition, object, fmt.Sprintf(format, args...)})
}

// definition compares a definition with that of the server, and all objects with it.
func (c *checker) definition(ctx context.Context, next *apiextensionsv1.CustomResourceDefinition) error {
	c.report.Definitions++
	installed, err := c.definitions.Get(ctx, next.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		c.report.New = append(c.report.New, next.Name)
		return nil
	}
	if err != nil {
		return refused(next.Name, err)
	}
	if !equality.Semantic.DeepEqual(installed.Spec.Versions, next.Spec.Versions) {
		c.report.Changed = append(c.report.Changed, next.Name)
	}
	if installed.Spec.Scope != next.Spec.Scope {
		c.found(Problem, ScopeChanged, next.Name, "", "objects are %s and would be %s, which the server refuses: delete the definition with its objects "+
			"first", strings.ToLower(string(installed.Spec.Scope)), strings.ToLower(string(next.Spec.Scope)))
		return nil
	}
	versions := map[string]*apiextensionsv1.CustomResourceDefinitionVersion{}
	for i := range next.Spec.Versions {
		versions[next.Spec.Versions[i].Name] = &next.Spec.Versions[i]
	}
	for _, stored := range installed.Status.StoredVersions {
		switch {
		case versions[stored] == nil && stored == storageVersion(installed):
			c.found(Problem, StoredVersionRemoved, next.Name, "", "objects are stored in version %s, which would not exist: upgrade to a version of Bowline "+
				"in between, which stores another one, and run bowline upgrade migrate there", stored)
		case versions[stored] == nil:
			c.found(Problem, StoredVersionRemoved, next.Name, "", "objects may be stored in version %s, which would not exist: run bowline upgrade "+
				"migrate before the upgrade", stored)
		case !versions[stored].Storage:
			c.found(Warning, StoredVersionFormer, next.Name, "", "objects may be stored in version %s, which a later version may lack: run bowline upgrade "+
				"migrate after the upgrade", stored)
		}
	}
	common := ""
	for _, v := range installed.Spec.Versions {
		same := versions[v.Name]
		switch {
		case v.Served && (same == nil || !same.Served):
			c.found(Problem, ServedVersionRemoved, next.Name, "", "version %s would not be served: change manifests and programs that use it", v.Name)
		case v.Served && (common == "" || same.Storage):
			common = v.Name
		}
	}
	if common == "" {
		return nil
	}
	return c.instances(ctx, next, versions[common])
}

// instances compares all objects of a kind with the schema of a version.
func (c *checker) instances(ctx context.Context, next *apiextensionsv1.CustomResourceDefinition, version *apiextensionsv1.CustomResourceDefinitionVersion) error {
	s, err := newSchema(version.Schema.OpenAPIV3Schema)
	if err != nil {
		return fmt.Errorf("reading the schema of definition %s: %w", next.Name, err)
	}
	objects := c.objects.Resource(schema.GroupVersionResource{Group: next.Spec.Group, Version: version.Name, Resource: next.Spec.Names.Plural})
	lost := map[string][]string{} // objects that would lose a field
	c.names[schema.GroupKind{Group: next.Spec.Group, Kind: next.Spec.Names.Kind}] = next.Name
	var compared []outside.Object
	list := pager.New(pager.SimplePageFunc(func(o metav1.ListOptions) (runtime.Object, error) { return objects.List(ctx, o) }))
	err = list.EachListItem(ctx, metav1.ListOptions{}, func(item runtime.Object) error {
		o := item.(*unstructured.Unstructured)
		name := inspect.Path(o.GetNamespace(), o.GetName())
		c.report.Objects++
		unknown, refusals := s.examine(ctx, o)
		for _, field := range unknown {
			lost[field] = append(lost[field], name)
		}
		for _, refusal := range refusals {
			c.found(Problem, ObjectRefused, next.Name, name, "the new definition would refuse it: %s", refusal)
		}
		if c.systems == nil || len(refusals) > 0 {
			return nil
		}
		object, ok, err := c.systems.Object(o)
		if ok && !meta.IsPaused(o) {
			compared = append(compared, object)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("listing %s: %w", next.Name, err)
	}
	for _, field := range slices.Sorted(maps.Keys(lost)) {
		objects := lost[field]
		c.found(Problem, FieldRemoved, next.Name, objects[0], "objects that would lose %s: %d", field, len(objects))
	}
	return c.compare(ctx, next.Name, compared)
}

// removed finds definitions of another version of this program, which this one does not have. Unless the
// comparison is complete, those of Terraform kinds may be of what was not compared.
func (c *checker) removed(ctx context.Context, ours []*apiextensionsv1.CustomResourceDefinition, complete bool) error {
	all, err := c.definitions.List(ctx, metav1.ListOptions{LabelSelector: crd.LabelManagedBy + "=" + crd.ManagedBy})
	if err != nil {
		return fmt.Errorf("listing definitions: %w", err)
	}
	for _, d := range all.Items {
		known := slices.ContainsFunc(ours, func(o *apiextensionsv1.CustomResourceDefinition) bool { return o.Name == d.Name })
		if !known && (complete || !kinds.IsGroup(d.Spec.Group)) {
			c.found(Warning, KindRemoved, d.Name, "", "this program does not have the kind %s: its objects are not reconciled, unless another "+
				"program does", d.Spec.Names.Kind)
		}
	}
	return nil
}
