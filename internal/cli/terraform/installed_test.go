// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package terraform

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/internal/testkit/mirror"
	"github.com/bowline-dev/bowline/pkg/crd"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/providers/terraform/apis"
	"github.com/bowline-dev/bowline/providers/terraform/apis/crds"
	"github.com/bowline-dev/bowline/providers/terraform/apis/v1alpha1"
)

// newProviders has the API server of a test know TerraformProviders.
func newProviders(t *testing.T) *controlplanetest.Env {
	t.Helper()
	env := controlplanetest.New(t)
	definitions, err := crd.Load(crds.FS)
	if err == nil {
		err = controlplanetest.Install(t.Context(), env.Config, definitions...)
	}
	if err == nil {
		err = apis.AddToScheme(env.Scheme)
	}
	if err != nil {
		t.Fatal(err)
	}
	return env
}

func TestSchemaOfATerraformProvider(t *testing.T) {
	t.Parallel()
	env := newProviders(t)
	dataDir := t.TempDir()
	downloads, outside := filepath.Join(dataDir, "terraform-plugins"), t.TempDir()
	binary := func(path string) v1alpha1.TerraformProviderStatus {
		return v1alpha1.TerraformProviderStatus{Binary: path}
	}
	linked := func(name string, link func(string, string) error, folder string) v1alpha1.TerraformProviderStatus {
		path := filepath.Join(folder, name)
		if err := errors.Join(os.MkdirAll(folder, 0o700), link(mirror.Program(t, "reef"), path)); err != nil {
			t.Fatal(err)
		}
		return binary(path)
	}
	escape := filepath.Join(downloads, "escape")
	elsewhere := linked("terraform-provider-reef", os.Link, outside)
	if err := errors.Join(os.MkdirAll(downloads, 0o700), os.Symlink(outside, escape)); err != nil {
		t.Fatal(err)
	}
	served := []v1alpha1.ServedKind{{Type: "reef_berth", Kind: "Berth"}}
	for name, tc := range map[string]struct {
		status    v1alpha1.TerraformProviderStatus
		checksums []string
		args      []string
		want      string // of the output
		failed    string
	}{
		"types":     {status: v1alpha1.TerraformProviderStatus{Binary: mirror.Program(t, "reef")}, want: "reef_berth"},
		"a type":    {status: v1alpha1.TerraformProviderStatus{Binary: mirror.Program(t, "reef")}, args: []string{"reef_berth"}, want: "NAME.tf.bowline.dev/v1alpha1"},
		"not ready": {failed: "has no binary yet: see bowline why terraformprovider/NAME"},
		"another machine": {status: v1alpha1.TerraformProviderStatus{Binary: "/elsewhere/terraform-provider-reef", Kinds: served},
			failed: "is not on this machine: install it there, or run this where the controllers run"},
		"kinds that are served": {status: v1alpha1.TerraformProviderStatus{Binary: "/elsewhere/terraform-provider-reef", Kinds: served},
			failed: "bowline kubectl explain --api-version NAME.tf.bowline.dev/v1alpha1 "},
		"a download":                   {status: linked("terraform-provider-reef", os.Link, downloads), want: "reef_berth"},
		"another program":              {status: binary("/bin/true"), failed: "is not run here: if you trust it, name its folder with --terraform-plugins"},
		"a provider elsewhere (N98)":   {status: elsewhere, failed: "is not run here"},
		"a link out of a folder (N98)": {status: binary(filepath.Join(escape, "terraform-provider-reef")), failed: "is not run here"},
		"a path out of a folder":       {status: binary(downloads + "/../../" + filepath.Base(outside) + "/terraform-provider-reef"), failed: "is not run here"},
		"a relative path":              {status: binary("terraform-provider-reef"), failed: "is not run here"},
		"a folder":                     {status: binary(downloads), failed: "is not run here"},
		"a file that is not here":      {status: binary(filepath.Join(t.TempDir(), "terraform-provider-reef")), failed: "is not on this machine"},
		"another checksum":             {status: v1alpha1.TerraformProviderStatus{Binary: mirror.Program(t, "reef")}, checksums: []string{"sha256:" + strings.Repeat("0", 64)}, failed: "has the checksums"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			of := &v1alpha1.TerraformProvider{ObjectMeta: metav1.ObjectMeta{GenerateName: "a"},
				Spec: v1alpha1.TerraformProviderSpec{Path: "reef", Types: []string{"*"}, Checksums: tc.checksums}}
			if err := env.Client.Create(t.Context(), of); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = env.Client.Delete(t.Context(), of) })
			of.Status = tc.status
			if err := env.Client.Status().Update(t.Context(), of); err != nil {
				t.Fatal(err)
			}
			got := runOn(t, env, "", append([]string{"schema", of.Name, "--terraform-plugins", mirror.Providers(t), "--data-dir", dataDir}, tc.args...)...)
			want := strings.ReplaceAll(tc.want+tc.failed, "NAME", of.Name)
			if (got.failed != nil) != (tc.failed != "") || !strings.Contains(got.all(), want) {
				t.Errorf("want %q, got: %s", want, got.all())
			}
		})
	}
	t.Run("of no such name", func(t *testing.T) {
		t.Parallel()
		if got := runOn(t, env, "", "schema", "nowhere"); got.failed == nil || !strings.Contains(got.failed.Error(), "reading TerraformProvider nowhere: missing") {
			t.Error(got.all())
		}
	})
}

func TestExportByName(t *testing.T) {
	t.Parallel()
	env := newProviders(t)
	name, s := install(t, env, "shoal")
	o := objects(t, fill(s.Manifest("shoal_anchor", env.Namespace), env.Namespace, false))[0]
	o.SetName(env.Prefix + "a")
	meta.SetExternalName(o, "a")
	of := &v1alpha1.TerraformProvider{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.TerraformProviderSpec{Path: "shoal", Types: []string{"*"}}}
	if err := errors.Join(env.Client.Create(t.Context(), o), env.Client.Create(t.Context(), of)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = env.Client.Delete(context.Background(), of) })
	of.Status.Binary = mirror.Program(t, "shoal")
	if err := env.Client.Status().Update(t.Context(), of); err != nil {
		t.Fatal(err)
	}
	got := runOn(t, env, "", "export", "--all", "--provider", name, "--terraform-plugins", mirror.Providers(t))
	if got.failed != nil || !strings.Contains(got.out, `resource "shoal_anchor"`) {
		t.Error(got.all())
	}
	if got := runOn(t, env, "", "export", "--all", "--provider", name); got.failed == nil || !strings.Contains(got.failed.Error(), "is not run here") {
		t.Error(got.all())
	}
}
