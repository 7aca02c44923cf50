// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/favouritecloud"
	"github.com/bowline-dev/bowline/favouritecloud/sdk"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/network"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/meta"
	networkv1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/network/v1alpha3"
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
			wants:  []string{"credentials-missing-secret", "does not exist"},
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
				t.Errorf("%s: kubectl apply -f %s ended with %v and printed %q, want %q", name, filepath.Base(path), err, out, m.wants)
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

// Scenario 5: the cloud created the network, and its name was not recorded. It is found without manual intervention.
func cutOff(t *testing.T, s *stage) {
	deaf := sdk.FaultRule{DropRate: 1, Match: &sdk.FaultMatch{Method: http.MethodPost, Service: "networks"}}
	slow := sdk.FaultRule{Latency: "20s", Match: &sdk.FaultMatch{Method: http.MethodGet, Service: "networks"}} // no poll before the kill
	s.disturb(t, deaf, slow)
	if err := s.Admin(t).ResetStats(t.Context()); err != nil {
		t.Fatal(err)
	}
	n := newNetwork("cut-off")
	s.Create(t, n)
	s.Eventually(t, within, "the cloud has created a network and lost the answer", func(ctx context.Context) error {
		n, err := s.creations(ctx, t) // Go's client repeats it on each connection that it reuses
		if err == nil && n == 0 {
			err = errors.New("no network was created")
		}
		return err
	})
	if err := s.Client.Get(t.Context(), client.ObjectKeyFromObject(n), n); err != nil {
		t.Fatal(err)
	}
	if !meta.ExternalCreateIncomplete(n) || meta.GetExternalName(n) != "" {
		t.Errorf("the creation is recorded already: %v", n.Annotations)
	}
	s.Kill(t)
	s.Up(t)
	awaitSettled(t, s.Plane, n)
	found, err := s.cloud.Networks.List(t.Context(), inspect.OwnedBy(n.UID))
	if err != nil || len(found) != 1 || found[0].ID != meta.GetExternalName(n) {
		t.Errorf("the cloud has %+v (%v), want one network, %s", found, err, meta.GetExternalName(n))
	}
	if again, err := s.creations(t.Context(), t); err != nil || again > 0 {
		t.Errorf("since the kill, the network was created %d times more, %v", again, err)
	}
	listed := func(flags ...string) bool {
		t.Helper()
		out, err := s.Run(t.Context(), append([]string{"leaks"}, flags...)...)
		if err != nil {
			t.Errorf("bowline leaks: %v\n%s", err, out)
		}
		return strings.Contains(out, n.Name)
	}
	if listed() || listed("--external") {
		t.Error("bowline leaks lists a network that is the only one of its object")
	}
	second := network.CreateNetworkInput{CIDRBlock: "10.0.0.0/16", Labels: inspect.OwnedBy(n.UID)}
	if _, err := s.cloud.Networks.Create(t.Context(), second); err != nil {
		t.Fatal(err)
	}
	if listed() || !listed("--external") {
		t.Error("only bowline leaks --external should list an object that has two networks (N88)")
	}
}

// disturb sets faults that need not end with the test: a kill may forget them.
func (s *stage) disturb(t *testing.T, rules ...sdk.FaultRule) {
	t.Helper()
	if err := s.Admin(t).SetFaults(t.Context(), rules...); err != nil {
		t.Fatal(err)
	}
}

// creations returns how often the creation of a network was requested.
func (s *stage) creations(ctx context.Context, t *testing.T) (int, error) {
	stats, err := s.Admin(t).Stats(ctx)
	return stats.Count(http.MethodPost, "networks", ""), err
}

// newNetwork returns a network of no namespace.
func newNetwork(name string) *networkv1alpha3.Network {
	n := &networkv1alpha3.Network{ObjectMeta: metav1.ObjectMeta{Name: name}}
	n.Spec.ForProvider.CIDRBlock = new("10.0.0.0/16")
	return n
}
