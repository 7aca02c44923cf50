// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/test/plane"
)

// teamPlatform is what the platform team prepares, in the order of creation: a class whose databases keep their Secrets in
// namespace platform, another team's things, and a database of the platform's that no claim may have. Its annotation keeps
// it from costing anything.
const teamPlatform = `
apiVersion: v1
kind: Namespace
metadata: {name: platform}
---
apiVersion: database.fcp.crossplane.io/v1alpha3
kind: FavouriteDBInstanceClass
metadata:
  name: small
  annotations: {resourceclass.crossplane.io/is-default-class: "true"}
specTemplate:
  writeConnectionSecretsToNamespace: platform
  forProvider: {fancinessLevel: 20}
---
apiVersion: v1
kind: Secret
metadata: {name: db, namespace: rival}
---
apiVersion: database.crossplane.io/v1alpha1
kind: PostgreSQLInstance
metadata: {name: db, namespace: rival}
spec: {classRef: {apiVersion: database.fcp.crossplane.io/v1alpha3, kind: FavouriteDBInstanceClass, name: none}}
---
apiVersion: v1
kind: ResourceQuota
metadata: {name: limit, namespace: shop}
spec: {hard: {count/configmaps: 5}}
---
apiVersion: database.fcp.crossplane.io/v1alpha3
kind: FavouriteDBInstance
metadata: {name: crown-jewels, annotations: {crossplane.io/paused: "true"}}
spec:
  forProvider: {name: crown-jewels, fancinessLevel: 20}
  writeConnectionSecretToRef: {namespace: platform, name: crown-jewels}
---
apiVersion: v1
kind: Secret
metadata: {name: crown-jewels, namespace: platform}
type: connection.crossplane.io/v1alpha1
stringData: {password: kept}
`

// teamClaim is all that a team writes.
const teamClaim = `
apiVersion: database.crossplane.io/v1alpha1
kind: PostgreSQLInstance
metadata: {name: db, namespace: shop}
spec: {writeConnectionSecretToRef: {name: db}}
`

// TestTeam works as a team does: it gets a database by a claim, and nothing that is not its own.
func TestTeam(t *testing.T) {
	t.Parallel()
	p := plane.New(t)
	p.Up(t)
	p.Connect(t, "default", p.NewKey(t, plane.Project))
	team := newPerson(t, p, "shop")
	rival := newPerson(t, p, "rival")
	admin := &person{plane: p, client: p.Client, kubeconfig: filepath.Join(p.Dir, "admin.kubeconfig")}
	for _, text := range strings.Split(teamPlatform, "---") {
		admin.apply(t, text)
	}

	t.Run("may", func(t *testing.T) { teamMay(t, team) })
	t.Run("may not", func(t *testing.T) {
		for _, requests := range []map[string]forbiddenCall{forbiddenOfPlatform(), forbiddenOfCluster()} {
			for name, request := range requests {
				team.isRefused(t, name, request, admin)
			}
		}
	})
	t.Run("static claim", func(t *testing.T) { teamGetsNothingByName(t, team) })
	t.Run("target (N27)", func(t *testing.T) { teamConnectsToItsOwn(t, team, rival) })
	t.Run("proposed name", func(t *testing.T) { teamGetsNothingByExternalName(t, rival, team, admin) })
	t.Run("forged propagation", func(t *testing.T) { forgedSecretStaysEmpty(t, team, admin) })
	t.Run("no credentials", func(t *testing.T) {
		for namespace, why := range map[string]string{
			plane.Namespace: "has the events of all cluster-scoped objects", "platform": "FavouriteDBInstance",
		} {
			out, err := p.Run(t.Context(), "user", "create", "spy", "--namespace", namespace)
			if err == nil || !strings.Contains(out, why) {
				t.Errorf("a team works in namespace %s: %v\n%s", namespace, err, out)
			}
		}
	})
	t.Run("revoked", func(t *testing.T) {
		if out, err := p.Run(t.Context(), "user", "revoke", "shop"); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		p.Eventually(t, time.Second, "the token opens nothing", func(ctx context.Context) error {
			code, err := team.ask(ctx, t, apiCall{path: "/api/v1/namespaces/shop/secrets"})
			if code != http.StatusForbidden && code != http.StatusUnauthorized {
				return fmt.Errorf("answer %d, %v", code, err)
			}
			return nil
		})
		p.Eventually(t, 30*time.Second, "the server knows the team no longer", func(ctx context.Context) error {
			if code, err := team.ask(ctx, t, apiCall{path: "/apis"}); code != http.StatusUnauthorized {
				return fmt.Errorf("answer %d, %v", code, err)
			}
			return nil
		})
	})
}

// A person has access to a plane.
type person struct {
	plane      *plane.Plane
	client     client.Client
	kubeconfig string
	http       *http.Client
	host       string
}

// newPerson creates a team that works in the namespace of its name.
func newPerson(t *testing.T, p *plane.Plane, name string) *person {
	t.Helper()
	created := &person{plane: p, kubeconfig: filepath.Join(t.TempDir(), name+".kubeconfig")}
	out, err := p.Run(t.Context(), "user", "create", name, "--namespace", name, "-o", created.kubeconfig)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if info, err := os.Stat(created.kubeconfig); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the kubeconfig: %v, %v", info, err)
	}
	created.client, err = client.New(created.config(t), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return created
}

func (p *person) config(t *testing.T) *rest.Config {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", p.kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	return config
}

func (p *person) apply(t *testing.T, text string) {
	t.Helper()
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
		t.Fatal(err)
	}
	if err := p.client.Create(t.Context(), o); err != nil {
		t.Fatalf("creating %s %s: %v", o.GetKind(), o.GetName(), err)
	}
}

// kubectl returns what bowline kubectl prints with the person's kubeconfig.
func (p *person) kubectl(t *testing.T, args ...string) string {
	t.Helper()
	out, err := p.plane.Run(t.Context(), append([]string{"kubectl", "--kubeconfig", p.kubeconfig}, args...)...)
	if err != nil {
		t.Errorf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// An apiCall is one request to the API server.
type apiCall struct {
	method string // GET by default
	path   string
	body   string
	as     string // impersonated user
}

// ask makes a call that changes nothing, and returns the code of the answer.
func (p *person) ask(ctx context.Context, t *testing.T, c apiCall) (int, error) {
	t.Helper()
	if p.http == nil {
		config := p.config(t)
		var err error
		if p.http, err = rest.HTTPClientFor(config); err != nil {
			t.Fatal(err)
		}
		p.host = config.Host
	}
	method, query := http.MethodGet, "limit=1&timeoutSeconds=1"
	if c.method != "" {
		method, query = c.method, "dryRun=All"
	}
	request, err := http.NewRequestWithContext(ctx, method, p.host+c.path+"?"+query, strings.NewReader(c.body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	if method == http.MethodPatch {
		request.Header.Set("Content-Type", "application/merge-patch+json")
	}
	if c.as != "" {
		request.Header.Set("Impersonate-User", c.as)
	}
	answer, err := p.http.Do(request)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	_, err = io.Copy(io.Discard, answer.Body)
	return answer.StatusCode, err
}

// isRefused checks that the call is forbidden to the person, and for no other reason: an administrator may.
func (p *person) isRefused(t *testing.T, name string, c forbiddenCall, admin *person) {
	t.Helper()
	code, err := p.ask(t.Context(), t, c.apiCall)
	if err != nil || code != http.StatusForbidden {
		t.Errorf("%s: the team's %s %s is answered with %d, not refused: %v. %s", name, c.method, c.path, code, err, c.reason)
	}
	code, err = admin.ask(t.Context(), t, c.apiCall)
	if err != nil {
		t.Error(err)
	}
	switch code {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusMethodNotAllowed:
		t.Errorf("%s: %s %s proves nothing: even the administrator's is answered with %d", name, c.method, c.path, code)
	}
}

// teamMay runs what the guides have for teams.
func teamMay(t *testing.T, team *person) {
	if out := team.kubectl(t, "get", "classes"); !strings.Contains(out, "small") {
		t.Errorf("the team sees no class:\n%s", out)
	}
	if out := team.kubectl(t, "explain", "postgresqlinstance.spec.writeConnectionSecretToRef"); !strings.Contains(out, "Secret") {
		t.Errorf("the team gets no explanation:\n%s", out)
	}
	team.apply(t, teamClaim)
	team.plane.Eventually(t, 2*time.Minute, "the claim's Secret has a password that the team can read", func(ctx context.Context) error {
		out, err := team.plane.Run(ctx, "kubectl", "--kubeconfig", team.kubeconfig, "get", "secret", "db", "-o", "jsonpath={.data.password}")
		if err != nil || out == "" {
			return fmt.Errorf("%w: %s\n%s", errors.Join(err, errors.New("no password yet")), out,
				team.kubectl(t, "get", "postgresqlinstance", "db", "-o", "jsonpath={.status}"))
		}
		return nil
	})
	if out := team.kubectl(t, "get", "claims"); !strings.Contains(out, "db ") {
		t.Errorf("the team does not see its claim:\n%s", out)
	}
	team.kubectl(t, "describe", "postgresqlinstance", "db")
	team.kubectl(t, "label", "postgresqlinstance", "db", "app=web")
	team.kubectl(t, "delete", "postgresqlinstance", "db", "--dry-run=server")
}

// teamGetsNothingByName names a database that is not the team's in a claim.
func teamGetsNothingByName(t *testing.T, team *person) {
	team.apply(t, `
apiVersion: database.crossplane.io/v1alpha1
kind: PostgreSQLInstance
metadata: {name: greedy, namespace: shop}
spec:
  resourceRef: {apiVersion: database.fcp.crossplane.io/v1alpha3, kind: FavouriteDBInstance, name: crown-jewels}
  writeConnectionSecretToRef: {name: greedy}
`)
	team.plane.Eventually(t, 30*time.Second, "the claim is not allowed", func(context.Context) error {
		if out := team.kubectl(t, "get", "postgresqlinstance", "greedy", "-o", "jsonpath={.status}"); !strings.Contains(out, "NotAllowed") {
			return errors.New(out)
		}
		return nil
	})
	secret := &corev1.Secret{}
	if err := team.client.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "greedy"}, secret); !apierrors.IsNotFound(err) {
		t.Errorf("there is a Secret: %v", err)
	}
}

// teamGetsNothingByExternalName proposes the external name of another team's database. The claim's managed resource does not adopt
// that database, and does not delete it.
func teamGetsNothingByExternalName(t *testing.T, thief, owner, admin *person) {
	name := admin.kubectl(t, "get", "favouritedbinstances", "-l", "bowline.dev/claim-uid", "-o",
		`jsonpath={.items[0].metadata.annotations.crossplane\.io/external-name}`)
	thief.apply(t, `
apiVersion: database.crossplane.io/v1alpha1
kind: PostgreSQLInstance
metadata: {name: thief, namespace: rival, annotations: {crossplane.io/external-name: `+name+`}}
spec: {writeConnectionSecretToRef: {name: thief}}
`)
	thief.plane.Eventually(t, 30*time.Second, "the managed resource does not adopt the database", func(context.Context) error {
		out := admin.kubectl(t, "get", "favouritedbinstances", "-o", "jsonpath={.items[*].status}")
		if !strings.Contains(out, `"reason":"`+string(failure.ExternalNameTaken)+`"`) {
			return errors.New(out)
		}
		return nil
	})
	secret := &corev1.Secret{}
	if err := thief.client.Get(t.Context(), client.ObjectKey{Namespace: "rival", Name: "thief"}, secret); !apierrors.IsNotFound(err) {
		t.Errorf("there is a Secret: %v", err)
	}
	thief.kubectl(t, "delete", "postgresqlinstance", "thief", "--timeout=30s")
	if err := owner.client.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "db"}, secret); err != nil {
		t.Fatal(err)
	}
	connection, err := pgx.Connect(t.Context(), (&url.URL{
		Scheme: "postgres", Path: "postgres", User: url.UserPassword(string(secret.Data["username"]), string(secret.Data["password"])),
		Host: net.JoinHostPort(string(secret.Data["endpoint"]), string(secret.Data["port"])),
	}).String())
	if err != nil {
		t.Fatalf("the owner's database is deleted: %v", err)
	}
	if err := connection.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// forgedSecretStaysEmpty lets the team write Secrets too, as every editor of a namespace in Kubernetes may: one that says it
// is a copy of the platform's Secret stays without its content.
func forgedSecretStaysEmpty(t *testing.T, team, admin *person) {
	editor := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "editor"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: "bowline-teams", Name: "shop"}},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "edit"},
	}
	if err := admin.client.Create(t.Context(), editor); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := admin.client.Delete(t.Context(), editor); err != nil {
			t.Error(err)
		}
	}()
	source, owner := &corev1.Secret{}, &unstructured.Unstructured{}
	owner.SetAPIVersion("database.crossplane.io/v1alpha1")
	owner.SetKind("PostgreSQLInstance")
	if err := errors.Join(admin.client.Get(t.Context(), client.ObjectKey{Namespace: "platform", Name: "crown-jewels"}, source),
		admin.client.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "db"}, owner)); err != nil {
		t.Fatal(err)
	}
	forged := &corev1.Secret{Type: xpv1.SecretTypeConnection}
	forged.Namespace, forged.Name = "shop", "forged"
	forged.Annotations = map[string]string{
		"from.propagate.crossplane.io/namespace": source.Namespace, "from.propagate.crossplane.io/name": source.Name,
		"from.propagate.crossplane.io/uid": string(source.UID),
	}
	forged.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(owner, owner.GroupVersionKind())}
	team.plane.Eventually(t, 10*time.Second, "the team may write Secrets", func(ctx context.Context) error {
		return team.client.Create(ctx, forged)
	})
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second) // honest copies take less than one
	defer cancel()
	for ctx.Err() == nil {
		got := &corev1.Secret{}
		if err := team.client.Get(ctx, client.ObjectKeyFromObject(forged), got); err == nil && len(got.Data) > 0 {
			t.Fatal("the forged Secret has the content of the platform's")
		}
	}
}

// teamConnectsToItsOwn makes targets: one of what the team's claim has, which brings a copy, one of the platform's database and
// one of that which another team's claim has. These get no Secret, and no message names the namespace of one.
func teamConnectsToItsOwn(t *testing.T, team, rival *person) {
	own := team.kubectl(t, "get", "postgresqlinstance", "db", "-o", "jsonpath={.spec.resourceRef.name}")
	for _, target := range []struct {
		of        *person
		namespace string
		name      string
		cluster   string
		ready     string
	}{
		{team, "shop", "own", own, "Available"},
		{team, "shop", "jewels", "crown-jewels", "NotAllowed"},
		{rival, "rival", "theirs", own, "NotAllowed"},
	} {
		target.of.apply(t, fmt.Sprintf(`
apiVersion: workload.crossplane.io/v1alpha1
kind: KubernetesTarget
metadata: {name: %s, namespace: %s}
spec:
  clusterRef: {apiVersion: database.fcp.crossplane.io/v1alpha3, kind: FavouriteDBInstance, name: %s}
  connectionSecretRef: {name: target-%[1]s}
`, target.name, target.namespace, target.cluster))
		out := ""
		team.plane.Eventually(t, 30*time.Second, "the target is "+target.ready, func(context.Context) error {
			out = target.of.kubectl(t, "get", "kubernetestarget", target.name, "-o", "jsonpath={.status}")
			if !strings.Contains(out, `"reason":"`+target.ready+`"`) {
				return errors.New(out)
			}
			return nil
		})
		if strings.Contains(out, "platform/") || strings.Contains(out, `namespace \"platform\"`) {
			t.Errorf("the team can read where Secrets are: %s", out)
		}
		secret := &corev1.Secret{}
		err := target.of.client.Get(t.Context(), client.ObjectKey{Namespace: target.namespace, Name: "target-" + target.name}, secret)
		switch {
		case target.ready == "Available" && (err != nil || len(secret.Data["password"]) == 0):
			t.Errorf("target %s has no password: %v", target.name, err)
		case target.ready != "Available" && !apierrors.IsNotFound(err):
			t.Errorf("target %s has a Secret: %v", target.name, err)
		}
		target.of.kubectl(t, "delete", "kubernetestarget", target.name, "--timeout=30s")
	}
}

// The controllers run as a service account that may do what they need, which the other tests prove, and nothing of this.
func controllersMayNot(t *testing.T, s *stage) {
	const (
		fcp, rbac, extensions = "database.fcp.crossplane.io", "rbac.authorization.k8s.io", "apiextensions.k8s.io"
		network, claims       = "network.fcp.crossplane.io", "database.crossplane.io"
	)
	may := func(a authorizationv1.ResourceAttributes) bool {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User:               "system:serviceaccount:bowline-system:bowline-controllers",
			Groups:             []string{"system:serviceaccounts", "system:serviceaccounts:bowline-system", "system:authenticated"},
			ResourceAttributes: &a,
		}}
		s.Create(t, review)
		return review.Status.Allowed
	}
	for _, needed := range []authorizationv1.ResourceAttributes{
		{Verb: "create", Resource: "secrets", Namespace: "default"}, {Verb: "patch", Group: fcp, Resource: "favouritedbinstances"},
	} {
		if !may(needed) {
			t.Fatalf("the controllers need, and may not: %+v. Is their account renamed?", needed)
		}
	}
	for _, request := range []authorizationv1.ResourceAttributes{
		{Verb: "get", Resource: "configmaps", Namespace: "default"},
		{Verb: "create", Group: network, Resource: "networks"}, // no claim gets one
		{Verb: "delete", Group: network, Resource: "networks"},
		{Verb: "delete", Group: fcp, Resource: "favouritedbinstanceclasses"},
		{Verb: "delete", Group: claims, Resource: "postgresqlinstances"},
		{Verb: "create", Group: "fcp.crossplane.io", Resource: "providerconfigs"},
		{Verb: "delete", Group: "fcp.crossplane.io", Resource: "providerconfigs"},
		{Verb: "delete", Group: extensions, Resource: "customresourcedefinitions"}, // others they may write as far as an admission policy permits (N98)
		{Verb: "create", Group: rbac, Resource: "clusterroles"},
		{Verb: "create", Group: rbac, Resource: "clusterrolebindings"},
		{Verb: "escalate", Group: rbac, Resource: "clusterroles"},
		{Verb: "bind", Group: rbac, Resource: "clusterroles"},
		{Verb: "impersonate", Resource: "users"},
		{Verb: "create", Resource: "serviceaccounts", Subresource: "token", Namespace: "bowline-system"},
		{Verb: "create", Resource: "namespaces"},
		{Verb: "delete", Resource: "namespaces"},
		{Verb: "list", Resource: "serviceaccounts", Namespace: "default"},
		{Verb: "create", Group: "coordination.k8s.io", Resource: "leases", Namespace: "default"},
		{Verb: "*", Group: "*", Resource: "*"},
	} {
		if may(request) {
			t.Errorf("the controllers may: %+v", request)
		}
	}
}
