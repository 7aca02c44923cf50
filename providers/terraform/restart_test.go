// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package terraform_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	kube "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/testkit/mirror"
	"github.com/bowline-dev/bowline/providers/terraform/apis/v1alpha1"
)

// publish adds a program as a version of reef to a filesystem mirror, and returns the folder of the version.
func publish(t *testing.T, folder, version, program string) string {
	t.Helper()
	of := filepath.Join(folder, filepath.FromSlash(reefAddress), version)
	if err := os.MkdirAll(filepath.Join(of, platform), 0o700); err != nil {
		t.Fatal(err)
	}
	copyFile(t, program, filepath.Join(of, platform, "terraform-provider-reef_v"+version))
	return of
}

// labelled has settings whose loss shows: a label of the external resource, and a key of the connection Secret.
func labelled(resourceType string) v1alpha1.TypeSettings {
	return v1alpha1.TypeSettings{Type: resourceType, Ownership: "tags", ConnectionKeys: []string{"endpoint"}}
}

// configure creates the configuration of the provider.
func (s *stage) configure() {
	s.t.Helper()
	s.must(s.Client.Create(s.t.Context(), s.object("ProviderConfig", map[string]any{"configuration": map[string]any{"folder": s.folder}})))
}

// berth creates a berth, with a tag of its own beside the label, and waits until it is ready.
func (s *stage) berth() *kube.Unstructured {
	s.t.Helper()
	o := s.object("Berth", map[string]any{
		"forProvider":                map[string]any{"name": "north", "tags": map[string]any{"team": "harbour"}},
		"writeConnectionSecretToRef": map[string]any{"namespace": s.Namespace, "name": "north"},
	})
	s.must(s.Client.Create(s.t.Context(), o))
	s.becomes(o, xpv1.TypeReady)
	return o
}

// edit changes the spec of a TerraformProvider.
func (s *stage) edit(of *v1alpha1.TerraformProvider, change func(*v1alpha1.TerraformProviderSpec)) {
	s.t.Helper()
	s.must(s.Client.Get(s.t.Context(), client.ObjectKeyFromObject(of), of))
	before := of.DeepCopy()
	change(&of.Spec)
	s.must(s.Client.Patch(s.t.Context(), of, client.MergeFrom(before)))
}

// remove deletes an object, and waits until it is gone.
func (s *stage) remove(o *kube.Unstructured) {
	s.t.Helper()
	s.must(s.Client.Delete(s.t.Context(), o))
	s.gone(o)
}

// outside is what exists of a resource type.
func (s *stage) outside(resourceType string) (all []string) {
	s.t.Helper()
	files, err := filepath.Glob(filepath.Join(s.folder, resourceType, "*.json"))
	s.must(err)
	for _, file := range files {
		content, err := os.ReadFile(file)
		s.must(err)
		all = append(all, string(content))
	}
	return all
}

// resizes changes the size of a berth, and waits until the external resource has it: with the label of the owner, and with all keys of the
// connection Secret.
func (s *stage) resizes(berth *kube.Unstructured, size int64) {
	s.t.Helper()
	s.must(s.Client.Get(s.t.Context(), client.ObjectKeyFromObject(berth), berth))
	before := berth.DeepCopy()
	s.must(kube.SetNestedField(berth.Object, size, "spec", "forProvider", "size"))
	s.must(s.Client.Patch(s.t.Context(), berth, client.MergeFrom(before)))
	s.Eventually(s.t, fmt.Sprintf("the berth has the size %d", size), func(ctx context.Context) error {
		s.must(s.Client.Get(ctx, client.ObjectKeyFromObject(berth), berth))
		conditions, _, _ := kube.NestedSlice(berth.Object, "status", "conditions")
		tp := &v1alpha1.TerraformProvider{}
		_ = s.Client.Get(ctx, client.ObjectKey{Name: s.name}, tp)
		if got, _, _ := kube.NestedInt64(berth.Object, "status", "atProvider", "size"); got != size {
			return fmt.Errorf("it has %d, with %v, and the TerraformProvider has %v", got, conditions, tp.Status.Conditions)
		}
		return nil
	})
	s.becomes(berth, xpv1.TypeReady)
	s.becomes(berth, xpv1.TypeSynced)
	if all := s.outside("reef_berth"); len(all) != 1 || !strings.Contains(all[0], string(berth.GetUID())) || !strings.Contains(all[0], "harbour") {
		s.t.Errorf("the external resources are %v: want one with the label of its owner and its own tag", all)
	}
	secret := &corev1.Secret{}
	s.must(s.Client.Get(s.t.Context(), client.ObjectKey{Namespace: s.Namespace, Name: "north"}, secret))
	if len(secret.Data["endpoint"]) == 0 || len(secret.Data["password"]) == 0 {
		s.t.Errorf("the connection Secret has the keys %v", secret.Data)
	}
}

// served waits until status has exactly some resource types.
func (s *stage) served(of *v1alpha1.TerraformProvider, want ...string) {
	s.t.Helper()
	s.Eventually(s.t, fmt.Sprintf("status has the types %v", want), func(ctx context.Context) error {
		s.must(s.Client.Get(ctx, client.ObjectKeyFromObject(of), of))
		var got []string
		for _, kind := range of.Status.Kinds {
			got = append(got, kind.Type)
		}
		if !slices.Equal(got, want) {
			return fmt.Errorf("it has %v, and conditions %v", got, of.Status.Conditions)
		}
		return nil
	})
}

// A type that is removed from a spec is served until its objects are deleted, with its settings, also by the next controllers; and so are the
// others.
func TestRemovedTypes(t *testing.T) {
	t.Parallel()
	remove := func(spec *v1alpha1.TerraformProviderSpec) {
		spec.Types, spec.TypeSettings = []string{"reef_pier"}, nil
	}
	for name, tc := range map[string]struct {
		while   func(s *stage, of *v1alpha1.TerraformProvider) // the controllers run
		between func(s *stage, of *v1alpha1.TerraformProvider) // they do not
	}{
		"removed while controllers run": {while: func(s *stage, of *v1alpha1.TerraformProvider) {
			s.edit(of, remove)
			s.unready(of, "is served until its objects are deleted, such as Berth default")
		}},
		"removed while no controllers run": {between: func(s *stage, of *v1alpha1.TerraformProvider) { s.edit(of, remove) }},
		"removed, and the TerraformProvider deleted": {while: func(s *stage, of *v1alpha1.TerraformProvider) {
			s.edit(of, remove)
			s.must(s.Client.Delete(s.t.Context(), of))
			s.Eventually(s.t, "it waits for its objects", func(ctx context.Context) error {
				s.must(s.Client.Get(ctx, client.ObjectKeyFromObject(of), of))
				if c := of.GetCondition(xpv1.TypeReady); !strings.Contains(c.Message, "deletion waits") {
					return fmt.Errorf("%s: %s", c.Status, c.Message)
				}
				return nil
			})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, mirror.Providers(t))
			stop := s.run()
			of := s.provider(v1alpha1.TerraformProviderSpec{Source: "bowline-dev/reef", Version: "1.0.0", Types: []string{"reef_berth", "reef_pier"},
				TypeSettings: []v1alpha1.TypeSettings{labelled("reef_berth")}})
			s.ready(of)
			s.configure()
			berth := s.berth()
			pier := s.object("Pier", map[string]any{"forProvider": map[string]any{"name": "south"}})
			s.must(s.Client.Create(t.Context(), pier))
			s.becomes(pier, xpv1.TypeReady)
			if tc.while != nil {
				tc.while(s, of)
			}
			s.resizes(berth, 2)
			stop()

			if tc.between != nil {
				tc.between(s, of)
			}
			s.run()
			s.resizes(berth, 3)
			s.served(of, "reef_berth", "reef_pier")
			s.remove(pier)
			s.remove(berth)
			if all := s.outside("reef_berth"); len(all) > 0 {
				t.Errorf("what is deleted exists outside: %v", all)
			}
			if of.DeletionTimestamp != nil {
				s.gone(of)
				return
			}
			s.edit(of, func(spec *v1alpha1.TerraformProviderSpec) { spec.Version = "~> 1.0" }) // which is looked at before the folder is
			s.ready(of)
			s.served(of, "reef_pier")
		})
	}
}

// What is wrong in a spec takes nothing away that was served, also by the next controllers.
func TestWrongSpecAfterRestart(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		wrong func(*v1alpha1.TerraformProviderSpec)
		want  string
	}{
		"settings that the type refuses": {func(spec *v1alpha1.TerraformProviderSpec) { spec.TypeSettings[0].Ownership = "size" },
			"resource type reef_berth: ownership of spec.typeSettings: "},
		"a type that there is not": {func(spec *v1alpha1.TerraformProviderSpec) { spec.Types = append(spec.Types, "reef_boat") },
			"the provider has no resource type reef_boat, in spec.types, but "},
		"a removed type, and one that there is not": {func(spec *v1alpha1.TerraformProviderSpec) {
			spec.Types, spec.TypeSettings = []string{"reef_boat"}, nil
		}, "resource type reef_berth is not in spec.types"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, mirror.Providers(t))
			stop := s.run()
			of := s.provider(v1alpha1.TerraformProviderSpec{Source: "bowline-dev/reef", Version: "1.0.0", Types: []string{"reef_berth"},
				TypeSettings: []v1alpha1.TypeSettings{labelled("reef_berth")}})
			s.ready(of)
			s.configure()
			berth := s.berth()
			s.edit(of, tc.wrong)
			s.unready(of, tc.want)
			s.resizes(berth, 2)
			stop()

			s.run()
			s.resizes(berth, 3)
			s.unready(of, tc.want)
			s.remove(berth)
		})
	}
}

// A newer version that cannot serve what has objects does not take the place of the one in use, also not for the next controllers.
func TestUnusableNewerVersion(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		program func(t *testing.T) string
		want    string
	}{
		"no provider": {func(t *testing.T) string {
			path := filepath.Join(t.TempDir(), "garbage")
			newScript(t, path, "echo no")
			return path
		}, "does not answer as a Terraform provider"},
		"a provider without the type": {func(t *testing.T) string { return mirror.Program(t, "shoal") },
			"the provider has no resource type reef_berth any more, and it has objects, such as Berth default"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			publish(t, folder, "1.0.0", mirror.Program(t, "reef"))
			s := newStage(t, folder)
			stop := s.run()
			of := s.provider(v1alpha1.TerraformProviderSpec{Source: "bowline-dev/reef", Version: "~> 1.0", Types: []string{"reef_b*"},
				TypeSettings: []v1alpha1.TypeSettings{labelled("reef_berth")}})
			s.ready(of)
			s.configure()
			berth := s.berth()
			publish(t, folder, "1.1.0", tc.program(t))
			s.edit(of, func(spec *v1alpha1.TerraformProviderSpec) { spec.Version = "~> 1" }) // which is looked at before the folder is
			s.unready(of, tc.want)
			s.resizes(berth, 2)
			stop()

			s.run()
			s.resizes(berth, 3)
			s.unready(of, tc.want)
			if of.Status.Version != "1.0.0" {
				t.Errorf("status has the version %s", of.Status.Version)
			}
			s.remove(berth)
		})
	}
}

// Where the only version lacks a type that has objects, the next controllers serve the others. The former version serves its objects again.
func TestLostType(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	former := publish(t, folder, "1.0.0", mirror.Program(t, "reef"))
	s := newStage(t, folder)
	stop := s.run()
	of := s.provider(v1alpha1.TerraformProviderSpec{Source: "bowline-dev/reef", Version: "~> 1.0", Types: []string{"reef_berth"},
		TypeSettings: []v1alpha1.TypeSettings{labelled("reef_berth")}})
	s.ready(of)
	s.configure()
	berth := s.berth()
	stop()

	publish(t, folder, "1.1.0", mirror.Program(t, "shoal"))
	s.must(os.Rename(former, folder+"/former"))
	s.edit(of, func(spec *v1alpha1.TerraformProviderSpec) {
		spec.Types, spec.TypeSettings = []string{"shoal_berth"}, nil
	})
	stop = s.run()
	s.served(of, "shoal_berth", "reef_berth")
	s.unready(of, "the provider has no resource type reef_berth any more, and it has objects, such as Berth default")
	s.has(berth, xpv1.TypeSynced, corev1.ConditionFalse, "does not serve reef_berth any more")
	other := s.object(of.Status.Kinds[0].Kind, map[string]any{"forProvider": map[string]any{"name": "east"}})
	s.must(s.Client.Create(t.Context(), other))
	s.becomes(other, xpv1.TypeReady)
	s.remove(other)
	stop()

	s.must(os.Rename(folder+"/former", former))
	s.edit(of, func(spec *v1alpha1.TerraformProviderSpec) { spec.Version = "1.0.0" })
	s.run()
	s.resizes(berth, 2)
	s.remove(berth)
}

// A definition that the API server does not take keeps the next controllers from serving its type only.
func TestRefusedDefinition(t *testing.T) {
	t.Parallel()
	s := newStage(t, mirror.Providers(t))
	stop := s.run()
	of := s.provider(v1alpha1.TerraformProviderSpec{Source: "bowline-dev/reef", Version: "1.0.0", Types: []string{"reef_berth"},
		TypeSettings: []v1alpha1.TypeSettings{labelled("reef_berth")}})
	s.ready(of)
	s.configure()
	berth := s.berth()
	stop()

	others := &kube.Unstructured{Object: map[string]any{"spec": map[string]any{
		"group": s.name + ".tf.bowline.dev", "scope": "Cluster", "names": map[string]any{"kind": "Chart", "plural": "charts"},
		"versions": []any{map[string]any{"name": "v1", "served": true, "storage": true, "schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object"}}}},
	}}}
	others.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	others.SetName("charts." + s.name + ".tf.bowline.dev")
	s.must(s.Client.Create(t.Context(), others))
	s.edit(of, func(spec *v1alpha1.TerraformProviderSpec) { spec.Types = append(spec.Types, "reef_chart") })
	s.run()
	s.resizes(berth, 2)
	s.unready(of, others.GetName()+" is skipped")
	s.served(of, "reef_berth")
	s.remove(berth)
}
