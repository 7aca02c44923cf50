// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A start that cannot succeed changes nothing, and says what to free. A killed server left the log file that a start would allocate. An
// earlier version allocated larger ones and left no mark.
func TestFullDiskRefusesStart_N68(t *testing.T) {
	dir := t.TempDir()
	start := func(free uint64) *Server {
		s := newServer(t, Config{DataDir: dir})
		s.free = func(string) (uint64, error) { return free << 20, nil }
		return s
	}
	refused := func(free uint64, want string) {
		t.Helper()
		before, err := os.ReadDir(dir)
		must(t, err)
		err = start(free).Run(t.Context())
		if err == nil || !strings.Contains(err.Error(), dir+" is full") || !strings.Contains(err.Error(), want) {
			t.Errorf("with %d MB: %v", free, err)
		}
		if after, err := os.ReadDir(dir); err != nil || len(after) != len(before) {
			t.Errorf("the folder had %v and has %v, %v", before, after, err)
		}
	}
	member := filepath.Join(dir, "etcd", "member")
	refused(0, "Free 296 MB")
	must(t, os.MkdirAll(filepath.Join(member, "snap"), 0o700)) // a first start was killed
	must(t, os.WriteFile(filepath.Join(member, "snap", "db"), nil, 0o600))
	refused(294, "Free 2 MB")
	run(t, start(296))()
	folder := filepath.Join(member, "wal")
	logs, err := filepath.Glob(filepath.Join(folder, "*.wal"))
	must(t, err)
	if info, err := os.Stat(logs[0]); err != nil || len(logs) != 1 || info.Size() != 16<<20 {
		t.Errorf("a first start allocated %v: %v, %v", logs, info, err)
	}
	must(t, os.Truncate(logs[0], 64_000_000))
	must(t, os.Remove(filepath.Join(dir, "etcd-initialized")))
	refused(0, "Free 48 MB")
	run(t, start(48))()
	must(t, os.WriteFile(filepath.Join(folder, "0.tmp"), make([]byte, 16<<20), 0o600))
	refused(31, "Free 1 MB")
	run(t, start(32))()
}

// The free space is that of a test: a real disk that is full would need rights that a machine for tests may lack.
func TestNearlyFullDiskRefusesWrites(t *testing.T) {
	var free atomic.Uint64
	free.Store(1 << 40)
	s := newServer(t, Config{Controllers: "controllers"})
	s.free = func(string) (uint64, error) { return free.Load(), nil }
	defer run(t, s)()
	admin := newClient(t, s.RESTConfig())
	define(t, admin, gadgets("FullGadget"))
	person := rest.CopyConfig(s.RESTConfig())
	person.Impersonate = rest.ImpersonationConfig{UserName: "person", Groups: []string{"system:masters"}}
	c := newClient(t, person)
	person.Impersonate.UserName = "controllers"
	controllers := newClient(t, person)
	for _, name := range []string{"one", "two"} {
		must(t, c.Create(t.Context(), gadget("FullGadget", "default", name, 1)))
	}
	system := []string{ // what a start applies again
		`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"applied"}}`,
		`{"apiVersion":"v1","kind":"ServiceAccount","metadata":{"namespace":"applied","name":"a"}}`,
		`{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"a"},"rules":[{"apiGroups":[""],"resources":["secrets"],"verbs":["get"]}]}`,
		`{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRoleBinding","metadata":{"name":"a"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"a"},"subjects":[{"kind":"ServiceAccount","namespace":"applied","name":"a"}]}`,
	}
	apply := func() {
		t.Helper()
		for _, text := range system {
			o := &unstructured.Unstructured{}
			must(t, o.UnmarshalJSON([]byte(text)))
			must(t, admin.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(o), client.FieldOwner("test"), client.ForceOwnership))
		}
	}
	apply()
	leaving := gadget("FullGadget", "default", "leaving", 1)
	leaving.SetFinalizers([]string{"test.bowline.dev/wait"})
	must(t, c.Create(t.Context(), leaving))

	wantRefused := func(when string, err error) {
		t.Helper()
		status, ok := err.(apierrors.APIStatus)
		if !ok || status.Status().Code != http.StatusInsufficientStorage || !strings.Contains(err.Error(), "nearly full") {
			t.Errorf("%s: %v", when, err)
		}
	}
	patch := func(c client.Client, name, change string) error {
		return c.Patch(t.Context(), gadget("FullGadget", "default", name, 1), client.RawPatch(types.MergePatchType, []byte(change)))
	}
	grow := func(name string) error { return patch(c, name, `{"spec":{"size":2}}`) }
	free.Store(200 << 20)
	wantRefused("a new object", c.Create(t.Context(), gadget("FullGadget", "default", "three", 1)))
	must(t, grow("one"))
	free.Store(100 << 20)
	wantRefused("a change", grow("two"))
	must(t, c.Get(t.Context(), client.ObjectKeyFromObject(leaving), leaving))
	must(t, c.Create(t.Context(), &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "leader"}}))
	must(t, c.Create(t.Context(), &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "get", Resource: "secrets"},
	}}))
	must(t, c.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "dry"}}, client.DryRunAll))
	// A managed resource is deleted once its claim's permission is annotated, and condition InUse is false.
	must(t, patch(controllers, "two", `{"metadata":{"annotations":{"reclaimed-from":"claim"}}}`))
	must(t, controllers.Status().Patch(t.Context(), gadget("FullGadget", "default", "two", 1),
		client.RawPatch(types.MergePatchType, []byte(`{"status":{"inUse":false}}`))))
	must(t, patch(c, "two", `{"metadata":{"annotations":{"protect":"false"},"finalizers":["test.bowline.dev/wait"]}}`))
	wantRefused("a change beside an annotation", patch(c, "two", `{"metadata":{"annotations":{"protect":null}},"spec":{"size":2}}`))
	free.Store(60 << 20)
	apply()
	wantRefused("a change by the controllers", patch(controllers, "two", `{"spec":{"size":2}}`))
	must(t, patch(controllers, "two", `{"metadata":{"finalizers":null}}`))
	must(t, c.Delete(t.Context(), gadget("FullGadget", "default", "one", 1)))
	must(t, c.Delete(t.Context(), leaving))
	must(t, c.Patch(t.Context(), leaving, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))))
	deleted(t, c, leaving)

	free.Store(1 << 40)
	must(t, c.Create(t.Context(), gadget("FullGadget", "default", "three", 1)))
	must(t, grow("two"))
}
