// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package terraform_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kube "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	databasev1alpha1 "github.com/bowline-dev/bowline/apis/database/v1alpha1"
	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/favouritecloud"
	"github.com/bowline-dev/bowline/favouritecloud/sdk"
	"github.com/bowline-dev/bowline/internal/testkit"
	"github.com/bowline-dev/bowline/internal/testkit/mirror"
	"github.com/bowline-dev/bowline/pkg/connection"
	"github.com/bowline-dev/bowline/pkg/core"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/providers/terraform/apis/v1alpha1"
	"github.com/bowline-dev/bowline/providers/terraform/controller"
)

// startCloud has ProviderConfig default of the stage use a project of a cloud that runs real servers.
func (s *stage) startCloud() (config *kube.Unstructured) {
	s.t.Helper()
	settings := favouritecloud.Config{DataDir: s.t.TempDir(), Listen: "127.0.0.1:0"}
	server, err := favouritecloud.New(settings)
	s.must(err)
	s.t.Cleanup(func() {
		if err := favouritecloud.Remove(settings.DataDir); err != nil {
			s.t.Error(err)
		}
	})
	controlplanetest.Run(s.t, server.Run)
	select {
	case <-server.Ready():
	case <-time.After(30 * time.Second):
		s.t.Fatal("the cloud does not start")
	}
	token, err := favouritecloud.ReadAdminToken(settings.DataDir)
	s.must(err)
	key, err := sdk.CreateKey(s.t.Context(), server.URL(), token, "shop")
	s.must(err)
	s.must(s.Client.Create(s.t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "cloud"},
		StringData: map[string]string{"key": key.Key}}))
	return s.object("ProviderConfig", map[string]any{"configuration": map[string]any{"endpoint": server.URL(), "project": "shop",
		"keySecretRef": map[string]any{"namespace": s.Namespace, "name": "cloud", "key": "key"}}})
}

// databases is a TerraformProvider of databases.
func (s *stage) databases() *v1alpha1.TerraformProvider {
	s.t.Helper()
	return s.provider(v1alpha1.TerraformProviderSpec{Source: "bowline-dev/favouritecloud", Version: "1.0.0", Types: []string{"favouritecloud_database"},
		TypeSettings: []v1alpha1.TypeSettings{{Type: "favouritecloud_database", ConnectionKeys: []string{"hostname", "port", "username"}}}})
}

// class returns a class of this stage with a tier of its name.
func (s *stage) class(name, kind string, forProvider map[string]any) *v1alpha1.TerraformClass {
	raw, err := json.Marshal(forProvider)
	s.must(err)
	of := &v1alpha1.TerraformClass{ObjectMeta: metav1.ObjectMeta{Name: s.name + "-" + name, Labels: map[string]string{"stage": s.name, "tier": name}}}
	of.SpecTemplate.ClaimKind, of.SpecTemplate.Kind = "PostgreSQLInstance", kind
	of.SpecTemplate.APIVersion = s.name + ".tf.bowline.dev/v1alpha1"
	of.SpecTemplate.WriteConnectionSecretsToNamespace = s.Namespace
	of.SpecTemplate.ForProvider = runtime.RawExtension{Raw: raw}
	return of
}

func database() map[string]any {
	return map[string]any{"name": "$(claim.name)", "fancinessLevel": 10, "version": "$(claim.spec.engineVersion)"}
}

func (s *stage) claim(name, tier string) *databasev1alpha1.PostgreSQLInstance {
	c := &databasev1alpha1.PostgreSQLInstance{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: name}}
	c.Spec.WriteConnectionSecretToReference = &xpv1.LocalSecretReference{Name: name}
	if tier != "" {
		c.Spec.ClassSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"tier": tier}}
	}
	return c
}

func (s *stage) create(all ...client.Object) {
	s.t.Helper()
	for _, o := range all {
		s.must(s.Client.Create(s.t.Context(), o))
		s.t.Cleanup(func() { _ = s.Client.Delete(context.Background(), o) })
	}
}

type conditioned interface {
	client.Object
	GetCondition(xpv1.ConditionType) xpv1.Condition
}

// shows waits until condition Ready of an object has a reason, and texts in its message.
func (s *stage) shows(t *testing.T, o conditioned, reason xpv1.ConditionReason, texts ...string) {
	t.Helper()
	s.Eventually(t, o.GetName()+" is "+string(reason), func(ctx context.Context) error {
		if err := s.Client.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
			return err
		}
		c := o.GetCondition(xpv1.TypeReady)
		if c.Reason != reason || slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(c.Message, text) }) {
			return fmt.Errorf("%s: %s", c.Reason, c.Message)
		}
		return nil
	})
}

// managedOf returns the managed resource that a claim names.
func (s *stage) managedOf(c *databasev1alpha1.PostgreSQLInstance) *kube.Unstructured {
	s.t.Helper()
	mg := s.object("Database", nil)
	mg.SetName(c.Spec.ResourceReference.Name)
	s.must(s.Client.Get(s.t.Context(), client.ObjectKeyFromObject(mg), mg))
	return mg
}

// connects fails unless the Secret of a claim has all that a client needs, and a server listens there.
func (s *stage) connects(t *testing.T, c *databasev1alpha1.PostgreSQLInstance) {
	t.Helper()
	secret := &corev1.Secret{}
	s.must(s.Client.Get(t.Context(), client.ObjectKeyFromObject(c), secret))
	keys := slices.Sorted(maps.Keys(secret.Data))
	if diff := cmp.Diff([]string{"URL", "hostname", "password", "port", "username"}, keys); diff != "" {
		t.Errorf("keys -want +got:\n%s", diff)
	}
	for key, value := range secret.Data {
		if len(value) == 0 {
			t.Errorf("%s is empty", key)
		}
	}
	socket, err := net.Dial("tcp", net.JoinHostPort(string(secret.Data["hostname"]), string(secret.Data["port"])))
	if err != nil {
		t.Fatal(err)
	}
	_ = socket.Close()
	if want := fmt.Sprintf("postgresql://%s@%s", secret.Data["username"], secret.Data["hostname"]); string(secret.Data["URL"]) != want {
		t.Errorf("URL is %s, want %s", secret.Data["URL"], want)
	}
}

// phase waits until a managed resource has a binding phase.
func (s *stage) phase(t *testing.T, mg *kube.Unstructured, want xpv1.BindingPhase) {
	t.Helper()
	s.Eventually(t, mg.GetName()+" is "+string(want), func(ctx context.Context) error {
		s.must(s.Client.Get(ctx, client.ObjectKeyFromObject(mg), mg))
		if got, _, _ := kube.NestedString(mg.Object, "status", "bindingPhase"); got != string(want) {
			return fmt.Errorf("it is %q", got)
		}
		return nil
	})
}

// Claims, classes and TerraformProviders may be created in any order, and reclaim policies are as for other kinds.
func TestClaims(t *testing.T) {
	t.Parallel()
	s := newStageWith(t, "favouritecloud", controller.Options{Folders: []string{mirror.Providers(t)}}, core.Provider())
	s.stop = s.run()
	config := s.startCloud()
	class, kept, wrong := s.class("normal", "Database", database()), s.class("kept", "Database", database()), s.class("wrong", "Database", map[string]any{
		"name": "$(claim.name)", "fancynessLevel": 10})
	kept.SpecTemplate.ReclaimPolicy = xpv1.ReclaimRetain
	other := s.class("other", "Network", map[string]any{"cidrBlock": "10.0.0.0/16"})
	first, early := s.claim("first", "normal"), s.claim("early", "normal")
	first.Annotations = map[string]string{connection.AnnotationKeyConnectionKeys: `{"URL":"postgresql://$(username)@$(hostname)"}`}
	s.create(class, kept, wrong, other, first, early)

	t.Run("before there is a TerraformProvider", func(t *testing.T) {
		s.shows(t, class, "KindNotServed", "does not exist: create it, with the resource type of kind Database in spec.types")
		s.shows(t, first, xpv1.ReasonBinding, "are not served. Ask your platform team: condition Ready of the class has the cause")
		s.must(s.Client.Delete(t.Context(), early))
		s.Eventually(t, "a claim that waits can be deleted", testkit.Gone(s.Client, early))
	})
	of := s.databases()
	s.ready(of)
	t.Run("what classes name wrongly is reported", func(t *testing.T) {
		s.shows(t, other, "KindNotServed", "serves no kind Network: add its resource type to spec.types")
		s.shows(t, wrong, "InvalidSettings", "specTemplate.forProvider is not accepted", "fancynessLevel", "kubectl explain database.spec.forProvider")
		s.shows(t, class, "ProviderConfigUnavailable", "ProviderConfig \"default\" does not exist")
		refused := s.claim("refused", "wrong")
		s.create(refused)
		s.shows(t, refused, xpv1.ReasonBinding, "does not accept settings of the Database", "ask your platform team to correct the class")
	})
	s.create(config)
	t.Run("both go on by themselves", func(t *testing.T) {
		s.shows(t, class, xpv1.ReasonAvailable)
		s.shows(t, first, xpv1.ReasonAvailable)
		s.connects(t, first)
	})
	t.Run("what changes about processes has no class checked again", func(t *testing.T) { s.ignores(t, of, class) })
	mg := s.managedOf(first)
	t.Run("what is bound is deleted by its claim only (N39)", func(t *testing.T) {
		if err := s.Client.Delete(t.Context(), mg.DeepCopy()); !apierrors.IsForbidden(err) && !apierrors.IsInvalid(err) {
			t.Errorf("error %v", err)
		}
	})
	t.Run("claims are refused that set what the class does not use", func(t *testing.T) {
		s.refusals(t)
	})
	t.Run("Delete", func(t *testing.T) {
		s.must(s.Client.Delete(t.Context(), first))
		s.Eventually(t, "the claim is gone", testkit.Gone(s.Client, first))
		s.gone(mg)
		s.Eventually(t, "its Secret is gone", testkit.Gone(s.Client, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "first"}}))
	})
	t.Run("Retain, and another claim of what was retained", func(t *testing.T) { s.retains(t) })
	t.Run("controllers that are stopped in between go on", func(t *testing.T) { s.restarts(t) })
	t.Run("a TerraformProvider that is not ready affects new claims only", func(t *testing.T) { s.outlasts(t, of, class) })
	t.Run("a kind that is not served", func(t *testing.T) {
		foreign := s.claim("foreign", "")
		foreign.Spec.ResourceReference = &corev1.ObjectReference{APIVersion: "nowhere.tf.bowline.dev/v1alpha1", Kind: "Database", Name: "one"}
		s.create(foreign)
		s.shows(t, foreign, xpv1.ReasonBinding, "Database.nowhere.tf.bowline.dev, which spec.resourceRef names, are not served")
		s.must(s.Client.Delete(t.Context(), foreign))
		s.Eventually(t, "the claim is gone", testkit.Gone(s.Client, foreign))
	})
}

// ignores counts how often templates of classes are checked while the TerraformProvider shows other processes, and until it is not ready.
func (s *stage) ignores(t *testing.T, of *v1alpha1.TerraformProvider, class *v1alpha1.TerraformClass) {
	status := func(change func(*v1alpha1.TerraformProviderStatus)) {
		s.must(s.Client.Get(t.Context(), client.ObjectKeyFromObject(of), of))
		before := of.DeepCopy()
		change(&of.Status)
		s.must(s.Client.Status().Patch(t.Context(), of, client.MergeFrom(before)))
	}
	before, same := s.dryRuns.Load(), 0
	s.Eventually(t, "the classes have settled", func(context.Context) error {
		if now := s.dryRuns.Load(); now != before {
			before, same = now, 0
		}
		if same++; same < 10 {
			return errors.New("not yet")
		}
		return nil
	})
	for memory := range int64(10) {
		status(func(s *v1alpha1.TerraformProviderStatus) {
			s.Processes = []v1alpha1.Process{{Kind: "ProviderConfig", Name: "other", State: "Running", MemoryBytes: memory}}
		})
	}
	ready := of.GetCondition(xpv1.TypeReady)
	status(func(s *v1alpha1.TerraformProviderStatus) { s.SetConditions(xpv1.Unavailable()) })
	s.shows(t, class, "KindNotServed", "is not ready, and its condition Ready has the cause: bowline why terraformprovider/")
	if now := s.dryRuns.Load(); now != before {
		t.Errorf("templates were checked %d times", now-before)
	}
	status(func(s *v1alpha1.TerraformProviderStatus) { s.SetConditions(ready) })
	s.shows(t, class, xpv1.ReasonAvailable)
}

// refusals creates claims that get nothing, and says why.
func (s *stage) refusals(t *testing.T) {
	plain := s.class("plain", "Database", map[string]any{"name": "$(claim.uid)", "fancinessLevel": 10})
	unknown := s.class("unknown", "Database", map[string]any{"name": "db-$(claim.spec.engineVersion)", "fancinessLevel": 10})
	elsewhere := s.class("elsewhere", "Database", database())
	elsewhere.SpecTemplate.ClaimKind = "MySQLInstance"
	full := s.class("full", "Database", database())
	full.SpecTemplate.Claims.Max = new(int64(0))
	s.create(plain, unknown, elsewhere, full)
	s.shows(t, unknown, "InvalidSettings", "specTemplate.forProvider.name has", "engineVersion")
	for name, tc := range map[string]struct {
		tier   string
		change func(*databasev1alpha1.PostgreSQLInstance)
		reason xpv1.ConditionReason
		want   string
	}{
		"setting": {"plain", func(c *databasev1alpha1.PostgreSQLInstance) { c.Spec.EngineVersion = new("16") }, xpv1.ReasonBinding,
			"spec.engineVersion has no effect in class"},
		"external": {"plain", func(c *databasev1alpha1.PostgreSQLInstance) { meta.SetExternalName(c, "of-others") }, xpv1.ReasonBinding,
			"a claim cannot choose the external name"},
		"limit":    {"full", func(*databasev1alpha1.PostgreSQLInstance) {}, xpv1.ReasonLimitReached, "allows 0 claims"},
		"template": {"unknown", func(*databasev1alpha1.PostgreSQLInstance) {}, xpv1.ReasonBinding, "which is not known"},
		"selector": {"elsewhere", func(*databasev1alpha1.PostgreSQLInstance) {}, xpv1.ReasonNoMatchingClass, "No class for claims of this kind"},
		"kind": {"", func(c *databasev1alpha1.PostgreSQLInstance) {
			c.Spec.ClassReference = &corev1.ObjectReference{APIVersion: "tf.bowline.dev/v1alpha1", Kind: "TerraformClass", Name: elsewhere.Name}
		}, xpv1.ReasonClassNotFound, "is for claims of kind MySQLInstance"},
		"config": {"", func(c *databasev1alpha1.PostgreSQLInstance) {
			c.Spec.ResourceReference = &corev1.ObjectReference{APIVersion: s.name + ".tf.bowline.dev/v1alpha1", Kind: "ProviderConfig", Name: "default"}
		}, xpv1.ReasonResourceNotFound, "no provider has such managed resources"},
		"namespaced": {"", func(c *databasev1alpha1.PostgreSQLInstance) {
			c.Spec.ResourceReference = &corev1.ObjectReference{APIVersion: s.name + ".tf.m.bowline.dev/v1alpha1", Kind: "Database", Name: "one"}
		}, xpv1.ReasonResourceNotFound, "no provider has such managed resources"},
	} {
		c := s.claim("refused-"+name, tc.tier)
		tc.change(c)
		s.create(c)
		s.shows(t, c, tc.reason, tc.want)
		s.must(s.Client.Delete(t.Context(), c))
		s.Eventually(t, name+" is gone", testkit.Gone(s.Client, c))
	}
	changed := plain.DeepCopy()
	changed.SpecTemplate.Kind = "Network"
	if err := s.Client.Patch(t.Context(), changed, client.MergeFrom(plain)); !apierrors.IsInvalid(err) {
		t.Errorf("changing the kind of a class: error %v", err)
	}
	s.must(s.Client.Delete(t.Context(), plain))
	s.must(s.Client.Delete(t.Context(), unknown))
	s.must(s.Client.Delete(t.Context(), elsewhere))
}

// retains deletes the claim of a class with policy Retain, and gives what is left to another claim.
func (s *stage) retains(t *testing.T) {
	c := s.claim("retained", "kept")
	s.create(c)
	s.shows(t, c, xpv1.ReasonAvailable)
	mg := s.managedOf(c)
	s.must(s.Client.Delete(t.Context(), c))
	s.Eventually(t, "the claim is gone", testkit.Gone(s.Client, c))
	s.phase(t, mg, xpv1.BindingPhaseReleased)
	s.becomes(mg, xpv1.TypeReady)

	static := s.claim("static", "")
	static.Annotations = map[string]string{connection.AnnotationKeyConnectionKeys: `{"URL":"postgresql://$(username)@$(hostname)"}`}
	static.Spec.ResourceReference = &corev1.ObjectReference{APIVersion: mg.GetAPIVersion(), Kind: mg.GetKind(), Name: mg.GetName()}
	s.create(static)
	s.shows(t, static, xpv1.ReasonNotAllowed, "does not allow this claim")
	before := mg.DeepCopy()
	kube.RemoveNestedField(mg.Object, "spec", "claimRef")
	mg.SetAnnotations(map[string]string{meta.AnnotationKeyAllowedNamespaces: s.Namespace})
	for key, value := range before.GetAnnotations() {
		s.annotateAll(mg, key, value)
	}
	s.must(s.Client.Patch(t.Context(), mg, client.MergeFrom(before)))
	s.shows(t, static, xpv1.ReasonAvailable)
	s.connects(t, static)
	s.must(s.Client.Delete(t.Context(), static))
	s.Eventually(t, "the claim is gone", testkit.Gone(s.Client, static))
	s.phase(t, mg, xpv1.BindingPhaseReleased)
	s.must(client.IgnoreNotFound(s.Client.Patch(t.Context(), mg, client.RawPatch("application/merge-patch+json",
		[]byte(`{"spec":{"claimRef":null,"reclaimPolicy":"Delete"}}`)))))
	s.must(s.Client.Delete(t.Context(), mg))
	s.gone(mg)
}

func (s *stage) annotateAll(o *kube.Unstructured, key, value string) {
	annotations := o.GetAnnotations()
	annotations[key] = value
	o.SetAnnotations(annotations)
}

// outlasts checks claims while their TerraformProvider is not ready, and still serves their kind, and that no force deletes their data (N56).
func (s *stage) outlasts(t *testing.T, of *v1alpha1.TerraformProvider, class *v1alpha1.TerraformClass) {
	c := s.claim("outlasting", "normal")
	s.create(c)
	s.shows(t, c, xpv1.ReasonAvailable)
	before := of.DeepCopy()
	of.Spec.Version = "9.0.0"
	s.must(s.Client.Patch(t.Context(), of, client.MergeFrom(before)))
	s.shows(t, of, controller.ReasonServedInPart, "9.0.0")
	late := s.claim("late", "normal")
	s.create(late)
	s.shows(t, late, xpv1.ReasonAvailable)
	s.shows(t, class, xpv1.ReasonAvailable)
	s.shows(t, c, xpv1.ReasonAvailable)
	before = of.DeepCopy()
	of.Spec.Version = "1.0.0"
	s.must(s.Client.Patch(t.Context(), of, client.MergeFrom(before)))
	s.shows(t, of, xpv1.ReasonAvailable)
	s.must(s.Client.Delete(t.Context(), late))
	s.Eventually(t, "the claim is gone", testkit.Gone(s.Client, late))

	mg := s.managedOf(c)
	s.stop()
	s.must(s.Client.Patch(t.Context(), c, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))))
	s.must(s.Client.Delete(t.Context(), c))
	s.stop = s.run()
	s.phase(t, mg, xpv1.BindingPhaseReleased)
	s.must(s.Client.Delete(t.Context(), mg))
	s.gone(mg)
}

// restarts stops the controllers as soon as they created something for a claim, and while that is deleted.
func (s *stage) restarts(t *testing.T) {
	c := s.claim("restarted", "normal")
	s.create(c)
	created := func(ctx context.Context) (int, error) {
		list := &kube.UnstructuredList{}
		list.SetGroupVersionKind(s.object("DatabaseList", nil).GroupVersionKind())
		err := s.Client.List(ctx, list, client.MatchingLabels{"bowline.dev/claim-uid": string(c.UID)})
		return len(list.Items), err
	}
	s.Eventually(t, "something is created", func(ctx context.Context) error {
		if n, err := created(ctx); err != nil || n == 0 {
			return errors.Join(errors.New("nothing"), err)
		}
		return nil
	})
	s.stop()
	s.stop = s.run()
	s.shows(t, c, xpv1.ReasonAvailable)
	if n, err := created(t.Context()); n != 1 || err != nil {
		t.Errorf("%d were created, error %v (N11)", n, err)
	}
	mg := s.managedOf(c)
	s.stop()
	s.must(s.Client.Delete(t.Context(), c))
	s.stop = s.run()
	s.Eventually(t, "the claim is gone", testkit.Gone(s.Client, c))
	s.gone(mg)
}
