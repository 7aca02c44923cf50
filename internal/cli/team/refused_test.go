// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package team_test

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/bowline-dev/bowline/internal/cli/team"
	"github.com/bowline-dev/bowline/internal/testkit/fault"
)

// A refusal is a request that is refused.
type refusal struct {
	change  func(*team.Request)
	given   func(*testing.T, *world) client.Object
	want    string
	created bool // refused to a team that exists, too
}

func refusals() map[string]refusal {
	inNamespace := func(namespace, want string) refusal {
		return refusal{change: func(r *team.Request) { r.Namespaces = []string{namespace} }, want: want, created: true}
	}
	valid := func(d time.Duration, want string) refusal {
		return refusal{change: func(r *team.Request) { r.Duration = d }, want: want, created: true}
	}
	// platform is an object that names Secrets in the team's namespace, $NS.
	platform := func(kind, content string) refusal {
		return refusal{want: kind, created: true, given: func(t *testing.T, w *world) client.Object {
			o := &unstructured.Unstructured{}
			check(t, yaml.Unmarshal([]byte(strings.ReplaceAll(content, "$NS", w.Namespace)), &o.Object))
			o.SetAPIVersion("team.test.bowline.dev/v1")
			o.SetKind(kind)
			o.SetName(w.Prefix + "x")
			return o
		}}
	}
	account := func(isTeam bool, want string) refusal {
		return refusal{want: want, given: func(_ *testing.T, w *world) client.Object { return w.account(isTeam) }}
	}
	return map[string]refusal{
		"a name that objects cannot have":        {change: func(r *team.Request) { r.Name = "Shop!" }, want: "lower case"},
		"a cluster role that is not ours":        {change: func(r *team.Request) { r.Role = "cluster-admin" }, want: "there are edit, view, admin"},
		"an account that is not a team's":        account(false, "is not a team's"),
		"a team with another namespace":          account(true, "has namespace"),
		"Secrets of the system":                  inNamespace("kube-system", "belongs to the system"),
		"objects of the system":                  inNamespace("kube-public", "belongs to the system"),
		"tokens of the controllers":              inNamespace("bowline-system", "belongs to the system"),
		"tokens of other teams":                  inNamespace(team.Namespace, "belongs to the system"),
		"events of cluster-scoped objects":       inNamespace("default", "choose a namespace of its own"),
		"tokens shorter than the server's":       valid(time.Minute, "from 10m"),
		"tokens that stay valid for long":        valid(100*24*time.Hour, "to 2160h"),
		"credentials of a provider":              platform("ProviderConfig", `{spec: {credentials: {source: Secret, secretRef: {namespace: $NS, name: key}}}}`),
		"connection Secrets of all claims":       platform("Class", `{specTemplate: {writeConnectionSecretsToNamespace: $NS}}`),
		"the connection Secret of no claim":      platform("Database", `{spec: {writeConnectionSecretToRef: {namespace: $NS, name: billing}}}`),
		"Secrets that a managed resource reads":  platform("Database", `{spec: {forProvider: {passwordSecretRef: {namespace: $NS, name: chosen}}}}`),
		"Secrets that resources of a class read": platform("Class", `{specTemplate: {forProvider: {users: [{passwordSecretRef: {namespace: $NS, name: x}}]}}}`),
	}
}

// What a new team is refused is refused, in the same words, to an existing one: it may be older than the rule, or than the content of
// its namespace.
func TestRefused(t *testing.T) {
	t.Parallel()
	for name, tc := range refusals() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			if tc.created {
				w.create(t, w.request())
			}
			r := w.request()
			if tc.change != nil {
				tc.change(&r)
			}
			if tc.created && r.Namespaces[0] != w.Namespace {
				patch := `{"metadata":{"annotations":{"bowline.dev/team-namespace":"` + r.Namespaces[0] + `"}}}`
				check(t, w.Client.Patch(t.Context(), w.account(true), client.RawPatch(types.MergePatchType, []byte(patch))))
			}
			if tc.given != nil {
				o := tc.given(t, w)
				check(t, w.Client.Create(t.Context(), o))
				t.Cleanup(func() { check(t, w.Client.Delete(context.Background(), o)) })
			}
			_, err := w.accounts.Create(t.Context(), r)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("want an error with %q, got %v", tc.want, err)
			}
			if !tc.created {
				return
			}
			if _, renewed := w.accounts.Renew(t.Context(), w.name, r.Duration); renewed == nil || renewed.Error() != err.Error() {
				t.Errorf("create: %v\n renew: %v", err, renewed)
			}
		})
	}
}

// A team is not created with other rights than asked for, and not while it is unknown what its namespace has.
func TestCreateFails(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		want   string
		answer func(*testing.T, *world, *http.Request) *http.Response // nil to pass the request on
	}{
		"another role at the same time": {want: "already exists", answer: func(t *testing.T, w *world, r *http.Request) *http.Response {
			if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/rolebindings") {
				viewer := w.request()
				viewer.Role = "view"
				w.create(t, viewer)
			}
			return nil
		}},
		"discovery is behind": {want: "no matches for kind", answer: func(_ *testing.T, _ *world, r *http.Request) *http.Response {
			switch r.URL.Path {
			case "/api", "/apis":
				r.Header.Set("Accept", "application/json") // groups without their kinds
			case "/apis/team.test.bowline.dev/v1":
				return &http.Response{StatusCode: http.StatusNotFound, Body: http.NoBody, Request: r}
			}
			return nil
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			accounts, err := team.NewAccounts(fault.Intercept(w.Config, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
				r = r.Clone(r.Context())
				if answer := tc.answer(t, w, r); answer != nil {
					return answer, nil
				}
				return next.RoundTrip(r)
			}))
			check(t, err)
			if got, err := accounts.Create(t.Context(), w.request()); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("want an error with %q, got %v and role %q", tc.want, err, got.Role)
			}
		})
	}
}

// account is an account in the teams' namespace with the name of the test's team.
func (w *world) account(isTeam bool) client.Object {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: team.Namespace, Name: w.name}}
	if isTeam {
		account.Labels = map[string]string{"bowline.dev/team": w.name}
	}
	return account
}

// A file that is not the team's own is never replaced.
func TestCheckOverwrite(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	config := func(current, user string) string {
		return `{"current-context": "` + current + `", "users": [{"name": "` + user + `", "user": {"token": "x"}}]}`
	}
	cases := map[string]struct {
		content string
		written bool
	}{
		"the-teams":         {content: config("shop", "shop"), written: true},
		"another-teams":     {content: config("audit", "audit")},
		"with-another-user": {content: config("shop", "me")},
		"no-kubeconfig":     {content: "important"},
		"empty":             {content: ""},
	}
	for name, tc := range cases {
		path := filepath.Join(folder, name)
		check(t, os.WriteFile(path, []byte(tc.content), 0o600))
		if err := team.CheckOverwrite(path, "shop"); (err == nil) != tc.written {
			t.Errorf("%s: %v", name, err)
		}
	}
	check(t, team.CheckOverwrite(filepath.Join(folder, "missing"), "shop"))
	if err := team.CheckOverwrite(filepath.Join(folder, "no", "folder"), "shop"); err == nil || !strings.Contains(err.Error(), "choose another file") {
		t.Errorf("a folder that is missing: %v", err)
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) != len(cases) {
		t.Errorf("%d files are left of %d: %v", len(left), len(cases), err)
	}
}
