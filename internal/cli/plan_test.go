// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/internal/testkit/mirror"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/provider"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/terraform/kinds"
	"github.com/bowline-dev/bowline/pkg/terraform/state"
	"github.com/bowline-dev/bowline/pkg/terraform/warnings"
	"github.com/bowline-dev/bowline/providers/terraform"
	"github.com/bowline-dev/bowline/providers/terraform/apis/v1alpha1"
	"github.com/bowline-dev/bowline/providers/terraform/controller"
)

// A reef is a TerraformProvider with a berth of 2 that works, and one under deletion that its finalizer keeps.
type reef struct {
	*controlplanetest.Env
	t          *testing.T
	of         *v1alpha1.TerraformProvider
	program    Program
	folder     string // of what exists outside
	kubeconfig string
}

func newReef(t *testing.T) *reef {
	t.Helper()
	s := &reef{Env: controlplanetest.New(t), t: t, folder: t.TempDir()}
	o := &controller.Options{Folders: []string{mirror.Providers(t)}, Namespace: s.Namespace}
	p := terraform.Provider(o)
	s.program, s.kubeconfig = Program{Providers: []provider.Provider{p}, Terraform: o}, writeKubeconfig(t, s.Env)
	definitions, err := p.Definitions()
	check(t, err)
	check(t, controlplanetest.Install(t.Context(), s.Config, definitions...))
	check(t, p.AddToScheme(s.Scheme))
	check(t, client.IgnoreAlreadyExists(s.Client.Create(t.Context(), &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: controller.RoleName}})))
	s.of = &v1alpha1.TerraformProvider{ObjectMeta: metav1.ObjectMeta{Name: "reef-" + s.Namespace[max(0, len(s.Namespace)-12):]},
		Spec: v1alpha1.TerraformProviderSpec{Source: "bowline-dev/reef", Version: "1.0.0", Types: []string{"reef_berth"}}}
	scheme := runtime.NewScheme()
	check(t, clientgoscheme.AddToScheme(scheme))
	check(t, p.AddToScheme(scheme))
	own := managed.CacheOptions()
	own.ByObject[&v1alpha1.TerraformProvider{}] = cache.ByObject{Field: fields.OneTermEqualSelector("metadata.name", s.of.Name)}
	stop := controlplanetest.RunManager(t, s.Config, ctrl.Options{Scheme: scheme, Cache: own}, func(mgr ctrl.Manager) error {
		return p.SetupWithManager(mgr, managed.WithPollInterval(time.Hour))
	})
	check(t, s.Client.Create(t.Context(), s.of))
	t.Cleanup(func() { // the controllers are stopped
		check(t, s.Client.Get(context.Background(), client.ObjectKeyFromObject(s.of), s.of))
		s.of.Finalizers = nil
		check(t, s.Client.Update(context.Background(), s.of))
		check(t, s.Client.Delete(context.Background(), s.of))
	})
	s.Eventually(t, "the TerraformProvider is ready", func(ctx context.Context) error {
		if err := s.Client.Get(ctx, client.ObjectKeyFromObject(s.of), s.of); err != nil {
			return err
		}
		if c := s.of.GetCondition(xpv1.TypeReady); c.Status != corev1.ConditionTrue {
			return fmt.Errorf("%s: %s", c.Reason, c.Message)
		}
		return nil
	})
	config := s.object("ProviderConfig", "default", map[string]any{"configuration": map[string]any{"folder": s.folder}})
	check(t, s.Client.Create(t.Context(), config))
	check(t, s.Client.Create(t.Context(), s.secret("geheim-1")))
	for _, name := range []string{"north", "leaving", "guarded"} {
		berth := s.berth(name, 2)
		switch name {
		case "leaving":
			berth.SetFinalizers([]string{"example.org/test"})
		case "guarded":
			check(t, unstructured.SetNestedField(berth.Object, s.secretRef(), "spec", "forProvider", "passwordSecretRef"))
		}
		check(t, s.Client.Create(t.Context(), berth))
		s.Eventually(t, "the berth is ready", func(ctx context.Context) error {
			if err := s.Client.Get(ctx, client.ObjectKeyFromObject(berth), berth); err != nil {
				return err
			}
			if name, ready := berth.GetAnnotations()["crossplane.io/external-name"], isTrue(berth, "Ready"); name == "" || !ready {
				return fmt.Errorf("external name %q, ready %t", name, ready)
			}
			return nil
		})
		t.Cleanup(func() { s.remove(berth) })
	}
	stop()
	leaving := s.berth("leaving", 2)
	check(t, s.Client.Delete(t.Context(), leaving))
	check(t, s.Client.Get(t.Context(), client.ObjectKeyFromObject(leaving), leaving))
	leaving.SetFinalizers([]string{managed.Finalizer})
	check(t, s.Client.Update(t.Context(), leaving))
	return s
}

func isTrue(o *unstructured.Unstructured, condition string) bool {
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, c := range conditions {
		if c := c.(map[string]any); c["type"] == condition {
			return c["status"] == "True"
		}
	}
	return false
}

func (s *reef) remove(o *unstructured.Unstructured) {
	patch := []byte(`{"metadata":{"finalizers":null}}`)
	check(s.t, client.IgnoreNotFound(s.Client.Patch(context.Background(), o, client.RawPatch("application/merge-patch+json", patch))))
	check(s.t, client.IgnoreNotFound(s.Client.Delete(context.Background(), o)))
}

func (s *reef) object(kind, name string, spec map[string]any) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	o.SetGroupVersionKind(schema.GroupVersionKind{Group: s.of.Name + ".tf.bowline.dev", Version: kinds.Version, Kind: kind})
	o.SetName(name)
	return o
}

func (s *reef) berth(name string, size int64) *unstructured.Unstructured {
	return s.object("Berth", s.Prefix+name, map[string]any{"forProvider": map[string]any{"name": name, "size": size}})
}

// secret is that with the password of the berth guarded.
func (s *reef) secret(password string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "password"}, Data: map[string][]byte{"key": []byte(password)}}
}

func (s *reef) secretRef() map[string]any {
	return map[string]any{"namespace": s.Namespace, "name": "password", "key": "key"}
}

// creating makes a berth whose creation a journal of other controllers notes.
func (s *reef) creating(t *testing.T, name string) *unstructured.Unstructured {
	t.Helper()
	berth := s.berth(name, 2)
	berth.SetAnnotations(map[string]string{meta.AnnotationKeyExternalCreatePending: time.Now().Format(time.RFC3339)})
	check(t, s.Client.Create(t.Context(), berth))
	t.Cleanup(func() { s.remove(berth) })
	states := state.NewStore(s.Client, s.Client, s.Namespace)
	t.Cleanup(func() { check(t, states.Forget(context.Background(), berth.GetUID())) })
	check(t, states.Save(t.Context(), berth, schema.GroupResource{Group: s.of.Name + ".tf.bowline.dev", Resource: "berths"},
		&state.State{Creating: "another", ImportID: name, AbsentBefore: true}))
	return berth
}

// everything is what plans must not change: the files of the external system, and versions of objects and states.
func (s *reef) everything() map[string]string {
	s.t.Helper()
	all := map[string]string{}
	check(s.t, filepath.WalkDir(s.folder, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || strings.Contains(e.Name(), "calls") {
			return err
		}
		content, err := os.ReadFile(path)
		all[path] = string(content)
		return err
	}))
	secrets := &corev1.SecretList{}
	check(s.t, s.Client.List(s.t.Context(), secrets, client.InNamespace(s.Namespace)))
	for _, o := range secrets.Items {
		all[o.Name] = o.ResourceVersion
	}
	berths := &unstructured.UnstructuredList{}
	berths.SetGroupVersionKind(s.berth("", 0).GroupVersionKind())
	check(s.t, s.Client.List(s.t.Context(), berths))
	for _, o := range berths.Items {
		all[o.GetName()] = o.GetResourceVersion()
	}
	return all
}

// warnings are the events with warnings of the provider.
func (s *reef) warnings() (texts []string) {
	s.t.Helper()
	all := &corev1.EventList{}
	check(s.t, s.Client.List(s.t.Context(), all))
	for _, e := range all.Items {
		if e.Reason == string(warnings.Reason) && strings.HasPrefix(e.InvolvedObject.APIVersion, s.of.Name+".") {
			texts = append(texts, e.InvolvedObject.Name+": "+e.Message)
		}
	}
	return texts
}

// run runs a command line, with a manifest if there is one.
func (s *reef) run(manifest string, args ...string) (code int, out string) {
	if manifest != "" {
		file := filepath.Join(s.t.TempDir(), "manifest.yaml")
		check(s.t, os.WriteFile(file, []byte(manifest), 0o600))
		args = append(args, "-f", file)
	}
	var stdout, stderr bytes.Buffer
	args = append(append([]string{"bowline"}, args...), "--kubeconfig", s.kubeconfig)
	if !slices.Contains(args, "--terraform-plugins") {
		args = append(args, "--terraform-plugins", mirror.Providers(s.t))
	}
	code = s.program.Run(s.t.Context(), args, Streams{Out: &stdout, Err: &stderr})
	return code, stdout.String() + stderr.String()
}

// importState prints the manifest of an object for what Terraform's state would have of a berth.
func (s *reef) importState(t *testing.T, of *unstructured.Unstructured) string {
	t.Helper()
	secret := &corev1.Secret{}
	check(t, s.Client.Get(t.Context(), client.ObjectKey{Namespace: s.Namespace, Name: "tfstate-" + string(of.GetUID())}, secret))
	file := filepath.Join(t.TempDir(), "terraform.tfstate")
	check(t, os.WriteFile(file, fmt.Appendf(nil, `{"version": 4, "resources": [{"mode": "managed", "type": "reef_berth", "name": "same",
		"provider": "provider[\"registry.terraform.io/bowline-dev/reef\"]", "instances": [{"schema_version": %s, "attributes": %s}]}]}`,
		secret.Data["schemaVersion"], secret.Data["state"]), 0o600))
	var stdout, stderr bytes.Buffer
	code := s.program.Run(t.Context(), []string{"bowline", "terraform", "import", file, "--provider", s.of.Name + "=" + mirror.Program(t, "reef")},
		Streams{Out: &stdout, Err: &stderr})
	if code != exitOK {
		t.Fatalf("exit code %d: %s", code, &stderr)
	}
	return stdout.String()
}

// What would be done outside is known for objects of Terraform kinds, too, and nothing is done.
func TestPlanOfTerraformKinds(t *testing.T) {
	t.Parallel()
	s := newReef(t)
	kind := "berth." + s.of.Name + ".tf.bowline.dev"
	manifest := func(name, settings string) string {
		return fmt.Sprintf("apiVersion: %s.tf.bowline.dev/v1alpha1\nkind: Berth\nmetadata: {name: %s}\nspec: {forProvider: {%s}}\n", s.of.Name, s.Prefix+name, settings)
	}
	north := &unstructured.Unstructured{}
	north.SetGroupVersionKind(s.berth("", 0).GroupVersionKind())
	check(t, s.Client.Get(t.Context(), client.ObjectKey{Name: s.Prefix + "north"}, north))
	observed := strings.Replace(manifest("other", ""), "metadata: {", "metadata: {annotations: {crossplane.io/external-name: "+
		north.GetAnnotations()["crossplane.io/external-name"]+"}, ", 1) + "  managementPolicies: [Observe]\n"
	observed = strings.Replace(observed, "spec: {forProvider: {}}", "spec:\n  forProvider: {}", 1)
	for _, file := range []string{"warning", "warning-configure"} {
		check(t, os.WriteFile(filepath.Join(s.folder, file), []byte("Beware."), 0o600))
	}
	t.Run("secrets", func(t *testing.T) { planOfSecrets(t, s, kind) })
	before := s.everything()
	for _, tc := range []struct {
		name, manifest string
		args           []string
		want           []string
		code           int
	}{
		{"all", "", []string{"--all"}, []string{"Delete: " + kind + " " + s.Prefix + "leaving\n", "Objects: 3. To create: 0, to update: 1, to replace: 0, to delete: 1, nothing to do: 1"}, exitOK},
		{"an object", "", []string{kind + "/" + s.Prefix + "north"}, []string{"nothing to do: 1"}, exitOK},
		{"a creation", manifest("south", "name: south, size: 3"), nil, []string{"Create: " + kind + " " + s.Prefix + "south\n", `name: "south"`, "size: 3"}, exitOK},
		{"a creation that the provider refuses", manifest("south", "name: south, size: 2.5"), nil, []string{"size", "errors: 1"}, exitError},
		{"an update", manifest("north", "name: north, size: 3"), nil, []string{"Update: " + kind, "size: 2 -> 3"}, exitOK},
		{"a replacement", manifest("north", "name: south, size: 2"), nil, []string{"Blocked: " + kind, "name cannot be changed", "blocked: 1"}, exitOK},
		{"a deletion", "", []string{"--delete", kind + "/" + s.Prefix + "north"}, []string{"Delete: " + kind + " " + s.Prefix + "north"}, exitOK},
		{"an import", observed, nil, []string{"nothing to do: 1, blocked: 0, errors: 0"}, exitOK},
		{"a manifest that the API server refuses", manifest("north", "size: big"), nil, []string{"spec.forProvider.size"}, exitError},
		{"a manifest without managed resources", "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n", nil, []string{"has no managed resource"}, exitError},
		{"another object", "", []string{"ns/" + s.Namespace}, []string{"is no managed resource"}, exitError},
		{"nothing", "", nil, []string{"name objects as KIND/NAME"}, exitUsage},
		{"all and one", "", []string{"--all", "a/b"}, []string{"name objects as KIND/NAME"}, exitUsage},
	} {
		t.Run(tc.name, func(t *testing.T) {
			code, out := s.run(tc.manifest, append([]string{"plan"}, tc.args...)...)
			for _, want := range tc.want {
				if !strings.Contains(out, want) || code != tc.code {
					t.Errorf("exit code %d, want %d, and %q in:\n%s", code, tc.code, want, out)
				}
			}
		})
	}
	t.Run("what is imported from a Terraform state", func(t *testing.T) {
		imported := s.importState(t, north)
		for _, manifest := range []string{imported, strings.Replace(imported, "  managementPolicies:\n  - Observe\n", "", 1)} {
			code, out := s.run(manifest, "plan")
			observes := strings.Contains(manifest, "Observe")
			nothing := code == exitOK && strings.HasPrefix(out, "Objects: 1. To create: 0, to update: 0, to replace: 0, to delete: 0, nothing to do: 1, blocked: 0, errors: 0")
			if belongs := code == exitError && strings.Contains(out, "belongs to Berth"); observes && !nothing || !observes && !belongs {
				t.Errorf("exit code %d: %s of\n%s", code, out, manifest)
			}
		}
	})
	t.Run("upgrade check", func(t *testing.T) {
		code, out := s.run("", "upgrade", "check", "-o", "yaml")
		if code != exitOK || !strings.Contains(out, "observed: 3") || !strings.Contains(out, "object: "+s.Prefix+"leaving") ||
			strings.Contains(out, "definition: berths."+s.of.Name+".tf.bowline.dev\n  message: this program does not have") {
			t.Errorf("exit code %d:\n%s", code, out)
		}
	})
	t.Run("a creation in progress", func(t *testing.T) { planOfACreationInProgress(t, s, kind) })
	t.Run("binaries", func(t *testing.T) { planWithoutABinary(t, s) })
	if events := s.warnings(); len(events) > 0 {
		t.Errorf("plans wrote events: %v", events)
	}
	if diff := cmp.Diff(before, s.everything()); diff != "" {
		t.Errorf("plans changed something (-before +after):\n%s", diff)
	}
}

// planOfSecrets changes the Secret of the berth guarded, whose password the external system does not return.
func planOfSecrets(t *testing.T, s *reef, kind string) {
	plans := func(when, manifest string, args []string, want string) {
		t.Helper()
		code, out := s.run(manifest, append([]string{"plan"}, args...)...)
		if code != exitOK || !strings.Contains(out, want) || strings.Contains(out, "geheim") {
			t.Errorf("%s: exit code %d, and no %q in:\n%s", when, code, want, out)
		}
	}
	const field = "\n    passwordSecretRef: (sensitive) -> (sensitive)\n"
	guarded := []string{kind + "/" + s.Prefix + "guarded"}
	plans("the Secret of the last pass", "", guarded, "nothing to do: 1")
	given := s.secret("geheim-1")
	given.Annotations = map[string]string{"example.org/changed": "true"}
	check(t, s.Client.Update(t.Context(), given))
	plans("another version of it", "", guarded, "Update: "+kind+" "+s.Prefix+"guarded"+field)
	check(t, s.Client.Update(t.Context(), s.secret("geheim-2")))
	plans("another password", "", guarded, "Update: "+kind+" "+s.Prefix+"guarded"+field)
	check(t, os.WriteFile(filepath.Join(s.folder, "reef_berth", "b-9.json"), []byte(`{"id": "b-9", "name": "old", "size": 2}`), 0o600))
	for policy, want := range map[string]string{"Observe": "differs from spec.forProvider in passwordSecretRef:", `"*"`: "Update: " + kind + " " + s.Prefix + "old\n    passwordSecretRef: (sensitive)\n"} {
		plans("an import with "+policy, fmt.Sprintf("apiVersion: %s.tf.bowline.dev/v1alpha1\nkind: Berth\nmetadata: {name: %sold, annotations: {crossplane.io/external-name: b-9}}\n"+
			"spec: {managementPolicies: [%s], forProvider: {name: old, size: 2, passwordSecretRef: {namespace: %s, name: password, key: key}}}\n",
			s.of.Name, s.Prefix, policy, s.Namespace), nil, want)
	}
}

func planOfACreationInProgress(t *testing.T, s *reef, kind string) {
	making := s.creating(t, "making")
	before := s.everything()
	for _, args := range [][]string{{"plan", kind + "/" + making.GetName()}, {"upgrade", "check"}} {
		code, out := s.run("", args...)
		if !strings.Contains(out, "a creation is in progress, or was interrupted") || strings.Contains(out, "external-create-pending") {
			t.Errorf("%v: exit code %d:\n%s", args, code, out)
		}
	}
	calls, err := os.ReadFile(filepath.Join(s.folder, "calls.log"))
	check(t, err)
	if strings.Contains(string(calls), " making\n") {
		t.Errorf("a plan asked for what is being created:\n%s", calls)
	}
	if diff := cmp.Diff(before, s.everything()); diff != "" {
		t.Errorf("plans changed something (-before +after):\n%s", diff)
	}
}

func planWithoutABinary(t *testing.T, s *reef) {
	t.Run("a binary that is in none of the folders", func(t *testing.T) {
		for _, command := range [][]string{{"plan", "--all"}, {"upgrade", "check"}, {"terraform", "schema", s.of.Name}} {
			code, out := s.run("", append(command, "--terraform-plugins", t.TempDir())...)
			if code != exitError || !strings.Contains(out, "is not run here") || !strings.Contains(out, "name its folder with --terraform-plugins") {
				t.Errorf("%v: exit code %d:\n%s", command, code, out)
			}
		}
	})
	t.Run("on another machine", func(t *testing.T) {
		check(t, s.Client.Get(t.Context(), client.ObjectKeyFromObject(s.of), s.of))
		s.of.Status.Binary = "/elsewhere/terraform-provider-reef"
		check(t, s.Client.Status().Update(t.Context(), s.of))
		if code, out := s.run("", "plan", "--all"); code != exitError || strings.Count(out, "is not on this machine") != 3 {
			t.Errorf("exit code %d:\n%s", code, out)
		}
		code, out := s.run("", "upgrade", "check", "-o", "yaml")
		if code != exitError || !strings.Contains(out, "is not on this machine") || strings.Contains(out, "definition: berths."+s.of.Name) {
			t.Errorf("exit code %d:\n%s", code, out)
		}
	})
}
