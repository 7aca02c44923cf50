// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package chart tests what the Helm chart installs. Package test/kubernetes installs it.
package chart

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"

	"github.com/bowline-dev/bowline/internal/testkit"
	"github.com/bowline-dev/bowline/test/plane"
)

const image = "registry.example.org/bowline:v1"

// objects are the objects of YAML documents, by kind, namespace and name.
type objects map[string]*unstructured.Unstructured

func decode(t *testing.T, content []byte) objects {
	t.Helper()
	all := objects{}
	for documents := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), 4096); ; {
		o := &unstructured.Unstructured{}
		err := documents.Decode(o)
		if err == io.EOF {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(o.Object) == 0 {
			continue
		}
		key := strings.Join([]string{o.GetKind(), o.GetNamespace(), o.GetName()}, "/")
		if all[key] != nil {
			t.Errorf("%s is there twice", key)
		}
		all[key] = o
	}
}

// kinds returns the objects of these kinds.
func (all objects) kinds(kinds ...string) objects {
	some := maps.Clone(all)
	maps.DeleteFunc(some, func(_ string, o *unstructured.Unstructured) bool { return !slices.Contains(kinds, o.GetKind()) })
	return some
}

// text returns a field of an object as text, empty if there is none.
func (all objects) text(key string, path ...string) string {
	if all[key] == nil {
		return ""
	}
	value, _, _ := unstructured.NestedFieldNoCopy(all[key].Object, path...)
	return fmt.Sprint(value)
}

// arguments of the controllers in a Deployment.
func (all objects) arguments(t *testing.T, deployment string) []string {
	t.Helper()
	o := all["Deployment/bowline-system/"+deployment]
	if o == nil {
		t.Fatalf("there is no Deployment %s, only %v", deployment, slices.Sorted(maps.Keys(all.kinds("Deployment"))))
	}
	containers, _, _ := unstructured.NestedSlice(o.Object, "spec", "template", "spec", "containers")
	arguments, _, _ := unstructured.NestedStringSlice(containers[0].(map[string]any), "args")
	return arguments
}

// A chart is the chart of the checkout.
type chart struct{ root string }

func open(t *testing.T) chart {
	t.Helper()
	if err := made(); err != nil {
		t.Fatal(err)
	}
	return chart{filepath.Join("..", "..")}
}

var made = sync.OnceValue(func() error {
	_, err := testkit.Make("helm")
	return errors.Join(err, plane.Build())
})

// helm runs a command on the chart.
func (c chart) helm(t *testing.T, command string, args ...string) (stdout []byte, err error) {
	t.Helper()
	chart := filepath.Join(c.root, "deploy", "helm", "bowline")
	arguments := map[string][]string{
		"template": {"template", "bowline", chart, "--namespace", "bowline-system"},
		"lint":     {"lint", chart, "--namespace", "bowline-system", "--strict"},
	}[command]
	cmd := exec.CommandContext(t.Context(), filepath.Join(c.root, "bin", "helm"), append(arguments, args...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err = cmd.Output()
	if err != nil {
		err = fmt.Errorf("%w: %s%s", err, stderr.String(), stdout)
	}
	return stdout, err
}

// template renders the chart with more settings, without its test.
func (c chart) template(t *testing.T, settings ...string) objects {
	t.Helper()
	args := []string{"--skip-tests", "--set", "image.repository=registry.example.org/bowline,image.tag=v1"}
	for _, setting := range settings {
		args = append(args, "--set", setting)
	}
	content, err := c.helm(t, "template", args...)
	if err != nil {
		t.Fatal(err)
	}
	return decode(t, content)
}

// The chart installs by default what bowline manifests prints, apart from the labels and annotations of Helm, and the namespace, which
// helm install creates.
func TestChartInstallsWhatManifestsPrints(t *testing.T) {
	c := open(t)
	printed, err := exec.CommandContext(t.Context(), filepath.Join(c.root, "bin", "bowline"), "manifests", "--image", image).Output()
	if err != nil {
		t.Fatal(err)
	}
	want := decode(t, printed)
	delete(want, "Namespace//bowline-system")
	got := c.template(t)
	for _, all := range []objects{got, want} {
		for _, o := range all {
			normalize(o)
		}
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got))); diff != "" {
		t.Fatalf("objects (-printed +chart):\n%s", diff)
	}
	for key, o := range want {
		if diff := cmp.Diff(o.Object, got[key].Object); diff != "" {
			t.Errorf("%s (-printed +chart):\n%s", key, diff)
		}
	}
}

// normalize removes what may differ: labels of the whole installation, which select nothing, Helm's annotation, the image's default policy,
// and rules that are there twice.
func normalize(o *unstructured.Unstructured) {
	labels, annotations := o.GetLabels(), o.GetAnnotations()
	maps.DeleteFunc(labels, func(name, _ string) bool {
		return strings.HasPrefix(name, "app.kubernetes.io/") || name == "helm.sh/chart"
	})
	delete(annotations, "helm.sh/resource-policy")
	for field, left := range map[string]map[string]string{"labels": labels, "annotations": annotations} {
		unstructured.RemoveNestedField(o.Object, "metadata", field)
		if len(left) > 0 {
			_ = unstructured.SetNestedStringMap(o.Object, left, "metadata", field)
		}
	}
	if rules, ok := o.Object["rules"].([]any); ok {
		o.Object["rules"] = uniq(rules)
	}
	containers, ok, _ := unstructured.NestedSlice(o.Object, "spec", "template", "spec", "containers")
	if ok {
		delete(containers[0].(map[string]any), "imagePullPolicy")
		_ = unstructured.SetNestedSlice(o.Object, containers, "spec", "template", "spec", "containers")
	}
}

// uniq returns what is in the list, in an order of its own.
func uniq(list []any) []any {
	all := map[string]any{}
	for _, item := range list {
		all[fmt.Sprint(item)] = item
	}
	var once []any
	for _, key := range slices.Sorted(maps.Keys(all)) {
		once = append(once, all[key])
	}
	return once
}

func TestChartSettings(t *testing.T) {
	c := open(t)
	t.Run("has no mistake that Helm finds", func(t *testing.T) {
		if _, err := c.helm(t, "lint", "--set", "image.repository=registry.example.org/bowline,image.tag=v1"); err != nil {
			t.Error(err)
		}
	})
	t.Run("keeps definitions", func(t *testing.T) {
		kept := c.template(t).kinds("CustomResourceDefinition", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")
		if len(kept) < 40 {
			t.Errorf("only %d definitions and policies are installed", len(kept))
		}
		for key, o := range kept {
			if o.GetAnnotations()["helm.sh/resource-policy"] != "keep" {
				t.Errorf("%s is deleted with the chart", key)
			}
		}
		if all := c.template(t, "crds.install=false").kinds("CustomResourceDefinition", "ValidatingAdmissionPolicy"); len(all) > 0 {
			t.Errorf("%d definitions are installed", len(all))
		}
	})
	t.Run("installs a part of the providers", func(t *testing.T) {
		all := c.template(t, "providers={core,sql}")
		if !slices.Contains(all.arguments(t, "bowline-controllers"), "--providers=core,sql") {
			t.Error(all.arguments(t, "bowline-controllers"))
		}
		for key := range all {
			if strings.Contains(key, "fcp") {
				t.Errorf("%s is installed", key)
			}
		}
		if rules := all.text("ClusterRole//bowline-controllers", "rules"); rules == "" || strings.Contains(rules, "fcp") {
			t.Error("the account has rights on kinds of fcp")
		}
	})
	t.Run("runs providers in Deployments of their own", func(t *testing.T) {
		all := c.template(t, `deployments[0].name=core,deployments[0].providers={core}`,
			`deployments[1].name=rest,deployments[1].providers={fcp,sql},deployments[1].replicas=3,deployments[1].watchLabelSelector=shard!=a`)
		if found := all.kinds("Deployment", "PodDisruptionBudget"); len(found) != 4 {
			t.Errorf("%d Deployments and budgets, want 4", len(found))
		}
		for deployment, want := range map[string][]string{
			"bowline-controllers-core": {"--providers=core"},
			"bowline-controllers-rest": {"--providers=fcp,sql", "--watch-label-selector=shard!=a"},
		} {
			for _, argument := range want {
				if !slices.Contains(all.arguments(t, deployment), argument) {
					t.Errorf("%s has the arguments %v, want %s", deployment, all.arguments(t, deployment), argument)
				}
			}
			for _, path := range []string{"selector", "template"} {
				if text := all.text("Deployment/bowline-system/"+deployment, "spec", path); !strings.Contains(text, "bowline.dev/deployment") {
					t.Errorf("the %s of %s is that of others: %s", path, deployment, text)
				}
			}
		}
	})
	t.Run("limits the use of Secrets to namespaces", func(t *testing.T) {
		all := c.template(t, "rbac.secretNamespaces={shop,platform}")
		if !slices.Contains(all.arguments(t, "bowline-controllers"), "--secret-namespaces=shop,platform") {
			t.Error(all.arguments(t, "bowline-controllers"))
		}
		if rules := all.text("ClusterRole//bowline-controllers", "rules"); rules == "" || strings.Contains(rules, "secrets") {
			t.Error("the account has rights on Secrets in all namespaces")
		}
		for _, namespace := range []string{"shop", "platform"} {
			rules := all.text("Role/"+namespace+"/bowline-controllers-secrets", "rules")
			for _, verb := range []string{"get", "list", "watch", "create", "patch", "delete"} {
				if !strings.Contains(rules, verb) {
					t.Errorf("in %s it may not %s Secrets", namespace, verb)
				}
			}
		}
	})
}

func TestChartMonitoring(t *testing.T) {
	all := open(t).template(t, "metrics.serviceMonitor.enabled=true", "metrics.prometheusRule.enabled=true", "metrics.dashboard.enabled=true",
		"networkPolicy.enabled=true")
	for key, want := range map[string]string{
		"Service/bowline-system/bowline-metrics":           "bowline-metrics",
		"ServiceMonitor/bowline-system/bowline":            "jobLabel:app.kubernetes.io/name",
		"PrometheusRule/bowline-system/bowline":            "BowlineDown",
		"ConfigMap/bowline-system/bowline-dashboard":       "bowline_managed_resources",
		"NetworkPolicy/bowline-system/bowline-controllers": "8081",
	} {
		if o := all[key]; o == nil || !strings.Contains(fmt.Sprint(o.Object), want) {
			t.Errorf("%s lacks %s: %v", key, want, o)
		}
	}
}

func TestChartRefuses(t *testing.T) {
	c := open(t)
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"no image":            {nil, "set image.repository"},
		"another namespace":   {[]string{"--set", "image.repository=r.example.org/b,image.tag=v1", "--namespace", "other"}, "namespace bowline-system"},
		"an unknown setting":  {[]string{"--set", "image.repository=r.example.org/b,replica=3"}, "replica"},
		"an unknown provider": {[]string{"--set", "image.repository=r.example.org/b,providers={core,aws}"}, "providers/1"},
		"no replica":          {[]string{"--set", "image.repository=r.example.org/b,replicas=0"}, "replicas"},
		"a provider that nobody runs": {[]string{"--set", "image.repository=r.example.org/b,image.tag=v1,deployments[0].name=a,deployments[0].providers={core,fcp}"},
			"none runs provider sql"},
		"a provider that is not installed": {[]string{"--set", "image.repository=r.example.org/b,image.tag=v1,providers={core},deployments[0].name=a,deployments[0].providers={core,sql}"},
			"sql is not among"},
		"a provider of two Deployments": {[]string{"--set", "image.repository=r.example.org/b,image.tag=v1,deployments[0].name=a,deployments[1].name=b,deployments[1].watchLabelSelector=x=y"},
			"is not the only one that runs provider core"},
		"two of a name":             {[]string{"--set", "image.repository=r.example.org/b,image.tag=v1,deployments[0].name=a,deployments[1].name=a"}, "two have the name a"},
		"no tag":                    {[]string{"--set", "image.repository=r.example.org/b"}, "image.tag"},
		"a flag of the chart":       {[]string{"--set", "image.repository=r.example.org/b,image.tag=v1,extraArgs={--leader-elect=false}"}, "extraArgs"},
		"a label of the chart":      {[]string{"--set", "image.repository=r.example.org/b,image.tag=v1,podLabels.app\\.kubernetes\\.io/name=other"}, "app.kubernetes.io/name"},
		"a section without content": {[]string{"--set", "image.repository=r.example.org/b,image.tag=v1,rbac=null"}, "rbac"},
		"a tag in the repository":   {[]string{"--set", "image.repository=r.example.org/b:v1"}, "repository"},
		"an old Kubernetes":         {[]string{"--set", "image.repository=r.example.org/b", "--kube-version", "1.33.0"}, "kubeVersion"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := c.helm(t, "template", tc.args...); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want one with %q", err, tc.want)
			}
		})
	}
}
