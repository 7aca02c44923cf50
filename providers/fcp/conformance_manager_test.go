// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package fcp_test

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
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
	t.Run("every kind has a controller (A73, R9)", func(t *testing.T) {
		for gvk, typ := range s.AllKnownTypes() {
			object := reflect.New(typ).Interface()
			_, isManaged := object.(resource.Managed)
			_, isConfig := object.(resource.ProviderConfig)
			if name := strings.ToLower(gvk.Kind + "." + gvk.Group); (isManaged || isConfig) && !slices.Contains(r.names, name) {
				t.Errorf("no controller %s among %v", name, r.names)
			}
		}
	})
	t.Run("all names differ (R15)", func(t *testing.T) {
		names := slices.Sorted(slices.Values(r.names))
		if unique := slices.Compact(slices.Clone(names)); len(names) == 0 || len(unique) != len(names) {
			t.Errorf("names %v", names)
		}
	})
}

// Packages provider and clients create controllers with the builder, and without filters of events.
func TestBuilder(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../pkg/provider/*.go")
	watches, errWatches := filepath.Glob("../../pkg/clients/*.go")
	if err := errors.Join(err, errWatches); err != nil {
		t.Fatal(err)
	}
	var source strings.Builder
	for _, name := range slices.Concat(files, watches) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		source.Write(text)
	}
	for call, want := range map[string]bool{
		"NewControllerManagedBy (T41)": true, "Named (T41)": true, "For (T41)": true, "Watches (T41)": true, "Complete (T41)": true,
		"NewUnmanaged (T41)": false, "NewTypedUnmanaged (T41)": false, "NewTyped (T41)": false, "WithEventFilter (T42)": false,
	} {
		t.Run(call, func(t *testing.T) {
			t.Parallel()
			name, _, _ := strings.Cut(call, " ")
			if found := regexp.MustCompile(`\.\s*` + name + `\(`).MatchString(source.String()); found != want {
				t.Errorf("called: %t, want %t", found, want)
			}
		})
	}
}
