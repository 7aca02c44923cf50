// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bowline-dev/bowline/internal/testkit"
)

// TestServer checks, on one server, what users rely on Kubernetes for.
func TestServer(t *testing.T) {
	s := startServer(t, Config{})
	tests := map[string]func(*testing.T, *Server, client.WithWatch){
		"custom kinds are usable at once":       testAtOnce,
		"kinds that have objects (N83)":         testUsed,
		"rules of custom kinds hold":            testRules,
		"kinds that nobody asked for (N83)":     testUnused,
		"server-side apply":                     testApply,
		"watch":                                 testWatch,
		"watches of one kind that come and go":  testManyWatches,
		"service accounts and role aggregation": testAccounts,
		"default roles":                         testDefaultRoles,
		"built-in kinds":                        testBuiltins,
		"admission policies":                    testPolicies,
		"quotas count custom kinds":             testQuota,
		"garbage collection in the background":  testCascade(metav1.DeletePropagationBackground),
		"garbage collection in the foreground":  testCascade(metav1.DeletePropagationForeground),
		"garbage of an owner that never was":    testAbsentOwner,
		"namespaces":                            testNamespaces,
		"finalizers hold what is deleted (N82)": testFinalizers,
		"schemas and columns":                   testSchemas,
		"anonymous requests":                    testAnonymous,
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, s, newClient(t, s.RESTConfig()))
		})
	}
}

func testAtOnce(t *testing.T, _ *Server, c client.WithWatch) {
	namespace(t, c, "at-once")
	testkit.Promptly(t, 2*time.Second, func(n int) time.Duration { // the usual delay is five seconds
		kind := fmt.Sprintf("AtOnce%d", n)
		define(t, c, gadgets(kind))
		began := time.Now()
		must(t, c.Create(t.Context(), gadget(kind, "at-once", "g", 1)))
		return time.Since(began)
	})
}

// Kubernetes removes an object that gets its first finalizer while it is deleted.
func testFinalizers(t *testing.T, _ *Server, c client.WithWatch) {
	namespace(t, c, "finalizers")
	define(t, c, gadgets("Held"))
	for _, o := range []client.Object{gadget("Held", "finalizers", "g", 1), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "finalizers"}}} {
		for i := range 100 {
			o.SetName(fmt.Sprintf("o%d", i))
			o.SetResourceVersion("")
			must(t, c.Create(t.Context(), o))
			deleted := make(chan error)
			go func() { deleted <- c.Delete(t.Context(), o.DeepCopyObject().(client.Object)) }()
			time.Sleep(time.Duration(i%10) * 200 * time.Microsecond)
			held := o.DeepCopyObject().(client.Object)
			added := c.Patch(t.Context(), held, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":["example.org/hold"]}}`)))
			must(t, <-deleted)
			if added != nil {
				continue // the object was gone before
			}
			must(t, c.Get(t.Context(), client.ObjectKeyFromObject(o), held))
			if held.GetDeletionTimestamp() == nil {
				t.Fatalf("%T %s has a finalizer, and its deletion is forgotten", o, o.GetName())
			}
		}
		for _, collectors := range []string{metav1.FinalizerOrphanDependents, metav1.FinalizerDeleteDependents} {
			o.SetName(strings.ToLower(collectors))
			o.SetResourceVersion("")
			o.SetFinalizers([]string{collectors})
			must(t, c.Create(t.Context(), o))
			deletedAtOnce(t, c, o)
			o.SetFinalizers(nil)
		}
	}
}

// deletedAtOnce deletes an object that only the garbage collector holds. It watches, since that would release the object a moment later.
func deletedAtOnce(t *testing.T, c client.WithWatch, o client.Object) {
	t.Helper()
	kind, err := c.GroupVersionKindFor(o)
	must(t, err)
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	w, err := c.Watch(t.Context(), list, client.InNamespace(o.GetNamespace()), client.MatchingFields{"metadata.name": o.GetName()},
		&client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: o.GetResourceVersion()}})
	must(t, err)
	defer w.Stop()
	must(t, c.Delete(t.Context(), o, client.PropagationPolicy(metav1.DeletePropagationBackground)))
	select {
	case got := <-w.ResultChan():
		if got.Type != watch.Deleted {
			t.Errorf("%T with finalizers %v: %s", o, o.GetFinalizers(), got.Type)
		}
	case <-time.After(time.Minute):
		t.Errorf("%T with finalizers %v is not deleted", o, o.GetFinalizers())
	}
}

func testRules(t *testing.T, _ *Server, c client.WithWatch) {
	namespace(t, c, "rules")
	define(t, c, gadgets("Ruled"))
	if err := c.Create(t.Context(), gadget("Ruled", "rules", "big", 101)); err == nil || !strings.Contains(err.Error(), "too big") {
		t.Errorf("creating an object that breaks a rule: %v", err)
	}
	g := gadget("Ruled", "rules", "g", 5)
	must(t, c.Create(t.Context(), g))
	must(t, unstructured.SetNestedField(g.Object, int64(4), "spec", "size"))
	if err := c.Update(t.Context(), g); err == nil || !strings.Contains(err.Error(), "must not shrink") {
		t.Errorf("an update that breaks a transition rule: %v", err)
	}
}

// The server keeps no schema of a kind until the first request for it. A change brings the schema back before the request.
func testUnused(t *testing.T, _ *Server, c client.WithWatch) {
	namespace(t, c, "unused")
	kinds := map[string]func(*testing.T, *apiextensionsv1.CustomResourceDefinition){
		"Quiet": func(*testing.T, *apiextensionsv1.CustomResourceDefinition) {},
		"QuietlyChanged": func(t *testing.T, d *apiextensionsv1.CustomResourceDefinition) {
			spec := d.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
			spec.Properties["colour"] = apiextensionsv1.JSONSchemaProps{Type: "string", Default: &apiextensionsv1.JSON{Raw: []byte(`"red"`)}}
			must(t, c.Update(t.Context(), d))
		},
		"QuietlyReplaced": func(t *testing.T, d *apiextensionsv1.CustomResourceDefinition) {
			must(t, c.Delete(t.Context(), d))
			eventually(t, "the definition is gone", func(ctx context.Context) error {
				d.ResourceVersion, d.UID = "", ""
				return c.Create(ctx, d)
			})
		},
	}
	installed := map[string]*apiextensionsv1.CustomResourceDefinition{}
	for kind := range kinds {
		d := gadgets(kind)
		must(t, c.Create(t.Context(), d))
		eventually(t, kind+" is established", func(ctx context.Context) error {
			err := c.Get(ctx, client.ObjectKeyFromObject(d), d)
			if err == nil && !apihelpers.IsCRDConditionTrue(d, apiextensionsv1.Established) {
				err = errors.New("it is not")
			}
			return err
		})
		installed[kind] = d
	}
	time.Sleep(3 * time.Second) // the server drops the schemas after one
	for kind, change := range kinds {
		change(t, installed[kind])
		eventually(t, "the rules of "+kind+" hold", func(ctx context.Context) error {
			if err := c.Create(ctx, gadget(kind, "unused", "big", 101)); err == nil || !strings.Contains(err.Error(), "too big") {
				return fmt.Errorf("creating an object that breaks a rule: %w", err)
			}
			g := gadget(kind, "unused", "g", 5)
			must(t, unstructured.SetNestedField(g.Object, "x", "spec", "unknown"))
			if err := c.Create(ctx, g); err != nil {
				return err
			}
			_, unknown := g.Object["spec"].(map[string]any)["unknown"]
			_, colour := g.Object["spec"].(map[string]any)["colour"]
			if unknown || colour != (kind == "QuietlyChanged") {
				return errors.Join(fmt.Errorf("%s has %v", kind, g.Object["spec"]), c.Delete(ctx, g))
			}
			return nil
		})
	}
}

func testApply(t *testing.T, _ *Server, c client.WithWatch) {
	namespace(t, c, "apply")
	define(t, c, gadgets("Applied"))
	apply := func(owner string, size int64) error {
		return c.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(gadget("Applied", "apply", "g", size)), client.FieldOwner(owner))
	}
	must(t, apply("anna", 1))
	must(t, apply("anna", 2))
	if err := apply("bert", 3); !apierrors.IsConflict(err) {
		t.Errorf("applying another's field: want a conflict, got %v", err)
	}
}

func testWatch(t *testing.T, _ *Server, c client.WithWatch) {
	namespace(t, c, "watch")
	define(t, c, gadgets("Watched"))
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion(testGroup + "/v1")
	list.SetKind("WatchedList")
	w, err := c.Watch(t.Context(), list, client.InNamespace("watch"))
	must(t, err)
	defer w.Stop()
	g := gadget("Watched", "watch", "g", 1)
	must(t, c.Create(t.Context(), g))
	must(t, c.Delete(t.Context(), g))
	for _, want := range []watch.EventType{watch.Added, watch.Deleted} {
		select {
		case got := <-w.ResultChan():
			if got.Type != want {
				t.Fatalf("want %s, got %s", want, got.Type)
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("no %s event", want)
		}
	}
}

// accountConfig returns access with a token of a new service account.
func accountConfig(t *testing.T, s *Server, c client.Client, namespace, name string) *rest.Config {
	t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	must(t, c.Create(t.Context(), account))
	request := &authenticationv1.TokenRequest{}
	must(t, c.SubResource("token").Create(t.Context(), account, request))
	config := rest.AnonymousClientConfig(s.RESTConfig())
	config.BearerToken = request.Status.Token
	return config
}

// testManyWatches checks that a watch goes on while many others of its kind begin and end at once.
func testManyWatches(t *testing.T, _ *Server, c client.WithWatch) {
	namespace(t, c, "many-watches")
	o := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "many-watches", Name: "counter"}}
	must(t, c.Create(t.Context(), o))
	stays, err := c.Watch(t.Context(), &corev1.ConfigMapList{}, client.InNamespace(o.Namespace))
	must(t, err)
	defer stays.Stop()
	for round := range 10 {
		ctx, cancel := context.WithCancel(t.Context())
		for range 60 {
			_, err := c.Watch(ctx, &corev1.ConfigMapList{}, client.InNamespace(o.Namespace))
			must(t, err)
		}
		cancel()
		o.Data = map[string]string{"round": fmt.Sprint(round)}
		must(t, c.Update(t.Context(), o))
		for seen := ""; seen != o.Data["round"]; {
			select {
			case event := <-stays.ResultChan():
				if m, ok := event.Object.(*corev1.ConfigMap); ok {
					seen = m.Data["round"]
				}
			case <-time.After(20 * time.Second):
				t.Fatalf("the watch got no event in round %d", round)
			}
		}
	}
}

func testAccounts(t *testing.T, s *Server, c client.WithWatch) {
	namespace(t, c, "accounts")
	define(t, c, gadgets("Guarded"))
	user := newClient(t, accountConfig(t, s, c, "accounts", "user"))
	err := user.Create(t.Context(), gadget("Guarded", "accounts", "g", 1))
	if !apierrors.IsForbidden(err) {
		t.Fatalf("a service account without a role: want forbidden, got %v", err)
	}
	must(t, c.Create(t.Context(), &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "guardeds-edit", Labels: map[string]string{"rbac.authorization.k8s.io/aggregate-to-edit": "true"}},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{testGroup}, Resources: []string{"guardeds"}, Verbs: []string{"create"}}},
	}))
	must(t, c.Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: "accounts", Name: "user-edits"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "edit"},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: "accounts", Name: "user"}},
	}))
	eventually(t, "the rule is aggregated to role edit", func(ctx context.Context) error {
		return client.IgnoreAlreadyExists(user.Create(ctx, gadget("Guarded", "accounts", "g", 1)))
	})
}

func testDefaultRoles(t *testing.T, _ *Server, c client.WithWatch) {
	for _, name := range []string{"cluster-admin", "admin", "edit", "view", "system:discovery", "system:basic-user", "system:public-info-viewer"} {
		role := &rbacv1.ClusterRole{}
		must(t, c.Get(t.Context(), client.ObjectKey{Name: name}, role))
		if len(role.Rules) == 0 {
			t.Errorf("cluster role %s has no rules when the server is ready", name)
		}
	}
}

func testBuiltins(t *testing.T, _ *Server, c client.WithWatch) {
	namespace(t, c, "builtins")
	where := metav1.ObjectMeta{Namespace: "builtins", Name: "x"}
	for _, obj := range []client.Object{
		&corev1.Secret{ObjectMeta: where, StringData: map[string]string{"k": "v"}},
		&corev1.ConfigMap{ObjectMeta: where},
		&coordinationv1.Lease{ObjectMeta: where},
		&corev1.Event{ObjectMeta: where, InvolvedObject: corev1.ObjectReference{Namespace: "builtins"}},
	} {
		if err := c.Create(t.Context(), obj); err != nil {
			t.Errorf("creating %T: %v", obj, err)
		}
	}
	eventually(t, "the root certificate is published", func(ctx context.Context) error {
		return c.Get(ctx, client.ObjectKey{Namespace: "builtins", Name: "kube-root-ca.crt"}, &corev1.ConfigMap{})
	})
	if err := c.List(t.Context(), &corev1.PodList{}); !meta.IsNoMatchError(err) {
		t.Errorf("pods must not be served: %v", err)
	}
}

func testPolicies(t *testing.T, _ *Server, c client.WithWatch) {
	namespace(t, c, "policies")
	policy := &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "no-forbidden-names"},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
				Operations: []admissionv1.OperationType{admissionv1.Create},
				Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
			}}}},
			Validations: []admissionv1.Validation{{Expression: "object.metadata.name != 'forbidden'"}},
		},
	}
	must(t, c.Create(t.Context(), policy))
	must(t, c.Create(t.Context(), &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "no-forbidden-names"},
		Spec:       admissionv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: policy.Name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny}},
	}))
	eventually(t, "the policy denies", func(ctx context.Context) error {
		forbidden := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "policies", Name: "forbidden"}}
		if err := c.Create(ctx, forbidden); apierrors.IsInvalid(err) {
			return nil
		} else if err != nil {
			return err
		}
		return errors.Join(errors.New("it was admitted"), c.Delete(ctx, forbidden))
	})
}

func testQuota(t *testing.T, _ *Server, c client.WithWatch) {
	namespace(t, c, "quota")
	define(t, c, gadgets("Counted"))
	const counted = corev1.ResourceName("count/counteds." + testGroup)
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: "quota", Name: "q"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{counted: resource.MustParse("1"), "count/secrets": resource.MustParse("1")}},
	}
	must(t, c.Create(t.Context(), quota))
	used := func(want int64) func(context.Context) error {
		return func(ctx context.Context) error {
			must(t, c.Get(ctx, client.ObjectKeyFromObject(quota), quota))
			if got, ok := quota.Status.Used[counted]; !ok || got.Value() != want {
				return fmt.Errorf("used is %v, want %d", quota.Status.Used, want)
			}
			return nil
		}
	}
	// Admission counts by optimistic writes, and returns a conflict when the quota's controller counts at the same time.
	create := func(o client.Object) error {
		return retry.RetryOnConflict(retry.DefaultBackoff, func() error { return c.Create(t.Context(), o) })
	}
	eventually(t, "the quota is counted", used(0))
	first := gadget("Counted", "quota", "first", 1)
	// Admission has a cache of its own, which may still lack the counted status.
	eventually(t, "admission reads the counted quota", func(ctx context.Context) error { return c.Create(ctx, first) })
	if err := create(gadget("Counted", "quota", "second", 1)); !apierrors.IsForbidden(err) {
		t.Errorf("beyond the quota: want forbidden, got %v", err)
	}
	must(t, c.Delete(t.Context(), first))
	eventually(t, "the deleted object is given back", used(0))
	must(t, create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "quota", Name: "a"}}))
	if err := create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "quota", Name: "b"}}); !apierrors.IsForbidden(err) {
		t.Errorf("beyond the quota of secrets: want forbidden, got %v", err)
	}
}

func testCascade(how metav1.DeletionPropagation) func(*testing.T, *Server, client.WithWatch) {
	return func(t *testing.T, _ *Server, c client.WithWatch) {
		kind := "Owned" + string(how)
		ns := strings.ToLower(kind)
		namespace(t, c, ns)
		define(t, c, gadgets(kind)) // a moment ago
		owner := gadget(kind, ns, "owner", 1)
		must(t, c.Create(t.Context(), owner))
		ref := metav1.OwnerReference{APIVersion: owner.GetAPIVersion(), Kind: kind, Name: "owner", UID: owner.GetUID(), BlockOwnerDeletion: new(true)}
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "owned", OwnerReferences: []metav1.OwnerReference{ref}}}
		must(t, c.Create(t.Context(), secret))
		child := gadget(kind, ns, "child", 1)
		child.SetOwnerReferences(secret.OwnerReferences)
		must(t, c.Create(t.Context(), child))

		must(t, c.Delete(t.Context(), owner, client.PropagationPolicy(how)))
		deleted(t, c, secret)
		deleted(t, c, child)
		deleted(t, c, owner)
	}
}

// The kind of the owner came a moment ago and has no objects, as when the last of them went together with the process
// that was to collect what they owned.
func testAbsentOwner(t *testing.T, _ *Server, c client.WithWatch) {
	namespace(t, c, "absent")
	first := gadget("Absent", "absent", "owner", 1)
	ref := metav1.OwnerReference{APIVersion: first.GetAPIVersion(), Kind: "Absent", Name: "owner", UID: "00000000-0000-0000-0000-000000000000"}
	early := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "absent", Name: "early", OwnerReferences: []metav1.OwnerReference{ref}}}
	must(t, c.Create(t.Context(), early)) // before the collector can know the kind
	define(t, c, gadgets("Absent"))
	late := early.DeepCopy()
	late.ObjectMeta = metav1.ObjectMeta{Namespace: "absent", Name: "late", OwnerReferences: early.OwnerReferences}
	must(t, c.Create(t.Context(), late))
	deleted(t, c, late)
	deleted(t, c, early)
}

func testNamespaces(t *testing.T, _ *Server, c client.WithWatch) {
	namespace(t, c, "emptied")
	define(t, c, gadgets("Emptied"))
	g := gadget("Emptied", "emptied", "g", 1)
	must(t, c.Create(t.Context(), g))
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "emptied"}}
	must(t, c.Delete(t.Context(), ns))
	deleted(t, c, g)
	deleted(t, c, ns)
}

func testSchemas(t *testing.T, s *Server, c client.WithWatch) {
	namespace(t, c, "schemas")
	define(t, c, gadgets("Described"))
	raw := discovery.NewDiscoveryClientForConfigOrDie(accountConfig(t, s, c, "schemas", "user")).RESTClient()
	eventually(t, "the schema is published to all users", func(ctx context.Context) error {
		text, err := raw.Get().AbsPath("/openapi/v3/apis/" + testGroup + "/v1").DoRaw(ctx)
		if err != nil || !strings.Contains(string(text), "Size of the gadget.") {
			return errors.Join(errors.New("no description of describeds"), err)
		}
		return nil
	})
	admin := discovery.NewDiscoveryClientForConfigOrDie(s.RESTConfig())
	old, err := admin.OpenAPISchema() // kubectl asks for it
	if err != nil || len(old.GetPaths().GetPath()) != 0 {
		t.Errorf("OpenAPI v2 is %v: %v", old, err)
	}
	table, err := admin.RESTClient().Get().AbsPath("/apis/"+testGroup+"/v1/describeds").SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").DoRaw(t.Context())
	if err != nil || !strings.Contains(string(table), `"name":"Size"`) {
		t.Errorf("no printed column in %s: %v", table, err)
	}
}

func testAnonymous(t *testing.T, s *Server, _ client.WithWatch) {
	admin := discovery.NewDiscoveryClientForConfigOrDie(s.RESTConfig()).RESTClient()
	must(t, admin.Get().AbsPath("/livez/etcd").Do(t.Context()).Error())
	raw := discovery.NewDiscoveryClientForConfigOrDie(rest.AnonymousClientConfig(s.RESTConfig())).RESTClient()
	for path, open := range map[string]bool{"/healthz": true, "/livez": true, "/readyz": true, "/version": false, "/metrics": false, "/api": false, "/api/v1/secrets": false} {
		err := raw.Get().AbsPath(path).Do(t.Context()).Error()
		if open && err != nil {
			t.Errorf("%s must be open to probes: %v", path, err)
		}
		if !open && !apierrors.IsUnauthorized(err) {
			t.Errorf("%s must be closed: want unauthorised, got %v", path, err)
		}
	}
}
