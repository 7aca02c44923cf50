// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package fcp_test

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/pkg/resource"
	"github.com/bowline-dev/bowline/providers/fcp"
)

// A recorder is a manager that remembers the names of the controllers that were added to it.
type recorder struct {
	ctrl.Manager
	names []string
}

// Add satisfies ctrl.Manager. Controllers are told from what else is added by their name.
func (r *recorder) Add(runnable manager.Runnable) error {
	if v := reflect.Indirect(reflect.ValueOf(runnable)); v.Kind() == reflect.Struct {
		if name := v.FieldByName("Name"); name.IsValid() && name.Kind() == reflect.String {
			r.names = append(r.names, name.String())
		}
	}
	return r.Manager.Add(runnable)
}

// One call adds all controllers of the provider to a manager.
func TestSetupWithManager(t *testing.T) {
	t.Parallel()
	s := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(s); err != nil {
		t.Fatal(err)
	}
	if err := fcp.Provider().AddToScheme(s); err != nil {
		t.Fatal(err)
	}
	mgr, err := ctrl.NewManager(controlplanetest.Config(t), ctrl.Options{
		Scheme:     s,
		Logger:     logr.Discard(),
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: new(true)}, // the process has other managers with the same controllers
	})
	if err != nil {
		t.Fatal(err)
	}
	r := &recorder{Manager: mgr}
	if err := fcp.Provider().SetupWithManager(r); err != nil {
		t.Fatal(err)
	}
	t.Run("A73 R9 every kind has a controller", func(t *testing.T) {
		for gvk, typ := range s.AllKnownTypes() {
			object := reflect.New(typ).Interface()
			_, isManaged := object.(resource.Managed)
			_, isConfig := object.(resource.ProviderConfig)
			if name := strings.ToLower(gvk.Kind + "." + gvk.Group); (isManaged || isConfig) && !slices.Contains(r.names, name) {
				t.Errorf("no controller %s among %v", name, r.names)
			}
		}
	})
	t.Run("R15 all names differ", func(t *testing.T) {
		names := slices.Sorted(slices.Values(r.names))
		if unique := slices.Compact(slices.Clone(names)); len(names) == 0 || len(unique) != len(names) {
			t.Errorf("names %v", names)
		}
	})
}

// Controllers are built by packages provider and clients with the builder, and those of managed kinds see all events of their kind.
func TestBuilder(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../pkg/provider/*.go")
	watches, errWatches := filepath.Glob("../../pkg/clients/*.go")
	if err := errors.Join(err, errWatches); err != nil {
		t.Fatal(err)
	}
	called := map[string]int{}
	for _, name := range slices.Concat(files, watches) {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				if f, ok := call.Fun.(*ast.SelectorExpr); ok {
					called[f.Sel.Name]++
				}
			}
			return true
		})
	}
	t.Run("T41 with the builder", func(t *testing.T) {
		t.Parallel()
		for _, f := range []string{"NewControllerManagedBy", "Named", "For", "Watches", "Complete"} {
			if called[f] == 0 {
				t.Errorf("nothing calls %s", f)
			}
		}
		for _, f := range []string{"NewUnmanaged", "NewTypedUnmanaged", "NewTyped"} {
			if called[f] > 0 {
				t.Errorf("a controller is made by %s", f)
			}
		}
	})
	t.Run("T42 without an event filter", func(t *testing.T) {
		t.Parallel()
		if called["WithEventFilter"] > 0 {
			t.Error("an event filter holds back changes of managed resources")
		}
	})
}
