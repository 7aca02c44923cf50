// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package codegen_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	cloud "github.com/bowline-dev/bowline/internal/codegen/testdata/cloud/apis"
	claims "github.com/bowline-dev/bowline/internal/codegen/testdata/cloud/apis/claims/v1alpha1"
	compute "github.com/bowline-dev/bowline/internal/codegen/testdata/cloud/apis/compute/v1alpha1"
	localcompute "github.com/bowline-dev/bowline/internal/codegen/testdata/cloud/apis/namespaced/compute/v1alpha1"
	localnetwork "github.com/bowline-dev/bowline/internal/codegen/testdata/cloud/apis/namespaced/network/v1alpha1"
	network "github.com/bowline-dev/bowline/internal/codegen/testdata/cloud/apis/network/v1alpha1"
	"github.com/bowline-dev/bowline/pkg/crd"
)

func TestMain(m *testing.M) {
	crds, err := crd.Load(os.DirFS("testdata/cloud/apis/crds"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(controlplanetest.Main(m, crds...))
}

func machine(t *testing.T, namespace, name, spec string) *unstructured.Unstructured {
	t.Helper()
	u := template(t, localcompute.MachineGroupVersionKind, name, "spec: "+spec)
	u.SetNamespace(namespace)
	return u
}

// What is generated from markers is what a real API server accepts, and does.
func TestAdmission(t *testing.T) {
	t.Parallel()
	env := controlplanetest.New(t)
	c := client.WithFieldValidation(env.Client, metav1.FieldValidationStrict)
	for name, tc := range map[string]struct{ spec, refused string }{
		"nothing (O32)":                {`{forProvider: {}}`, "spec.forProvider.image is required, there or in spec.initProvider"},
		"all by value (O32, R171)":     {`{forProvider: {image: a, networkId: b}}`, ""},
		"all at creation (O32, R171)":  {`{forProvider: {}, initProvider: {image: a, networkIdSelector: {}}}`, ""},
		"nothing where observed (O32)": {`{forProvider: {}, managementPolicies: [Observe]}`, ""},
		"within what is given (O32)":   {`{forProvider: {image: a, networkId: b, boot: {}}}`, "spec.forProvider.boot.firmware is required"},
		"within, at creation (O32)":    {`{forProvider: {image: a, networkId: b, boot: {}}, initProvider: {boot: {firmware: a}}}`, ""},
		"resolved anew (N33)":          {`{forProvider: {image: a, networkIdRef: {name: a, policy: {resolve: Always}}}}`, "policy.resolve must not be Always"},
		"resolved anew, at creation (N33)": {`{forProvider: {image: a}, initProvider: {networkIdRef: {name: a, policy: {resolve: Always}}}}`,
			"policy.resolve must not be Always"},
		"a Secret elsewhere (N2)":       {`{forProvider: {image: a, networkId: b, passwordSecretRef: {name: a, key: b, namespace: c}}}`, "leave namespace out"},
		"a Secret as Go writes it (N2)": {`{forProvider: {image: a, networkId: b, passwordSecretRef: {name: a, key: b, namespace: ""}}}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			expect(t, c.Create(t.Context(), machine(t, env.Namespace, strings.ToLower(strings.Map(letter, name)), tc.spec)), tc.refused)
		})
	}
}

// expect compares an error with a part of its message, empty for none.
func expect(t *testing.T, err error, refused string) {
	t.Helper()
	if (err == nil) != (refused == "") || err != nil && !strings.Contains(err.Error(), refused) {
		t.Errorf("got %v, want %q", err, refused)
	}
}

// patch merges YAML into an object on the server.
func patch(t *testing.T, env *controlplanetest.Env, object client.Object, text string) error {
	t.Helper()
	merge, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return env.Client.Patch(t.Context(), object.DeepCopyObject().(client.Object), client.RawPatch("application/merge-patch+json", merge))
}

// A step changes an object that exists; refused is a part of the message, empty for none.
type step struct{ name, patch, refused string }

// change applies steps, each of which builds on the others. within is the YAML around a patch.
func change(t *testing.T, env *controlplanetest.Env, object client.Object, within string, steps ...step) {
	t.Helper()
	for _, s := range steps {
		t.Run(s.name, func(t *testing.T) {
			expect(t, patch(t, env, object, strings.Replace(within, "…", s.patch, 1)), s.refused)
		})
	}
}

func letter(r rune) rune {
	switch r {
	case ' ', ',':
		return '-'
	case '(', ')':
		return -1
	}
	return r
}

func TestSetOnce(t *testing.T) {
	t.Parallel()
	env := controlplanetest.New(t)
	have := machine(t, env.Namespace, "m", `{forProvider: {image: a, networkIdRef: {name: a}, boot: {firmware: f}, disks: [{name: d, type: ssd}]}}`)
	if err := env.Client.Create(t.Context(), have); err != nil {
		t.Fatal(err)
	}
	change(t, env, have, "{spec: {forProvider: …}}",
		step{"what is unset may be set (N7)", `{networkId: net}`, ""},
		step{"but not changed then (N7)", `{networkId: other}`, "networkId is immutable"},
		step{"nor where it came from (N7, P71)", `{networkIdRef: {name: b}}`, "networkIdRef is immutable"},
		step{"its selector may be (P71)", `{networkIdSelector: {matchLabels: {a: b}}}`, ""},
		step{"a field within (N33)", `{boot: {firmware: other}}`, "boot.firmware is immutable"},
		step{"what holds it (N33)", `{boot: null}`, "boot.firmware is immutable"},
		step{"in the items of a list (N33)", `{disks: [{name: d, type: hdd}]}`, "type is immutable"},
		step{"of another item (N33)", `{disks: [{name: d, type: ssd}, {name: e, type: hdd}]}`, ""},
	)
}

// Immutable settings in spec.initProvider do not change either: they may identify the external resource.
func TestInitialSetOnce(t *testing.T) {
	t.Parallel()
	env := controlplanetest.New(t)
	for name, tc := range map[string]struct{ have, init, patch, refused string }{
		"what can change may (N7, R140)":         {`image: i, networkId: net`, `size: small`, `{initProvider: {size: large}}`, ""},
		"it does not change (N7)":                {`networkId: net`, `image: a`, `{initProvider: {image: b}}`, "image was set in spec.initProvider"},
		"nor is it removed (N7)":                 {`image: i`, `networkId: net`, `{initProvider: {networkId: null}}`, "networkId was set"},
		"nor what holds it (N33)":                {`image: i, networkId: net`, `boot: {firmware: f}`, `{initProvider: {boot: null}}`, "boot.firmware was set"},
		"nor all of it (N33)":                    {`image: i, networkId: net`, `boot: {firmware: f}`, `{initProvider: null}`, "boot.firmware was set"},
		"what is unset may be set (N7)":          {`image: i, networkId: net`, ``, `{initProvider: {boot: {firmware: f}}}`, ""},
		"it may become enforced (N7, R142)":      {`networkId: net`, `image: a`, `{forProvider: {image: a}, initProvider: null}`, ""},
		"but not as another one (N7, R142)":      {`networkId: net`, `image: a`, `{forProvider: {image: b}}`, "image was set in spec.initProvider"},
		"nor in an object (N7)":                  {`image: i, networkId: net`, `placement: {zone: a}`, `{initProvider: {placement: {zone: b}}}`, "placement.zone was set"},
		"an object may become enforced (N7)":     {`image: i, networkId: net`, `placement: {zone: a}`, `{forProvider: {placement: {zone: a, rack: r}}}`, ""},
		"an object, but not as another one (N7)": {`image: i, networkId: net`, `placement: {zone: a}`, `{forProvider: {placement: {zone: b}}}`, "placement.zone was set"},
		"objects in a list stay (N7)":            {`image: i, networkId: net`, `spares: [{zone: a}]`, `{initProvider: {size: large}}`, ""},
		"objects in a list do not change (N7)":   {`image: i, networkId: net`, `spares: [{zone: a}]`, `{initProvider: {spares: [{zone: b}]}}`, "spares was set"},
		"and become others nowhere (N7)":         {`image: i, networkId: net`, `spares: [{zone: a}]`, `{forProvider: {spares: [{zone: b}]}}`, "spares was set"},
		"forProvider counts (R140, R142)":        {`image: i, networkId: net`, `image: a`, `{initProvider: {image: b}}`, ""},
		"what a reference becomes (N7)":          {`image: i`, `networkIdRef: {name: a}`, `{initProvider: {networkId: net}}`, ""},
		"what a reference became (N7)":           {`image: i`, `networkIdRef: {name: a}, networkId: net`, `{initProvider: {networkId: b}}`, "networkId was set"},
		"what one in forProvider becomes (R142)": {
			`image: i, networkIdRef: {name: a}`, `networkId: net`, `{forProvider: {networkId: net}}`, ""},
		"but not as another (N7, N54, R142)": {
			`image: i, networkIdRef: {name: a}`, `networkId: net`, `{forProvider: {networkId: other}}`, "networkId was set in spec.initProvider"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			have := machine(t, env.Namespace, strings.ToLower(strings.Map(letter, name)),
				`{forProvider: {`+tc.have+`}, initProvider: {`+tc.init+`}}`)
			if err := env.Client.Create(t.Context(), have); err != nil {
				t.Fatal(err)
			}
			expect(t, patch(t, env, have, "{spec: "+tc.patch+"}"), tc.refused)
		})
	}
}

func TestResolveReferences(t *testing.T) {
	t.Parallel()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, cloud.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	env := controlplanetest.NewWithScheme(t, scheme)
	target := func(name string, of client.Object) {
		of.SetName(name)
		of.SetNamespace(env.Namespace)
		of.SetLabels(map[string]string{"is": name})
		of.SetAnnotations(map[string]string{"crossplane.io/external-name": name + "-id"})
		if err := env.Client.Create(t.Context(), of); err != nil {
			t.Fatal(err)
		}
	}
	net := &localnetwork.Network{}
	net.Spec.ForProvider = network.NetworkParameters{CIDRBlock: new("10.0.0.0/8")}
	target("net", net)
	kernel := &localcompute.Machine{}
	kernel.Spec.ForProvider = compute.MachineParameters{Size: "small", Image: new("i"), NetworkID: new("n")}
	target("kernel", kernel)
	kernel.Status.AtProvider.Name = "corn"
	if err := env.Client.Status().Update(t.Context(), kernel); err != nil {
		t.Fatal(err)
	}

	mg := &localcompute.Machine{ObjectMeta: metav1.ObjectMeta{Name: "m", Namespace: env.Namespace}}
	mg.Spec.ForProvider = compute.MachineParameters{
		NetworkIDRef:      &xpv1.Reference{Name: "net"},
		NeighbourSelector: &xpv1.Selector{MatchLabels: map[string]string{"is": "kernel"}},
		Disks:             []compute.Disk{{Name: "plain"}, {Name: "far", NetworkIDSelector: &xpv1.NamespacedSelector{}}},
	}
	mg.Spec.InitProvider = compute.MachineInitParameters{
		NetworkIDRef: &xpv1.Reference{Name: "nobody"},
		OwnerNameRef: &xpv1.Reference{Name: "kernel"},
		Boot:         &compute.Boot{KernelIDRef: &xpv1.Reference{Name: "kernel"}},
	}
	if err := mg.ResolveReferences(t.Context(), env.Client); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct{ got, want any }{
		"by name, in the namespace (R158, R161)": {*mg.Spec.ForProvider.NetworkID, "net-id"},
		"all that match (R162, R165, R170)":      {mg.Spec.ForProvider.NeighbourRefs, []xpv1.Reference{{Name: "kernel"}}},
		"what the extractor takes (T14)":         {mg.Spec.ForProvider.Neighbours, []string{"corn"}},
		"within a list (R158)":                   {*mg.Spec.ForProvider.Disks[1].NetworkID, "net-id"},
		"an item that refers to none (R158)":     {mg.Spec.ForProvider.Disks[0], compute.Disk{Name: "plain"}},
		"at creation only (R158)":                {*mg.Spec.InitProvider.OwnerName, "kernel-id"},
		"at creation, within a struct (R158)":    {*mg.Spec.InitProvider.Boot.KernelID, "kernel-id"},
		"not where there is a value (R142)":      {mg.Spec.InitProvider.NetworkID, (*string)(nil)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, tc.got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// template returns a class with settings.
func template(t *testing.T, gvk schema.GroupVersionKind, name, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{Object: map[string]any{}}
	if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
		t.Fatal(err)
	}
	u.SetGroupVersionKind(gvk)
	u.SetName(name)
	return u
}

func TestClassAdmission(t *testing.T) {
	t.Parallel()
	env := controlplanetest.New(t)
	c := client.WithFieldValidation(env.Client, metav1.FieldValidationStrict)
	machines, gateways := compute.MachineClassGroupVersionKind, network.GatewayClassGroupVersionKind
	in := func(settings string) string {
		return "{specTemplate: {writeConnectionSecretsToNamespace: a, " + settings + "}}"
	}
	for name, tc := range map[string]struct {
		gvk           schema.GroupVersionKind
		text, refused string
	}{
		"nothing (K21)":                 {gateways, `{}`, "specTemplate: Required"},
		"no namespace of secrets (K27)": {gateways, `{specTemplate: {forProvider: {}}}`, "writeConnectionSecretsToNamespace: Required"},
		"a field of no class (K27)":     {gateways, in(`status: {}, forProvider: {}`), "unknown field"},
		"no settings (K23)":             {machines, in(``), "forProvider: Required"},
		"all by value (K23, O32)":       {machines, in(`forProvider: {image: a, networkId: b}`), ""},
		"one by selector (K23, O32)":    {machines, in(`forProvider: {image: a, networkIdSelector: {}}`), ""},
		"without a demanded (K23, O32)": {machines, in(`forProvider: {networkId: b}`), "specTemplate.forProvider.image is required"},
		"within what is set (K23, O32)": {machines, in(`forProvider: {image: a, networkId: b, boot: {}}`), "boot.firmware is required"},
		"of other values (K23)":         {machines, in(`forProvider: {size: huge, image: a, networkId: b}`), "Unsupported value"},
		"resolved anew (N33)": {machines, in(`forProvider: {image: a, networkIdRef: {name: a, policy: {resolve: Always}}}`),
			"must not be Always"},
		"all that is common (K27)": {gateways,
			in(`forProvider: {}, reclaimPolicy: Retain, claims: {max: 3}, providerConfigRef: {name: a}`), ""},
		"a configuration of other kinds (K27, N2)": {gateways,
			in(`forProvider: {}, providerConfigRef: {kind: ClusterProviderConfig, name: a}`), "leave kind out"},
		"a policy that is none (K27)": {gateways, in(`forProvider: {}, reclaimPolicy: Orphan`), "Unsupported value"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			object := template(t, tc.gvk, env.Prefix+strings.ToLower(strings.Map(letter, name)), tc.text)
			err := c.Create(t.Context(), object)
			expect(t, err, tc.refused)
			if err == nil {
				remove(t, env, object)
			}
		})
	}
}

func remove(t *testing.T, env *controlplanetest.Env, object client.Object) {
	t.Helper()
	if err := env.Client.Delete(t.Context(), object); err != nil {
		t.Error(err)
	}
}

// A class may change, although managed resources that were created from it may not.
func TestClassEdit(t *testing.T) {
	t.Parallel()
	env := controlplanetest.New(t)
	class := template(t, compute.MachineClassGroupVersionKind, env.Prefix+"edited", `{specTemplate: {writeConnectionSecretsToNamespace: a,
		forProvider: {image: a, networkId: b, boot: {firmware: f, kernelId: k}, disks: [{name: d, type: ssd}]}}}`)
	if err := env.Client.Create(t.Context(), class); err != nil {
		t.Fatal(err)
	}
	change(t, env, class, "{specTemplate: {forProvider: …}}",
		step{"an immutable setting (K23)", `{image: other}`, ""},
		step{"one within (K23)", `{boot: {firmware: other}}`, ""},
		step{"one by a rule of the author's (K23)", `{boot: {kernelId: other}}`, ""},
		step{"what holds one (K23)", `{boot: null}`, ""},
		step{"one in a list (K23)", `{disks: [{name: d, type: hdd}]}`, ""},
		step{"what it comes from (K23)", `{networkId: null, networkIdRef: {name: c}}`, ""},
	)
	remove(t, env, class)
}

// The immutable settings of a claim do not change once it has its managed resource, at any depth of its spec.
func TestSettled(t *testing.T) {
	t.Parallel()
	env := controlplanetest.New(t)
	claim := template(t, claims.MachineClaimGroupVersionKind, "settled", `{spec: {size: large, place: {zone: a, namespace: here}}}`)
	claim.SetNamespace(env.Namespace)
	if err := env.Client.Create(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	change(t, env, claim, "{spec: …}",
		step{"before, it may change (K38)", `{place: {zone: b}}`, ""},
		step{"it is bound (K38)", `{resourceRef: {apiVersion: a/v1, kind: A, name: a}}`, ""},
		step{"one within a struct (K38)", `{place: {zone: c}}`, "place.zone is settled"},
		step{"one that is taken away (K38)", `{place: {zone: null}}`, "place.zone is settled"},
		step{"what holds it (K38)", `{place: null}`, "place.zone is settled"},
		step{"one of a reserved name (K38)", `{place: {namespace: there}}`, "place.namespace is settled"},
		step{"one at the top (K38)", `{size: small}`, "size is settled"},
		step{"others may change (K38)", `{purpose: p, place: {note: other}}`, ""},
	)
}

// What kubectl get shows of claims and classes.
func TestTables(t *testing.T) {
	t.Parallel()
	class := template(t, network.GatewayClassGroupVersionKind, "shown", `{specTemplate: {writeConnectionSecretsToNamespace: a,
		forProvider: {}, reclaimPolicy: Retain, claims: {max: 3}}}`)
	class.SetAnnotations(map[string]string{"resourceclass.crossplane.io/is-default-class": "true"})
	claim := template(t, claims.MachineClaimGroupVersionKind, "shown", `{spec: {size: small,
		classRef: {apiVersion: a/v1, kind: B, name: gold}, resourceRef: {apiVersion: a/v1, kind: R, name: machine-1}},
		status: {bindingPhase: Bound, conditions: [{type: Ready, status: "True", reason: Available, lastTransitionTime: "2023-12-18T22:48:06Z"}]}}`)
	env := controlplanetest.New(t, class, claim)
	for name, tc := range map[string]struct {
		gv   schema.GroupVersion
		path []string
		want []any
	}{
		"a class (T22)": {network.GroupVersion, []string{"gatewayclasses", "shown"}, []any{"shown", "default", "Retain", 3.0, "true"}},
		"a claim (T22)": {claims.GroupVersion, []string{"namespaces", env.Namespace, "machineclaims", "shown"},
			[]any{"shown", "Bound", "gold", "machine-1", "True", "small"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, row(t, env, tc.gv, tc.path)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// row asks the server for the table of one object, and returns its cells but the age.
func row(t *testing.T, env *controlplanetest.Env, gv schema.GroupVersion, path []string) []any {
	t.Helper()
	config := rest.CopyConfig(env.Config)
	config.APIPath, config.GroupVersion, config.NegotiatedSerializer = "/apis", &gv, scheme.Codecs.WithoutConversion()
	c, err := rest.RESTClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	text, err := c.Get().Suffix(path...).SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	table := metav1.Table{}
	if err := json.Unmarshal(text, &table); err != nil || len(table.Rows) != 1 {
		t.Fatalf("%d rows, %v", len(table.Rows), err)
	}
	cells := table.Rows[0].Cells
	return cells[:len(cells)-1]
}
