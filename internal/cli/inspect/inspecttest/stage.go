// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package inspecttest creates objects for tests of package inspect and its users, without controllers that would change them.
//
//	s := inspecttest.New(t)
//	s.Put(t, "{apiVersion: v1, kind: Secret, metadata: {name: db, namespace: $NS}}")
//	text := s.Neutral(show(s.Cluster(t)))
//
// Objects are YAML in which $NS is the test's namespace, $P the prefix of names of cluster-scoped objects and $UID(Kind/name) the UID
// of an object created before. Neutral replaces them back in output, so that testdata can contain it. Put updates an existing object,
// so that two objects can name each other.
package inspecttest

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	claimcrds "github.com/bowline-dev/bowline/apis/crds"
	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/internal/cli/inspect"
	"github.com/bowline-dev/bowline/pkg/crd"
	fcpcrds "github.com/bowline-dev/bowline/providers/fcp/apis/crds"
)

// foreign are kinds of another provider, without Go types.
const foreign = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[2]ss.foreign.example.org}
spec:
  group: foreign.example.org
  scope: %[3]s
  names: {kind: %[1]s, listKind: %[1]sList, plural: %[2]ss, singular: %[2]s, categories: [%[4]s]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

// Main runs the tests of a package with the claims for databases, the favourite cloud's databases and a third party's kinds:
// the claim kind WidgetClaim, and the cluster-scoped managed kind Widget, its class WidgetClass, in group foreign.example.org.
func Main(m *testing.M) int {
	files := fstest.MapFS{}
	read := func(from fs.FS, names ...string) error {
		for _, name := range names {
			content, err := fs.ReadFile(from, name)
			if err != nil {
				return err
			}
			files[name] = &fstest.MapFile{Data: content}
		}
		return nil
	}
	for _, k := range [][4]any{
		{"WidgetClaim", "widgetclaim", "Namespaced", "claims"}, {"Widget", "widget", "Cluster", "managed"},
		{"WidgetClass", "widgetclass", "Cluster", "classes"},
	} {
		files[fmt.Sprint(k[1], ".yaml")] = &fstest.MapFile{Data: fmt.Appendf(nil, foreign, k[:]...)}
	}
	err := read(claimcrds.FS, "database.crossplane.io_fancysqlinstances.yaml", "database.crossplane.io_postgresqlinstances.yaml")
	if err == nil {
		err = read(fcpcrds.FS, "database.fcp.crossplane.io_favouritedbinstances.yaml",
			"database.fcp.crossplane.io_favouritedbinstanceclasses.yaml", "fcp.crossplane.io_providerconfigs.yaml")
	}
	all, err2 := crd.Load(files)
	if err == nil {
		err = err2
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "inspecttest:", err)
		return 1
	}
	return controlplanetest.Main(m, all...)
}

// A Stage is one test's share of the server.
type Stage struct {
	*controlplanetest.Env
	uids map[string]string // by kind and name as they are written
}

// New returns a stage with an empty namespace.
func New(t testing.TB) *Stage {
	t.Helper()
	return &Stage{Env: controlplanetest.New(t), uids: map[string]string{}}
}

// Put creates or updates objects, in order, each with its status. They are deleted when the test ends, whatever finalizers they have.
func (s *Stage) Put(t testing.TB, documents string) {
	t.Helper()
	for document := range strings.SplitSeq(documents, "\n---\n") {
		if strings.TrimSpace(document) == "" {
			continue
		}
		written, o := &unstructured.Unstructured{}, &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &written.Object); err != nil {
			t.Fatalf("inspecttest: reading %s: %v", document, err)
		}
		if err := yaml.Unmarshal([]byte(s.fill(document)), &o.Object); err != nil {
			t.Fatalf("inspecttest: reading %s: %v", document, err)
		}
		deleted := o.GetDeletionTimestamp() != nil
		o.SetDeletionTimestamp(nil)
		s.put(t, o)
		s.uids[o.GetKind()+"/"+written.GetName()] = string(o.GetUID())
		if deleted {
			if err := s.Client.Delete(t.Context(), o); err != nil {
				t.Fatalf("inspecttest: deleting %s: %v", o.GetName(), err)
			}
		}
	}
}

func (s *Stage) put(t testing.TB, o *unstructured.Unstructured) {
	t.Helper()
	status, given := o.Object["status"]
	have := &unstructured.Unstructured{}
	have.SetGroupVersionKind(o.GroupVersionKind())
	err := s.Client.Get(t.Context(), client.ObjectKeyFromObject(o), have)
	if apierrors.IsNotFound(err) {
		if err = s.Client.Create(t.Context(), o); err == nil {
			t.Cleanup(func() { s.remove(t, o.DeepCopy()) })
		}
	} else if err == nil {
		err = s.Client.Patch(t.Context(), o, client.Merge)
	}
	if err == nil && given {
		o.Object["status"] = status
		stored := o.DeepCopy()
		delete(stored.Object, "status")
		err = s.Client.Status().Patch(t.Context(), o, client.MergeFrom(stored))
	}
	if err != nil {
		t.Fatalf("inspecttest: putting %s %s: %v", o.GetKind(), o.GetName(), err)
	}
}

func (s *Stage) remove(t testing.TB, o *unstructured.Unstructured) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	free := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))
	err := s.Client.Patch(ctx, o, free)
	if err == nil {
		err = s.Client.Delete(ctx, o)
	}
	if client.IgnoreNotFound(err) != nil {
		t.Errorf("inspecttest: removing %s %s: %v", o.GetKind(), o.GetName(), err)
	}
}

// uid matches a UID in a document.
var uid = regexp.MustCompile(`\$UID\(([^)]*)\)`)

// fill replaces all variables in a text.
func (s *Stage) fill(text string) string {
	text = uid.ReplaceAllStringFunc(text, func(match string) string { return s.uids[uid.FindStringSubmatch(match)[1]] })
	return s.Fill(text)
}

// Fill replaces $NS and $P in a text.
func (s *Stage) Fill(text string) string {
	return strings.NewReplacer("$NS", s.Namespace, "$P", s.Prefix).Replace(text)
}

// Neutral puts the variables back, so that output is the same in each run.
func (s *Stage) Neutral(text string) string {
	text = strings.NewReplacer(s.Prefix, "$P", s.Namespace, "$NS").Replace(text)
	for name, uid := range s.uids {
		text = strings.ReplaceAll(text, uid, "$UID("+name+")")
	}
	return text
}

// Cluster reads as the administrator.
func (s *Stage) Cluster(t testing.TB) *inspect.Cluster {
	t.Helper()
	return connect(t, s.Config)
}

// As reads as a user with these rules in the test's namespace and no other rights.
func (s *Stage) As(t testing.TB, rules ...rbacv1.PolicyRule) *inspect.Cluster {
	t.Helper()
	user := s.Prefix + "user"
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "user", Namespace: s.Namespace}, Rules: rules}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: role.ObjectMeta,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: user}},
	}
	for _, o := range []client.Object{role, binding} {
		if err := s.Client.Create(t.Context(), o); err != nil {
			t.Fatalf("inspecttest: creating %T: %v", o, err)
		}
	}
	if len(rules) > 0 {
		s.InForce(t, user, s.Namespace, rules[0])
	}
	cfg := rest.CopyConfig(s.Config)
	cfg.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:authenticated"}}
	return connect(t, cfg)
}

func connect(t testing.TB, cfg *rest.Config) *inspect.Cluster {
	t.Helper()
	c, err := inspect.Connect(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
