// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
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
	terraformcrds "github.com/bowline-dev/bowline/providers/terraform/apis/crds"
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

// TestMain serves the claims for databases, the favourite cloud's databases and a third party's kinds: the claim kind WidgetClaim,
// and the cluster-scoped managed kind Widget, its class WidgetClass, in group foreign.example.org.
func TestMain(m *testing.M) {
	served, err := definitions()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(controlplanetest.Main(m, served...))
}

func definitions() ([]*apiextensionsv1.CustomResourceDefinition, error) {
	third := fstest.MapFS{}
	for _, k := range [][]any{
		{"WidgetClaim", "widgetclaim", "Namespaced", "claims"}, {"Widget", "widget", "Cluster", "managed"},
		{"WidgetClass", "widgetclass", "Cluster", "classes"},
	} {
		third[fmt.Sprint(k[1], ".yaml")] = &fstest.MapFile{Data: fmt.Appendf(nil, foreign, k...)}
	}
	all, err := crd.Load(third)
	kinds := []string{"FancySQLInstance", "PostgreSQLInstance", "FavouriteDBInstance", "FavouriteDBInstanceClass", "ProviderConfig",
		"KubernetesTarget", "KubernetesApplication", "KubernetesApplicationResource", "TerraformProvider"}
	for _, files := range []fs.FS{claimcrds.FS, fcpcrds.FS, terraformcrds.FS} {
		more, wrong := crd.Load(files)
		err = errors.Join(err, wrong)
		for _, d := range more {
			if slices.Contains(kinds, d.Spec.Names.Kind) && !strings.Contains(d.Spec.Group, ".m.") {
				all = append(all, d)
			}
		}
	}
	return all, err
}

// A stage is one test's share of the server, without controllers that would change its objects.
//
// Objects are YAML in which $NS is the test's namespace, $P the prefix of names of cluster-scoped objects and $UID(Kind/name) the UID
// of an object created before. Neutral replaces them back in output, so that testdata can contain it. Put updates an existing object,
// so that two objects can name each other.
type stage struct {
	*controlplanetest.Env
	uids map[string]string // by kind and name as they are written
}

// newStage returns a stage with an empty namespace.
func newStage(t testing.TB) *stage {
	t.Helper()
	return &stage{Env: controlplanetest.New(t), uids: map[string]string{}}
}

// Put creates or updates objects, in order, each with its status. They are deleted when the test ends, whatever finalizers they have.
func (s *stage) Put(t testing.TB, documents string) {
	t.Helper()
	for document := range strings.SplitSeq(documents, "\n---\n") {
		if strings.TrimSpace(document) == "" {
			continue
		}
		written, o := &unstructured.Unstructured{}, &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &written.Object); err != nil {
			t.Fatalf("reading %s: %v", document, err)
		}
		if err := yaml.Unmarshal([]byte(s.fill(document)), &o.Object); err != nil {
			t.Fatalf("reading %s: %v", document, err)
		}
		deleted := o.GetDeletionTimestamp() != nil
		o.SetDeletionTimestamp(nil)
		s.put(t, o)
		s.uids[o.GetKind()+"/"+written.GetName()] = string(o.GetUID())
		if deleted {
			if err := s.Client.Delete(t.Context(), o); err != nil {
				t.Fatalf("deleting %s: %v", o.GetName(), err)
			}
		}
	}
}

func (s *stage) put(t testing.TB, o *unstructured.Unstructured) {
	t.Helper()
	status, given := o.Object["status"]
	err := s.Client.Create(t.Context(), o.DeepCopy())
	if err == nil {
		t.Cleanup(func() { s.remove(t, o) })
	} else if !apierrors.IsAlreadyExists(err) {
		t.Fatalf("creating %s %s: %v", o.GetKind(), o.GetName(), err)
	}
	err = s.Client.Patch(t.Context(), o, client.Merge)
	if err == nil && given {
		o.Object["status"] = status
		err = s.Client.Status().Patch(t.Context(), o, client.Merge)
	}
	if err != nil {
		t.Fatalf("putting %s %s: %v", o.GetKind(), o.GetName(), err)
	}
}

func (s *stage) remove(t testing.TB, o *unstructured.Unstructured) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	free := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))
	err := s.Client.Patch(ctx, o, free)
	if err == nil {
		err = s.Client.Delete(ctx, o)
	}
	if client.IgnoreNotFound(err) != nil {
		t.Errorf("removing %s %s: %v", o.GetKind(), o.GetName(), err)
	}
}

// uid matches a UID in a document.
var uid = regexp.MustCompile(`\$UID\(([^)]*)\)`)

// fill replaces all variables in a text.
func (s *stage) fill(text string) string {
	text = uid.ReplaceAllStringFunc(text, func(match string) string { return s.uids[uid.FindStringSubmatch(match)[1]] })
	return s.Fill(text)
}

// Fill replaces $NS and $P in a text.
func (s *stage) Fill(text string) string {
	return strings.NewReplacer("$NS", s.Namespace, "$P", s.Prefix).Replace(text)
}

// Neutral puts the variables back, so that output is the same in each run.
func (s *stage) Neutral(text string) string {
	text = strings.NewReplacer(s.Prefix, "$P", s.Namespace, "$NS").Replace(text)
	for name, uid := range s.uids {
		text = strings.ReplaceAll(text, uid, "$UID("+name+")")
	}
	return text
}

// Cluster reads as the administrator.
func (s *stage) Cluster(t testing.TB) *inspect.Cluster {
	t.Helper()
	return connect(t, s.Config)
}

// As reads as a user with these rules in the test's namespace and no other rights.
func (s *stage) As(t testing.TB, rules ...rbacv1.PolicyRule) *inspect.Cluster {
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
			t.Fatalf("creating %T: %v", o, err)
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
