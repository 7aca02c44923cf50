// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplanetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/bowline-dev/bowline/internal/testkit"
	"github.com/bowline-dev/bowline/pkg/crd"
	"github.com/bowline-dev/bowline/pkg/meta"
)

const requestLimit = 30 * time.Second // of Install, and of each request of New and its clean-up

// Env is the part of the server of one test.
type Env struct {
	Config    *rest.Config     // administrator's access; a copy of this Env's own
	Client    client.WithWatch // a client of Config without a cache
	Scheme    *runtime.Scheme  // of Client
	Namespace string           // of this test only
	Prefix    string           // unique prefix for names of cluster-scoped objects, such as "test-bucket-x7k2q-"
}

// Main installs CRDs in the run's server and runs the tests of a package. It returns the exit code: without a server 1, with the
// error on standard error.
func Main(m *testing.M, crds ...*apiextensionsv1.CustomResourceDefinition) int {
	config, err := shared()
	if err == nil {
		err = Install(context.Background(), config, crds...)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "controlplanetest:", err)
		return 1
	}
	return m.Run()
}

// Config returns the administrator's access to the run's server, for tests that need no namespace.
func Config(t testing.TB) *rest.Config {
	t.Helper()
	config, err := shared()
	if err != nil {
		t.Fatalf("controlplanetest: %v", err)
	}
	return rest.CopyConfig(config)
}

// New returns an environment whose client knows Kubernetes' own kinds, CustomResourceDefinition and unstructured objects.
// It creates objs in order, each with its status if it has one; namespaced objects without a namespace go to the test's
// own. When the test ends the namespace and objs are deleted.
func New(t testing.TB, objs ...client.Object) *Env {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), apiextensionsv1.AddToScheme(scheme)); err != nil {
		t.Fatalf("controlplanetest: building scheme: %v", err)
	}
	return NewWithScheme(t, scheme, objs...)
}

// NewWithScheme is New for a client that knows the caller's kinds. The scheme must know core/v1 too.
func NewWithScheme(t testing.TB, scheme *runtime.Scheme, objs ...client.Object) *Env {
	t.Helper()
	e := &Env{Config: Config(t), Scheme: scheme}
	var err error
	if e.Client, err = client.NewWithWatch(e.Config, client.Options{Scheme: scheme}); err != nil {
		t.Fatalf("controlplanetest: building client: %v", err)
	}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: nameOf(t)}}
	e.create(t, ns)
	e.Namespace, e.Prefix = ns.Name, ns.Name+"-"
	for _, obj := range objs {
		namespaced, err := e.Client.IsObjectNamespaced(obj)
		if err != nil {
			t.Fatalf("controlplanetest: looking up %T: %v", obj, err)
		}
		if namespaced && obj.GetNamespace() == "" {
			obj.SetNamespace(e.Namespace)
		}
		e.create(t, obj)
	}
	return e
}

var notInNames = regexp.MustCompile("[^a-z0-9]")

// nameOf returns a test's name in the alphabet of namespaces, short enough for a random end and further parts.
func nameOf(t testing.TB) string {
	name := notInNames.ReplaceAllString(strings.ToLower(strings.TrimPrefix(t.Name(), "Test")), "-")
	return "test-" + strings.Trim(name[:min(20, len(name))], "-") + "-"
}

func (e *Env) create(t testing.TB, obj client.Object) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), requestLimit)
	defer cancel()
	wanted := obj.DeepCopyObject()
	if err := e.Client.Create(ctx, obj); err != nil {
		t.Fatalf("controlplanetest: creating %T %s: %v", obj, client.ObjectKeyFromObject(obj), err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), requestLimit) // the test's own context has ended
		defer cancel()
		if err := e.Client.Delete(ctx, obj); client.IgnoreNotFound(err) != nil {
			t.Errorf("controlplanetest: deleting %T %s: %v", obj, client.ObjectKeyFromObject(obj), err)
		}
	})
	if err := e.writeStatus(ctx, obj, wanted); err != nil {
		t.Fatalf("controlplanetest: writing status of %T %s: %v", obj, client.ObjectKeyFromObject(obj), err)
	}
}

// writeStatus writes the status of an object, which a create drops if status is a subresource.
func (e *Env) writeStatus(ctx context.Context, obj client.Object, wanted runtime.Object) error {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(wanted)
	if err != nil {
		return fmt.Errorf("encoding: %w", err)
	}
	status, ok := content["status"].(map[string]any)
	if !ok || isEmpty(status) {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"status": status})
	if err != nil {
		return fmt.Errorf("encoding: %w", err)
	}
	err = e.Client.Status().Patch(ctx, obj, client.RawPatch(types.MergePatchType, patch))
	return client.IgnoreNotFound(err) // not found if status is no subresource: the create kept it
}

// isEmpty reports whether a value has only empty fields, which some types write.
func isEmpty(value any) bool {
	switch v := value.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case map[string]any:
		for _, inner := range v {
			if !isEmpty(inner) {
				return false
			}
		}
		return true
	case []any:
		return len(v) == 0
	}
	return false
}

// Eventually calls check until it returns nil, and fails the test with its last error after fifty seconds. It logs why it waits.
func (e *Env) Eventually(t testing.TB, what string, check func(ctx context.Context) error) {
	t.Helper()
	testkit.Eventually(t, what, func() error { return check(t.Context()) })
}

// InForce waits until a rule applies to a user, in a namespace or, if that is empty, in the cluster. The server reads new roles and
// bindings after a moment. It checks the first group, resource and verb of the rule.
func (e *Env) InForce(t testing.TB, user, namespace string, rule rbacv1.PolicyRule) {
	t.Helper()
	e.Eventually(t, "the rules of "+user+" are in force", func(ctx context.Context) error {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: user,
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Namespace: namespace, Group: rule.APIGroups[0], Version: "*", Resource: rule.Resources[0], Verb: rule.Verbs[0],
			},
		}}
		if err := e.Client.Create(ctx, review); err != nil {
			return err
		}
		if !review.Status.Allowed {
			return fmt.Errorf("may not %s %s yet", rule.Verbs[0], rule.Resources[0])
		}
		return nil
	})
}

// Uninstall has the definitions whose groups begin with a prefix of this test deleted when it ends, with their objects, whatever finalizers these
// have, and although tests of another package may have the server protect definitions: it describes all kinds anew for each change of one, so that
// hundreds of them take gigabytes, and seconds.
func (e *Env) Uninstall(t testing.TB, prefix string) {
	t.Helper()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), requestLimit)
		defer cancel()
		if err := e.uninstall(ctx, prefix); err != nil {
			t.Errorf("controlplanetest: deleting definitions of %s: %v", prefix, err)
		}
	})
}

func (e *Env) uninstall(ctx context.Context, prefix string) (failed error) {
	names := &metav1.PartialObjectMetadataList{}
	names.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinitionList"))
	if err := e.Client.List(ctx, names); err != nil {
		return err
	}
	for _, of := range names.Items {
		if _, group, _ := strings.Cut(of.Name, "."); !strings.HasPrefix(group, prefix) {
			continue
		}
		definition, objects := &apiextensionsv1.CustomResourceDefinition{}, &metav1.PartialObjectMetadataList{}
		err := e.Client.Get(ctx, client.ObjectKeyFromObject(&of), definition)
		if err == nil {
			objects.SetGroupVersionKind(schema.GroupVersionKind{
				Group: definition.Spec.Group, Version: definition.Spec.Versions[0].Name, Kind: definition.Spec.Names.ListKind,
			})
			err = e.Client.List(ctx, objects)
		}
		for _, object := range objects.Items {
			if len(object.Finalizers) > 0 {
				finalized := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
				err = errors.Join(err, client.IgnoreNotFound(e.Client.Patch(ctx, &object, finalized)))
			}
		}
		if err == nil {
			permitted := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"annotations":{%q:"true"}}}`, meta.AnnotationKeyAllowDeletion))
			err = e.Client.Patch(ctx, definition, permitted)
		}
		if err == nil {
			err = e.Client.Delete(ctx, definition)
		}
		failed = errors.Join(failed, client.IgnoreNotFound(err))
	}
	return failed
}

// Install applies CRDs and waits until they are served. Every package of a test run may install the same ones.
func Install(ctx context.Context, config *rest.Config, crds ...*apiextensionsv1.CustomResourceDefinition) error {
	if len(crds) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, requestLimit)
	defer cancel()
	report, err := crd.Apply(ctx, config, crds...)
	if err == nil && len(report.Skipped) > 0 {
		err = errors.New(report.String())
	}
	return err
}

// Run runs a function, such as a server, until the test ends or stop is called, which returns when the function has returned. Objects
// that are created after Run are deleted while it still runs. An error of the function fails the test.
func Run(t testing.TB, run func(context.Context) error) (stop func()) {
	t.Helper()
	life, end := context.WithCancel(context.Background()) // the test's own ends before its clean-up
	ended := make(chan error, 1)
	go func() {
		defer end()
		ended <- run(life)
	}()
	stop = sync.OnceFunc(func() {
		end()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// RunManager creates a manager, calls setup to add controllers, and runs it as Run does. It returns when the caches are synced.
// Defaults for tests: no metrics, no log, no warnings of the API server, no unique names of controllers, and queues without
// priorities, since shutting down a busy priority queue of controller-runtime 0.24 may take half a minute.
func RunManager(t testing.TB, config *rest.Config, o manager.Options, setup func(manager.Manager) error) (stop func()) {
	t.Helper()
	config = rest.CopyConfig(config)
	config.WarningHandlerWithContext = rest.NoWarnings{}
	if o.Metrics.BindAddress == "" {
		o.Metrics.BindAddress = "0"
	}
	if o.Logger.GetSink() == nil {
		o.Logger = logr.Discard()
	}
	if o.Controller.SkipNameValidation == nil {
		o.Controller.SkipNameValidation = new(true)
	}
	if o.Controller.UsePriorityQueue == nil {
		o.Controller.UsePriorityQueue = new(false)
	}
	mgr, err := manager.New(config, o)
	if err != nil {
		t.Fatalf("controlplanetest: creating manager: %v", err)
	}
	if err := setup(mgr); err != nil {
		t.Fatalf("controlplanetest: setting up manager: %v", err)
	}
	synced := make(chan bool, 1)
	stop = Run(t, func(ctx context.Context) error {
		go func() { synced <- mgr.GetCache().WaitForCacheSync(ctx) }()
		return mgr.Start(ctx)
	})
	if !<-synced {
		t.Fatal("controlplanetest: the manager ended before its caches were filled")
	}
	return stop
}
