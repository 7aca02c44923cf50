// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package team_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/internal/cli/personas"
	"github.com/bowline-dev/bowline/internal/cli/team"
)

// TestMain serves kinds whose objects name namespaces with Secrets, and kinds that quotas limit or do not limit.
func TestMain(m *testing.M) {
	const cluster, namespaced = apiextensionsv1.ClusterScoped, apiextensionsv1.NamespaceScoped
	os.Exit(controlplanetest.Main(m, definition("providerconfigs", "ProviderConfig", "provider", cluster),
		definition("classes", "Class", "classes", cluster), definition("databases", "Database", "managed", cluster),
		definition("wishes", "Wish", "claims", namespaced), definition("vows", "Vow", "claims", cluster),
		definition("goals", "Goal", "targets", namespaced),
		definition("buckets", "Bucket", "managed", namespaced)))
}

func definition(plural, kind, category string, scope apiextensionsv1.ResourceScope) *apiextensionsv1.CustomResourceDefinition {
	const group = "team.test.bowline.dev"
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: plural + "." + group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: group, Scope: scope,
			Names: apiextensionsv1.CustomResourceDefinitionNames{
				Plural: plural, Kind: kind, ListKind: kind + "List", Singular: strings.ToLower(kind), Categories: []string{category},
			},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", XPreserveUnknownFields: new(true),
				}},
			}},
		},
	}
}

// A world is one control plane with its teams; the names of a test's are its own.
type world struct {
	*controlplanetest.Env
	accounts *team.Accounts
	name     string // of the test's team
}

func newWorld(t *testing.T) *world {
	t.Helper()
	env := controlplanetest.New(t)
	shared := []client.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: team.Namespace}}}
	for _, role := range personas.Roles() {
		shared = append(shared, &role)
	}
	for _, o := range shared {
		if err := env.Client.Create(t.Context(), o); err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatal(err)
		}
	}
	accounts, err := team.NewAccounts(env.Config)
	check(t, err)
	return &world{Env: env, accounts: accounts, name: env.Prefix + "team"}
}

func (w *world) request() team.Request {
	return team.Request{Name: w.name, Namespaces: []string{w.Namespace}, Role: "edit", Duration: time.Hour}
}

func (w *world) create(t *testing.T, r team.Request) team.Grant {
	t.Helper()
	grant, err := w.accounts.Create(t.Context(), r)
	check(t, err)
	return grant
}

// as returns a client with a token and nothing else of the administrator.
func (w *world) as(t *testing.T, token string) kubernetes.Interface {
	t.Helper()
	c, err := kubernetes.NewForConfig(&rest.Config{
		Host: w.Config.Host, BearerToken: token, TLSClientConfig: rest.TLSClientConfig{CAData: w.Config.CAData, CAFile: w.Config.CAFile},
	})
	check(t, err)
	return c
}

// opens is nil if the Secrets of the test's namespace can be listed with a token.
func (w *world) opens(ctx context.Context, c kubernetes.Interface) error {
	_, err := c.CoreV1().Secrets(w.Namespace).List(ctx, metav1.ListOptions{})
	return err
}

func TestLife(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	begin := time.Now()
	first := w.create(t, w.request())
	if len(first.Created) > 0 || first.Token == "" || first.TokenEnds.Sub(begin).Round(time.Minute) != time.Hour {
		t.Errorf("granted until %s, namespaces created: %v", first.TokenEnds, first.Created)
	}
	c := w.as(t, first.Token)
	w.Eventually(t, "the token opens the namespace", func(ctx context.Context) error { return w.opens(ctx, c) })

	second := w.create(t, w.request())
	if second.Token == first.Token || second.Since != first.Since {
		t.Error("created again, the team has the same token or another account")
	}
	third, err := w.accounts.Renew(t.Context(), w.name, 2*time.Hour)
	if err != nil || third.TokenEnds.Sub(begin).Round(time.Minute) != 2*time.Hour || third.Namespace != w.Namespace || third.Role != "edit" {
		t.Errorf("renewed: %v, %v", third.Team, err)
	}
	if diff := cmp.Diff(&third.Team, w.listed(t), cmpopts.EquateApproxTime(time.Second)); diff != "" {
		t.Errorf("listed: -want +got:\n%s", diff)
	}
	for i, token := range []string{first.Token, second.Token, third.Token} {
		if err := w.opens(t.Context(), w.as(t, token)); err != nil {
			t.Errorf("token %d does not work: %v", i, err)
		}
	}

	if _, _, err := w.accounts.Revoke(t.Context(), w.name); err != nil {
		t.Fatal(err)
	}
	for _, token := range []string{first.Token, second.Token, third.Token} {
		c := w.as(t, token)
		w.Eventually(t, "the server has seen that the token opens nothing", func(ctx context.Context) error {
			if err := w.opens(ctx, c); !apierrors.IsForbidden(err) && !apierrors.IsUnauthorized(err) {
				return fmt.Errorf("want a refusal, got %v", err)
			}
			return nil
		})
	}
	if w.listed(t) != nil {
		t.Error("a revoked team is listed")
	}
	var unknown *team.UnknownError
	if _, _, err := w.accounts.Revoke(t.Context(), w.name); !errors.As(err, &unknown) {
		t.Errorf("revoked twice: %v", err)
	}
	if _, err := w.accounts.Renew(t.Context(), w.name, time.Hour); !errors.As(err, &unknown) {
		t.Errorf("renewed after revoking: %v", err)
	}
}

func (w *world) listed(t *testing.T) *team.Team {
	t.Helper()
	all, err := w.accounts.List(t.Context())
	check(t, err)
	if i := slices.IndexFunc(all, func(x team.Team) bool { return x.Name == w.name }); i >= 0 {
		return &all[i]
	}
	return nil
}

// A token belongs to one account: a new account of the same name does not make old tokens valid.
func TestTokensOfAnEarlierAccount(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	old := w.as(t, w.create(t, w.request()).Token)
	w.Eventually(t, "the old token opens the namespace", func(ctx context.Context) error { return w.opens(ctx, old) })
	if _, _, err := w.accounts.Revoke(t.Context(), w.name); err != nil {
		t.Fatal(err)
	}
	fresh := w.as(t, w.create(t, w.request()).Token)
	w.Eventually(t, "the new token opens the namespace", func(ctx context.Context) error { return w.opens(ctx, fresh) })
	w.Eventually(t, "the old one does not", func(ctx context.Context) error { // the server remembers a good token for ten seconds
		if err := w.opens(ctx, old); !apierrors.IsUnauthorized(err) {
			return fmt.Errorf("want Unauthorized, got %v", err)
		}
		return nil
	})
}

// Revoke keeps and returns bindings that others created for a team.
func TestBindingsOfOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(t, w.request())
	theirs := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "more"},
		Subjects: []rbacv1.Subject{
			{Kind: rbacv1.ServiceAccountKind, Namespace: team.Namespace, Name: w.name},
			{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: "another"},
		},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "edit"},
	}
	check(t, w.Client.Create(t.Context(), theirs))
	_, others, err := w.accounts.Revoke(t.Context(), w.name)
	if diff := cmp.Diff([]string{"rolebinding more -n " + w.Namespace}, others); diff != "" || err != nil {
		t.Errorf("%v\n-want +got:\n%s", err, diff)
	}
	check(t, w.Client.Get(t.Context(), client.ObjectKeyFromObject(theirs), theirs))
}

func TestRoleChanges(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.request()
	w.create(t, r)
	r.Role = "view"
	if got := w.create(t, r); got.Role != "view" {
		t.Errorf("role %q", got.Role)
	}
	c := w.as(t, w.create(t, r).Token)
	w.Eventually(t, "a viewer sees no Secrets", func(ctx context.Context) error {
		if err := w.opens(ctx, c); !apierrors.IsForbidden(err) {
			return fmt.Errorf("want Forbidden, got %v", err)
		}
		return nil
	})
	binding := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "bowline-team-" + w.name}}
	check(t, w.Client.Delete(t.Context(), binding))
	if got := w.listed(t); got.Role != "" {
		t.Errorf("without its binding the team has role %q", got.Role)
	}
	if _, err := w.accounts.Renew(t.Context(), w.name, time.Hour); err == nil || !strings.Contains(err.Error(), "create the team again") {
		t.Errorf("a token without rights was created: %v", err)
	}
}

func TestMissingNamespace(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.request()
	fresh := w.Prefix + "new"
	r.Namespaces = append(r.Namespaces, fresh)
	got := w.create(t, r)
	if diff := cmp.Diff([]string{fresh}, got.Created); diff != "" || got.Namespace != w.Namespace {
		t.Errorf("the first namespace is %s, those that were created -want +got:\n%s", got.Namespace, diff)
	}
	if listed := w.listed(t); listed.Role != "edit" || !slices.Equal(listed.Namespaces, r.Namespaces) {
		t.Errorf("listed as %+v", listed)
	}
	c := w.as(t, got.Token)
	w.Eventually(t, "the token opens both", func(ctx context.Context) error {
		_, err := c.CoreV1().Secrets(fresh).List(ctx, metav1.ListOptions{})
		return errors.Join(err, w.opens(ctx, c))
	})
	if _, err := w.accounts.Create(t.Context(), w.request()); err == nil || !strings.Contains(err.Error(), "also has namespace "+fresh) {
		t.Errorf("a namespace would be lost: %v", err)
	}
	revoked, _, err := w.accounts.Revoke(t.Context(), w.name)
	if check(t, err); !slices.Equal(revoked.Namespaces, r.Namespaces) {
		t.Errorf("revoked in %v", revoked.Namespaces)
	}
	check(t, w.Client.Delete(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: fresh}}))
}

// The quota of claims and targets in a namespace, after each of several commands.
func TestQuotaOfClaims(t *testing.T) {
	t.Parallel()
	counted := []corev1.ResourceName{"count/wishes.team.test.bowline.dev", "count/goals.team.test.bowline.dev"} // a claim, a target
	limit := func(n int64) team.Request { return team.Request{Role: "edit", Claims: &n} }
	for name, tc := range map[string]struct {
		requests []team.Request
		byHand   string // between the requests
		want     string // empty: no quota
	}{
		"by default":                      {requests: []team.Request{{Role: "edit"}}, want: "4"},
		"a viewer":                        {requests: []team.Request{{Role: "view"}}},
		"as the request says":             {requests: []team.Request{limit(6)}, want: "6"},
		"any number":                      {requests: []team.Request{limit(0)}},
		"no longer any number":            {requests: []team.Request{limit(0), {Role: "edit"}}, want: "4"},
		"removed":                         {requests: []team.Request{limit(6), limit(0)}},
		"changed":                         {requests: []team.Request{{Role: "edit"}, limit(6)}, want: "6"},
		"what an administrator set stays": {requests: []team.Request{{Role: "edit"}, {Role: "edit"}}, byHand: "7", want: "7"},
		"unless the request has another":  {requests: []team.Request{{Role: "edit"}, limit(6)}, byHand: "7", want: "6"},
		"a viewer of a namespace keeps its quota": {requests: []team.Request{limit(6), {Role: "view"}}, want: "6"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: team.QuotaName}}
			for i, r := range tc.requests {
				if i > 0 && tc.byHand != "" { // beside a kind that the server lacks, and never counts
					patch := fmt.Sprintf(`{"spec":{"hard":{%[1]q:%[3]q,%[2]q:%[3]q,"count/absent.example.org":"1"}}}`, counted[0], counted[1], tc.byHand)
					check(t, w.Client.Patch(t.Context(), quota, client.RawPatch(types.MergePatchType, []byte(patch))))
				}
				r.Name, r.Namespaces, r.Duration = w.name, []string{w.Namespace}, time.Hour
				w.create(t, r)
			}
			err := w.Client.Get(t.Context(), client.ObjectKeyFromObject(quota), quota)
			for name := range quota.Spec.Hard { // other packages' claims are on this server too
				ours := strings.HasSuffix(string(name), ".team.test.bowline.dev")
				if ours && !slices.Contains(counted, name) || !strings.HasPrefix(string(name), "count/") {
					t.Errorf("the quota limits %s, which is no kind of claim or target in a namespace", name)
				}
			}
			if tc.want == "" && !apierrors.IsNotFound(err) {
				t.Errorf("the quota is %v, want none: %v", quota.Spec.Hard, err)
			}
			for _, name := range counted {
				hard, limited := quota.Spec.Hard[name]
				_, known := quota.Status.Used[name] // the server refuses everything before
				if tc.want != "" && (hard.String() != tc.want || !known) || limited != (tc.want != "") {
					t.Errorf("the quota limits %s to %s, known to be used: %t; want %q: %v", name, hard.String(), known, tc.want, err)
				}
			}
		})
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
