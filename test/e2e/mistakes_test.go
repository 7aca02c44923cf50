// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/favouritecloud"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/test/inspect"
	"github.com/bowline-dev/bowline/test/plane"
)

// Every mistake is reported on the object and in an event, and after its correction no restart is needed.
func mistakes(t *testing.T, s *stage) {
	p := s.Plane
	key := p.NewKey(t, plane.Project)
	for _, m := range []struct {
		name   string
		setup  func(t *testing.T, name string)
		reason failure.Reason
		wants  []string
		mend   func(t *testing.T, name string)
	}{
		{
			name:   "wrong-key",
			setup:  func(t *testing.T, name string) { p.Connect(t, name, "not-the-key") },
			reason: failure.ExternalSystemRefused,
			wants:  []string{"unauthorized"},
			mend:   func(t *testing.T, name string) { setKey(t, p, name, key) },
		},
		{
			name: "unknown-project",
			setup: func(t *testing.T, name string) {
				p.Connect(t, name, key)
				patch(t, p, p.Config(name), `{"spec":{"projectID":"nowhere"}}`)
			},
			reason: failure.ExternalSystemRefused,
			wants:  []string{"nowhere"},
			mend: func(t *testing.T, name string) {
				patch(t, p, p.Config(name), `{"spec":{"projectID":"`+plane.Project+`"}}`)
			},
		},
		{
			name:   "missing-secret",
			setup:  func(t *testing.T, name string) { p.Create(t, p.Config(name)) },
			reason: failure.ProviderConfigUnavailable,
			wants:  []string{"credentials-missing-secret", "not found"},
			mend:   func(t *testing.T, name string) { p.Create(t, credentials(name, key)) },
		},
		{
			name:   "missing-config",
			setup:  func(*testing.T, string) {},
			reason: failure.ProviderConfigUnavailable,
			wants:  []string{"missing-config", "not found"},
			mend:   func(t *testing.T, name string) { p.Connect(t, name, key) },
		},
		{
			name: "refused-name",
			setup: func(t *testing.T, name string) {
				p.Connect(t, name, key)
				annotate(t, p, name, meta.AnnotationKeyExternalName, "Not_A_Name")
			},
			reason: failure.InvalidSettings,
			wants:  []string{"name", "invalid"},
			mend:   func(t *testing.T, name string) { annotate(t, p, name, meta.AnnotationKeyExternalName, name) },
		},
	} {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			db := plane.Database(m.name, 20)
			db.Spec.ProviderConfigReference = ref(m.name)
			p.Create(t, db)
			m.setup(t, m.name)
			reportsFailure(t, p, m.name, m.reason, m.wants...)
			m.mend(t, m.name)
			works(t, p, m.name)
		})
	}
}

// A cloud that is down, and one without PostgreSQL.
func TestCloudTrouble(t *testing.T) {
	t.Parallel()
	p := plane.New(t, "--cloud=false")
	p.Up(t)
	bin := filepath.Join(t.TempDir(), "bin")
	cloud := favouritecloud.Config{DataDir: t.TempDir(), Listen: strings.TrimPrefix(p.Cloud, "http://"), PostgresSearchPath: []string{bin}}
	db := plane.Database("patient", 20)
	p.Create(t, db)
	p.Connect(t, "default", "key-to-come")
	reportsFailure(t, p, "patient", failure.ExternalSystemUnreachable, p.Cloud)

	running, err := inspect.StartCloud(cloud)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := running.Stop(); err != nil {
			t.Error(err)
		}
	})
	key, err := running.NewKey(t.Context(), plane.Project)
	if err != nil {
		t.Fatal(err)
	}
	setKey(t, p, "default", key)
	reportsFailure(t, p, "patient", failure.ExternalResourceFailed, "apt-get install postgresql")

	if err := os.Symlink(installed(t), bin); err != nil {
		t.Fatal(err)
	}
	works(t, p, "patient")
	if err := p.Client.Delete(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	p.Eventually(t, within, "the database is deleted", func(ctx context.Context) error { return p.Gone(ctx, "patient") })
}

// What admission and strict decoding refuse never reaches a controller.
func refusedAtAdmission(t *testing.T, s *stage) {
	file := filepath.Join(t.TempDir(), "db.yaml")
	for name, m := range map[string]struct{ spec, wants string }{
		"too small":     {spec: "forProvider: {name: a, fancinessLevel: 5}", wants: "should be greater than or equal to 10"},
		"unknown field": {spec: "forProvider: {name: a, fancinessLevel: 50, fancyness: 1}", wants: `unknown field "spec.forProvider.fancyness"`},
		"bad name":      {spec: "forProvider: {name: Not_A_Name, fancinessLevel: 50}", wants: "should match"},
		"half a secret": {
			spec:  "forProvider: {name: a, fancinessLevel: 50}\n  writeConnectionSecretToRef: {name: b}",
			wants: "give both name and namespace",
		},
	} {
		yaml := "apiVersion: database.fcp.crossplane.io/v1alpha3\nkind: FavouriteDBInstance\nmetadata: {name: refused}\nspec:\n  " + m.spec + "\n"
		if err := os.WriteFile(file, []byte(yaml), 0o600); err != nil {
			t.Fatal(err)
		}
		list := filepath.Join(t.TempDir(), "list.yaml") // as kubectl get -o yaml prints several
		items := "apiVersion: v1\nkind: List\nitems:\n- " + strings.ReplaceAll(strings.TrimSpace(yaml), "\n", "\n  ") + "\n"
		if err := os.WriteFile(list, []byte(items), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{file, list} {
			out, err := s.Run(t.Context(), "kubectl", "apply", "-f", path)
			if err == nil || !strings.Contains(out, m.wants) {
				t.Errorf("%s: kubectl apply -f %s ended with %v and said %q, want %q", name, filepath.Base(path), err, out, m.wants)
			}
		}
	}
}

func credentials(name, key string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: plane.Namespace, Name: "credentials-" + name},
		StringData: map[string]string{"key": key},
	}
}

func setKey(t *testing.T, p *plane.Plane, name, key string) {
	t.Helper()
	patch(t, p, credentials(name, ""), `{"stringData":{"key":"`+key+`"}}`)
}

// installed returns the folder of the machine's PostgreSQL programs.
func installed(t *testing.T) string {
	t.Helper()
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	if err != nil || len(found) == 0 {
		t.Fatalf("PostgreSQL is not installed: apt-get install postgresql (%v)", err)
	}
	return found[len(found)-1]
}

func ref(name string) *xpv1.ProviderConfigReference { return &xpv1.ProviderConfigReference{Name: name} }
