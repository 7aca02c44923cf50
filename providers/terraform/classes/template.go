// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package classes

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
	"github.com/bowline-dev/bowline/pkg/resource/unstructured"
	"github.com/bowline-dev/bowline/providers/terraform/apis/v1alpha1"
)

// settings are the fields of the specs of claims, by kind, that are not common to all.
var settings = map[string][]string{
	"PostgreSQLInstance": {"engineVersion"},
	"MySQLInstance":      {"engineVersion"},
	"FancySQLInstance":   {"version"},
	"RedisCluster":       {"engineVersion"},
	"Bucket":             {"name", "predefinedACL", "localPermission"},
	"KubernetesCluster":  {"clusterVersion"},
}

// A configurator gives the managed resource of a claim the settings of its class.
type configurator struct{}

// Configure satisfies claimbinding.ManagedConfigurator. A claim chooses no external name: with one that exists its team would take over any
// resource that the credentials reach.
func (configurator) Configure(_ context.Context, cm resource.Claim, cs resource.Class, mg resource.Managed) error {
	tc, isClass := cs.(*v1alpha1.TerraformClass)
	to, isUntyped := mg.(*unstructured.Managed)
	if !isClass || !isUntyped {
		return fmt.Errorf("neither a TerraformClass nor a managed resource of its kind: %T, %T", cs, mg)
	}
	if meta.IsExternalNameProposed(mg) {
		return refused("a claim cannot choose the external name of a managed resource of class %q: create it without the annotation %s", tc.Name,
			meta.AnnotationKeyExternalName)
	}
	set, err := settingsOf(cm, tc.GetClaimKind())
	if err != nil {
		return err
	}
	t := newTemplate(cm, tc.GetClaimKind(), set)
	parameters, err := t.parameters(tc)
	if err != nil {
		return err
	}
	for _, field := range slices.Sorted(maps.Keys(set)) {
		if !t.used[field] {
			return refused("spec.%s has no effect in class %q: leave it out, or choose another class", field, tc.Name)
		}
	}
	to.Object["spec"] = map[string]any{"forProvider": parameters}
	return nil
}

// CheckManaged satisfies claimbinding.ManagedChecker. Without a class nothing relates settings of the claim to those of a resource type.
func (configurator) CheckManaged(_ context.Context, cm resource.Claim, mg resource.Managed) error {
	for _, fields := range settings {
		set, err := settingsOf(cm, "", fields...)
		if err != nil {
			return err
		}
		for field := range set {
			return refused("spec.%s cannot be compared with managed resource %q: create another claim, and leave the field out", field, mg.GetName())
		}
	}
	return nil
}

// refused is an error that the team reads.
func refused(format string, a ...any) error {
	return &failure.Error{Reason: xpv1.ReasonBinding, Message: fmt.Sprintf(format, a...)}
}

// wrongTemplate is an error about a class, which teams read, too.
func wrongTemplate(format string, a ...any) error {
	return &failure.Error{Reason: failure.InvalidSettings, Message: fmt.Sprintf(format, a...)}
}

// settingsOf returns the settings of a claim that it sets, of its kind and of some fields.
func settingsOf(cm resource.Claim, kind string, fields ...string) (map[string]any, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(cm)
	if err != nil {
		return nil, fmt.Errorf("reading the settings of the claim: %w", err)
	}
	spec, _ := content["spec"].(map[string]any)
	set := map[string]any{}
	for _, field := range append(fields, settings[kind]...) {
		if value := spec[field]; value != nil {
			set[field] = value
		}
	}
	return set, nil
}

// A template fills the settings of a class with what is known of a claim.
type template struct {
	texts map[string]string // by placeholder
	known []string          // settings that a claim may have
	set   map[string]any    // settings that it has
	used  map[string]bool   // settings that the class uses
}

func newTemplate(claim metav1.Object, kind string, set map[string]any) *template {
	return &template{known: settings[kind], set: set, used: map[string]bool{}, texts: map[string]string{
		"$$": "$", "$(claim.namespace)": claim.GetNamespace(), "$(claim.name)": claim.GetName(), "$(claim.uid)": string(claim.GetUID()),
	}}
}

func (t *template) parameters(tc *v1alpha1.TerraformClass) (any, error) {
	var all map[string]any
	if err := json.Unmarshal(tc.SpecTemplate.ForProvider.Raw, &all); err != nil {
		return nil, wrongTemplate("specTemplate.forProvider is no object: correct it")
	}
	return t.fill("specTemplate.forProvider", all)
}

// fill returns a value with texts in place of placeholders; nil for a setting that the claim leaves out.
func (t *template) fill(at string, value any) (any, error) {
	switch value := value.(type) {
	case map[string]any:
		filled := map[string]any{}
		for _, key := range slices.Sorted(maps.Keys(value)) {
			one, err := t.fill(at+"."+key, value[key])
			if err != nil {
				return nil, err
			}
			if one != nil {
				filled[key] = one
			}
		}
		return filled, nil
	case []any:
		filled := []any{}
		for i := range value {
			one, err := t.fill(fmt.Sprintf("%s[%d]", at, i), value[i])
			if err != nil {
				return nil, err
			}
			if one != nil {
				filled = append(filled, one)
			}
		}
		return filled, nil
	case string:
		return t.text(at, value)
	}
	return value, nil
}

var (
	placeholder = regexp.MustCompile(`\$\$|\$\([^)]*\)`)
	setting     = regexp.MustCompile(`^\$\(claim[.]spec[.]([^)]*)\)$`)
)

func (t *template) text(at, text string) (any, error) {
	if found := setting.FindStringSubmatch(text); found != nil {
		if !slices.Contains(t.known, found[1]) {
			return nil, t.unknown(at, text)
		}
		t.used[found[1]] = true
		return t.set[found[1]], nil
	}
	var err error
	filled := placeholder.ReplaceAllStringFunc(text, func(found string) string {
		replaced, known := t.texts[found]
		if !known {
			err = t.unknown(at, found)
		}
		return replaced
	})
	return filled, err
}

// unknown is for a text that names nothing of a claim, and for a setting that is only a part of a text.
func (t *template) unknown(at, text string) error {
	return wrongTemplate("%s has %q, which is not known: use $(claim.namespace), $(claim.name) or $(claim.uid), or as the "+
		"whole text $(claim.spec.FIELD) with one of %s; $$ is a dollar sign", at, text, strings.Join(t.known, ", "))
}
