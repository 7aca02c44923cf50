// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package external_test

import (
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	kube "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/internal/testkit/mirror"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource/unstructured"
	"github.com/bowline-dev/bowline/pkg/terraform/external"
	"github.com/bowline-dev/bowline/pkg/terraform/journal"
	"github.com/bowline-dev/bowline/pkg/terraform/kinds"
	"github.com/bowline-dev/bowline/pkg/terraform/plugin"
	"github.com/bowline-dev/bowline/pkg/terraform/processes"
	"github.com/bowline-dev/bowline/pkg/terraform/state"
)

func TestMain(m *testing.M) {
	journal.Main()
	ctrl.SetLogger(logr.Discard())
	_ = flag.Set("test.parallel", "6") // tests mostly wait for providers
	if os.Getenv(variableControllers) != "" {
		os.Exit(m.Run())
	}
	os.Exit(controlplanetest.Main(m))
}

// A stage is an API server with the kinds of a Terraform provider whose objects are files in a folder.
type stage struct {
	*controlplanetest.Env
	t       *testing.T
	name    string // of the provider in groups
	program string // reef or shoal
	folder  string
	notes   string
	unnoted bool          // there is no journal
	leaves  bool          // changes to the journal
	wears   bool          // processes are replaced when they have grown a little
	window  time.Duration // in which a creation without an answer may appear; zero: 2s
	schemas *plugin.Schemas
	// settings are for the types of findable. Their connection keys are endpoint and address.
	settings external.TypeSettings
	only     string   // the type of findable that has them; empty: all
	types    []string // without the provider
}

// findable are the types with a name and tags.
var findable = map[string]bool{"berth": true, "pier": true, "beacon": true, "mooring": true}

// newStage installs the kinds of types of reef, of protocol 6, or shoal, of protocol 5: berths, where a test names none. Others would keep
// the API server busy.
func newStage(t *testing.T, program string, types ...string) *stage {
	t.Helper()
	s := &stage{Env: controlplanetest.New(t), t: t, program: program, folder: t.TempDir(), notes: filepath.Join(t.TempDir(), "notes"), types: types}
	if len(types) == 0 {
		s.types = []string{"berth"}
	}
	s.name = program + "-" + s.Namespace[max(0, len(s.Namespace)-20):]
	s.Uninstall(t, s.name)
	s.readSchemas()
	definitions, err := kinds.ConfigDefinitions(s.name, s.schemas.Provider)
	s.must(err)
	for _, name := range s.types {
		if schema := s.schemas.Resources[program+"_"+name]; schema != nil {
			of, err := kinds.Definitions(s.name, program+"_"+name, schema)
			s.must(err)
			definitions = append(definitions, slices.DeleteFunc(of, isSpare)...)
		}
	}
	s.must(controlplanetest.Install(t.Context(), s.Config, definitions...))
	s.create(s.object("ProviderConfig", "default", map[string]any{"configuration": map[string]any{"folder": s.folder}}))
	return s
}

// isSpare is true for definitions that no test uses: in namespaces there are anchors and beacons only.
func isSpare(d *apiextensionsv1.CustomResourceDefinition) bool {
	return d.Spec.Scope == apiextensionsv1.NamespaceScoped && d.Spec.Names.Kind != "Anchor" && d.Spec.Names.Kind != "Beacon"
}

// readSchemas asks a process of the provider for its schemas.
func (s *stage) readSchemas() {
	s.t.Helper()
	process, err := plugin.Start(s.t.Context(), plugin.Command{Path: mirror.Program(s.t, s.program)})
	s.must(err)
	defer process.Close()
	s.schemas, err = process.Schemas(s.t.Context(), func(string) bool { return true })
	s.must(err)
}

// of is the stage for a part of its test.
func (s *stage) of(t *testing.T) *stage {
	part := *s
	part.t = t
	return &part
}

func (s *stage) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// run runs the controllers in a process of their own, as far as its memory is concerned, until stop.
func (s *stage) run(wrap ...func(*rest.Config) *rest.Config) (stop func()) {
	s.t.Helper()
	config := rest.CopyConfig(s.Config)
	for _, w := range wrap {
		config = w(config)
	}
	notes, err := journal.Open(s.notes)
	s.must(err)
	if s.unnoted {
		notes = nil
	}
	scheme := runtime.NewScheme()
	s.must(corev1.AddToScheme(scheme))
	return controlplanetest.RunManager(s.t, config, ctrl.Options{Scheme: scheme, Cache: managed.CacheOptions()}, func(mgr ctrl.Manager) error {
		source := &processes.Source{Journal: notes, Leaves: s.leaves, Log: mgr.GetLogger()}
		if s.wears {
			source.Wear = processes.Wear{Passes: 10, Growth: 0.01}
		}
		source.Use(&processes.Binary{Path: mirror.Program(s.t, s.program), Schemas: s.schemas})
		b := external.NewBridge(s.name, source, state.NewStore(unstructured.ClientOf(mgr), mgr.GetAPIReader(), s.Namespace), mgr.GetScheme())
		p, err := b.Provider(s.schemas)
		if err != nil {
			return err
		}
		for _, name := range s.types {
			if of := s.schemas.Resources[s.program+"_"+name]; of != nil {
				settings := external.TypeSettings{ConnectionKeys: []string{"endpoint", "address"}}
				if findable[name] && (s.only == "" || s.only == name) {
					settings.ImportID, settings.Ownership, settings.AbsentAfter = s.settings.ImportID, s.settings.Ownership, s.settings.AbsentAfter
					if settings.Ownership != "" && s.schemas.Lists[s.program+"_"+name] != nil {
						settings.ListConfig = s.settings.ListConfig
					}
				}
				rows, definitions, err := b.Serve(s.schemas.Resource(s.program+"_"+name), settings)
				if err != nil {
					return err
				}
				for i, d := range definitions {
					if !isSpare(d) {
						p.Kinds, p.Defined = append(p.Kinds, rows[i]), append(p.Defined, d)
					}
				}
			}
		}
		return p.SetupWithManager(mgr, managed.WithPollInterval(100*time.Millisecond), managed.WithBackoff(50*time.Millisecond, time.Second),
			managed.WithConsistencyWindow(cmp.Or(s.window, 2*time.Second)), managed.WithCreationGracePeriod(100*time.Millisecond))
	})
}

// object is a cluster-scoped object of a kind of the provider.
func (s *stage) object(kind, name string, spec map[string]any) *unstructured.Managed {
	o := unstructured.New(schema.GroupVersionKind{Group: s.name + ".tf.bowline.dev", Version: kinds.Version, Kind: kind})
	o.SetName(name)
	o.Object["spec"] = spec
	return o
}

func (s *stage) berth(name string, size int64) *unstructured.Managed {
	return s.object("Berth", name, map[string]any{
		"forProvider":                map[string]any{"name": name, "size": size},
		"writeConnectionSecretToRef": map[string]any{"namespace": s.Namespace, "name": name},
	})
}

func (s *stage) create(all ...*unstructured.Managed) {
	s.t.Helper()
	for _, o := range all {
		s.must(s.Client.Create(s.t.Context(), o.GetUnstructured()))
	}
}

// edit changes an object.
func (s *stage) edit(o *unstructured.Managed, change func(map[string]any)) {
	s.t.Helper()
	s.read(o)
	before := o.GetUnstructured().DeepCopy()
	change(o.Object)
	s.must(s.Client.Patch(s.t.Context(), o.GetUnstructured(), client.MergeFrom(before)))
}

func (s *stage) read(o *unstructured.Managed) {
	s.t.Helper()
	s.must(s.Client.Get(s.t.Context(), client.ObjectKeyFromObject(o), o.GetUnstructured()))
}

func set(o map[string]any, value any, path ...string) {
	if err := kube.SetNestedField(o, value, path...); err != nil {
		panic(err)
	}
}

// eventually waits until an object is as a check wants it.
func (s *stage) eventually(o *unstructured.Managed, what string, check func() error) {
	s.t.Helper()
	s.Eventually(s.t, what, func(context.Context) error {
		if err := s.Client.Get(s.t.Context(), client.ObjectKeyFromObject(o), o.GetUnstructured()); err != nil {
			return err
		}
		return check()
	})
}

// watch returns what is stored of an object from now on, up to its end.
func (s *stage) watch(o *unstructured.Managed) iter.Seq[*unstructured.Managed] {
	s.t.Helper()
	list := &kube.UnstructuredList{}
	list.SetGroupVersionKind(o.GroupVersionKind())
	w, err := s.Client.Watch(s.t.Context(), list, client.MatchingFields{"metadata.name": o.GetName()})
	s.must(err)
	return func(yield func(*unstructured.Managed) bool) {
		defer w.Stop()
		for e := range w.ResultChan() {
			stored, ok := e.Object.(*kube.Unstructured)
			if !ok || e.Type == watch.Deleted || !yield(&unstructured.Managed{Unstructured: *stored}) {
				return
			}
		}
	}
}

// ready waits until an object is Ready and Synced in its present form.
func (s *stage) ready(all ...*unstructured.Managed) {
	s.t.Helper()
	for _, o := range all {
		s.eventually(o, o.GetName()+" is ready", func() error { return s.isReady(o) })
	}
}

func (s *stage) isReady(o *unstructured.Managed) error {
	for _, of := range []xpv1.ConditionType{xpv1.TypeSynced, xpv1.TypeReady} {
		if c := o.GetCondition(of); c.Status != corev1.ConditionTrue || c.ObservedGeneration != o.GetGeneration() {
			return fmt.Errorf("%s: %s: %s", c.Type, c.Reason, c.Message)
		}
	}
	return nil
}

func (s *stage) delete(all ...*unstructured.Managed) {
	s.t.Helper()
	for _, o := range all {
		s.must(client.IgnoreNotFound(s.Client.Delete(s.t.Context(), o.GetUnstructured())))
	}
}

func (s *stage) gone(all ...*unstructured.Managed) {
	s.t.Helper()
	for _, o := range all {
		s.Eventually(s.t, o.GetName()+" is gone", func(ctx context.Context) error {
			err := s.Client.Get(ctx, client.ObjectKeyFromObject(o), o.GetUnstructured())
			if err == nil {
				c := o.GetCondition(xpv1.TypeSynced)
				return fmt.Errorf("it exists: %s: %s; %s", c.Reason, c.Message, o.GetCondition(xpv1.TypeReady).Message)
			}
			return client.IgnoreNotFound(err)
		})
	}
}

// files are what exists outside of a type, by id.
func (s *stage) files(of string) map[string]map[string]any {
	s.t.Helper()
	paths, err := filepath.Glob(filepath.Join(s.folder, s.program+"_"+of, "*.json"))
	s.must(err)
	found := map[string]map[string]any{}
	for _, path := range paths {
		content, err := os.ReadFile(path)
		s.must(err)
		object := map[string]any{}
		s.must(json.Unmarshal(content, &object))
		found[strings.TrimSuffix(filepath.Base(path), ".json")] = object
	}
	return found
}

// writeFile makes or changes what exists outside of a type.
func (s *stage) writeFile(of string, object map[string]any) {
	s.t.Helper()
	content, err := json.Marshal(object)
	s.must(err)
	folder := filepath.Join(s.folder, s.program+"_"+of)
	s.must(os.MkdirAll(folder, 0o700))
	s.must(os.WriteFile(filepath.Join(folder, object["id"].(string)+".json"), content, 0o600))
}

// vanish deletes the external resource of a berth outside.
func (s *stage) vanish(o *unstructured.Managed) {
	s.t.Helper()
	s.must(os.Remove(filepath.Join(s.folder, s.program+"_berth", meta.GetExternalName(o)+".json")))
}

// faults has calls of the external system fail.
func (s *stage) faults(all ...map[string]any) {
	s.t.Helper()
	content, err := json.Marshal(all)
	s.must(err)
	s.must(os.WriteFile(filepath.Join(s.folder, "faults.json"), content, 0o600))
}

// calls are those of the external system, by verb.
func (s *stage) calls(verb string) (n int) {
	s.t.Helper()
	content, _ := os.ReadFile(filepath.Join(s.folder, "calls.log")) // none before the first
	for line := range strings.SplitSeq(string(content), "\n") {
		if fields := strings.Fields(line); len(fields) > 2 && fields[2] == verb {
			n++
		}
	}
	return n
}

// each runs a parallel test with types of both providers.
func each(t *testing.T, run func(t *testing.T, s *stage), types ...string) {
	t.Parallel()
	for _, program := range []string{"reef", "shoal"} {
		t.Run(program, func(t *testing.T) {
			t.Parallel()
			run(t, newStage(t, program, types...))
		})
	}
}
