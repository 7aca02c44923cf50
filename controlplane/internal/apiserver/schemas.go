// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/emicklei/go-restful/v3"
	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	listers "k8s.io/apiextensions-apiserver/pkg/client/listers/apiextensions/v1"
	specs "k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/mux"
	"k8s.io/apiserver/pkg/server/routes"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/handler3"
	"k8s.io/kube-openapi/pkg/spec3"

	"github.com/bowline-dev/bowline/controlplane/internal/outlines"
)

const schemasPath = "/openapi/v3"

// schemas serves OpenAPI v3. It builds the documents when they are asked for, as kubectl does: they take half a second of processor time
// and much memory.
type schemas struct {
	config   *common.OpenAPIV3Config
	servers  []*genericapiserver.GenericAPIServer // of built-in kinds
	custom   listers.CustomResourceDefinitionLister
	outlines *outlines.Outlines

	mu      sync.Mutex
	mux     *mux.PathRecorderMux // nil before the first request
	service *handler3.OpenAPIService
	states  map[string]string // of the definitions in each document of custom kinds, by path
}

func (s *schemas) install(at *mux.PathRecorderMux) {
	at.Handle(schemasPath, s)
	at.HandlePrefix(schemasPath+"/", s)
}

// ServeHTTP implements http.Handler.
func (s *schemas) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := s.update(); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	s.mux.ServeHTTP(w, r)
}

// update registers what is built when its path is read, or the list of all.
func (s *schemas) update() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mux == nil {
		s.mux, s.states = mux.NewPathRecorderMux("openapi"), map[string]string{}
		s.service = routes.OpenAPI{V3Config: s.config}.InstallV3(s.builtins(), s.mux)
	}
	all, err := s.custom.List(labels.Everything())
	if err != nil {
		return err
	}
	versions := served(all)
	for path, definitions := range versions {
		state := definitions.state()
		if s.states[path] != state {
			names, version := definitions.names(), definitions.version
			s.service.UpdateGroupVersionLazy(path, &document{build: func() (*spec3.OpenAPI, error) { return s.build(names, version) }, state: state})
			s.states[path] = state
		}
	}
	for path := range s.states {
		if _, ok := versions[path]; !ok {
			s.service.DeleteGroupVersion(path)
			delete(s.states, path)
		}
	}
	return nil
}

// builtins holds the web services of all servers, each path once.
func (s *schemas) builtins() *restful.Container {
	all, seen := restful.NewContainer(), map[string]bool{}
	for _, server := range s.servers {
		for _, service := range server.Handler.GoRestfulContainer.RegisteredWebServices() {
			if path := service.RootPath(); !seen[path] {
				seen[path] = true
				all.Add(service)
			}
		}
	}
	return all
}

// A groupVersion is the definitions that serve kinds of one version of a group.
type groupVersion struct {
	version     string
	definitions []*apiextensionsv1.CustomResourceDefinition
}

// served returns the definitions of the documents, by path.
func served(all []*apiextensionsv1.CustomResourceDefinition) map[string]groupVersion {
	found := map[string]groupVersion{}
	for _, d := range all {
		for _, v := range d.Spec.Versions {
			if v.Served && apihelpers.IsCRDConditionTrue(d, apiextensionsv1.Established) {
				path := "apis/" + d.Spec.Group + "/" + v.Name
				found[path] = groupVersion{v.Name, append(found[path].definitions, d)}
			}
		}
	}
	for _, g := range found {
		slices.SortFunc(g.definitions, func(a, b *apiextensionsv1.CustomResourceDefinition) int { return cmp.Compare(a.Name, b.Name) })
	}
	return found
}

func (g groupVersion) state() string {
	var all strings.Builder
	for _, d := range g.definitions {
		fmt.Fprintln(&all, d.Name, d.UID, d.Generation)
	}
	return all.String()
}

func (g groupVersion) names() (all []string) {
	for _, d := range g.definitions {
		all = append(all, d.Name)
	}
	return all
}

// build reads definitions and builds the document of one version of their kinds.
func (s *schemas) build(definitions []string, version string) (*spec3.OpenAPI, error) {
	var parts []*spec3.OpenAPI
	for _, name := range definitions {
		d, err := s.outlines.Whole(context.Background(), name) // for all who ask for the document
		if apierrors.IsNotFound(err) {
			continue // the next request builds another document
		}
		if err != nil {
			return nil, fmt.Errorf("reading the definition %s: %w", name, err)
		}
		part, err := specs.BuildOpenAPIV3(d, version, specs.Options{IncludeSelectableFields: true})
		if err != nil {
			return nil, fmt.Errorf("building the schema of %s: %w", name, err)
		}
		parts = append(parts, part)
	}
	return specs.MergeSpecsV3(parts...)
}

// A document is built when it is read, until that succeeds. It is a cached.Value.
type document struct {
	build func() (*spec3.OpenAPI, error)
	state string

	mu    sync.Mutex
	built *spec3.OpenAPI
}

// Get implements cached.Value.
func (d *document) Get() (_ *spec3.OpenAPI, etag string, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.built != nil {
		return d.built, d.state, nil
	}
	d.built, err = d.build()
	return d.built, d.state, err
}
