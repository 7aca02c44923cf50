// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package team_test

import (
	"context"
	"maps"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bowline-dev/bowline/internal/cli/team"
)

// A refusal is a request that is refused.
type refusal struct {
	reason string
	change func(*team.Request)
	given  func(*world) client.Object
	want   string
}

func refusals() map[string]refusal {
	return map[string]refusal{
		"name": {reason: "It becomes the name of objects.", change: func(r *team.Request) { r.Name = "Shop!" }, want: "lower case"},
		"system's": {
			reason: "There are Secrets of the system.",
			change: func(r *team.Request) { r.Namespace = "kube-system" },
			want:   "belongs to the system",
		},
		"with events of the platform": {
			reason: "Events of cluster-scoped objects are in namespace default; they name the resources of all teams.",
			change: func(r *team.Request) { r.Namespace = "default" },
			want:   "choose a namespace of its own",
		},
		"the teams'": {
			reason: "A team could act as another.",
			change: func(r *team.Request) { r.Namespace = team.Namespace },
			want:   "belongs to the system",
		},
		"role": {
			reason: "Only our own roles are bound.",
			change: func(r *team.Request) { r.Role = "cluster-admin" },
			want:   "there are edit, view, admin",
		},
		"short": {
			reason: "The server makes no shorter tokens.",
			change: func(r *team.Request) { r.Duration = time.Minute },
			want:   "from 10m",
		},
		"endless": {
			reason: "A lost token must end by itself.",
			change: func(r *team.Request) { r.Duration = 100 * 24 * time.Hour },
			want:   "to 2160h",
		},
		"other account": {
			reason: "A team must not take over another account.",
			given:  func(w *world) client.Object { return w.account(nil) },
			want:   "is not a team's",
		},
		"works elsewhere": {
			reason: "One name is one namespace, so that its kubeconfig opens no second one by surprise.",
			given:  func(w *world) client.Object { return w.account(map[string]string{"bowline.dev/team": w.name}) }, want: "has namespace"},
	}
}

// credentialRefusals are those of namespaces where the platform keeps Secrets.
func credentialRefusals() map[string]refusal {
	object := func(kind string, content map[string]any) *unstructured.Unstructured {
		content["apiVersion"], content["kind"] = "team.test.bowline.dev/v1", kind
		return &unstructured.Unstructured{Object: content}
	}
	return map[string]refusal{
		"credentials": {
			reason: "The team could read the credentials of a provider.",
			given: func(w *world) client.Object {
				return object("ProviderConfig", map[string]any{"metadata": map[string]any{"name": w.Prefix + "x"}, "spec": map[string]any{
					"credentials": map[string]any{"source": "Secret", "secretRef": map[string]any{"namespace": w.Namespace, "name": "key"}}}})
			},
			want: "ProviderConfig",
		},
		"Secrets of managed resources": {
			reason: "The team could read the connection Secrets of all claims of a class.",
			given: func(w *world) client.Object {
				return object("Class", map[string]any{"metadata": map[string]any{"name": w.Prefix + "x"}, "specTemplate": map[string]any{
					"writeConnectionSecretsToNamespace": w.Namespace}})
			},
			want: "Class",
		},
		"Secrets of a managed resource created by hand": {
			reason: "The team could read how to connect to what no claim brought.",
			given: func(w *world) client.Object {
				return object("Database", map[string]any{"metadata": map[string]any{"name": w.Prefix + "x"}, "spec": map[string]any{
					"writeConnectionSecretToRef": map[string]any{"namespace": w.Namespace, "name": "billing"}}})
			},
			want: "Database",
		},
		"Secrets that a managed resource reads": {
			reason: "The team could read the password of a user.",
			given: func(w *world) client.Object {
				return object("Database", map[string]any{"metadata": map[string]any{"name": w.Prefix + "x"}, "spec": map[string]any{
					"forProvider": map[string]any{"passwordSecretRef": map[string]any{"namespace": w.Namespace, "name": "chosen", "key": "p"}}}})
			},
			want: "Database",
		},
		"Secrets that a class names": {
			reason: "The team could read the password that databases of a class begin with.",
			given: func(w *world) client.Object {
				return object("Class", map[string]any{"metadata": map[string]any{"name": w.Prefix + "x"}, "specTemplate": map[string]any{
					"forProvider": map[string]any{"users": []any{map[string]any{
						"passwordSecretRef": map[string]any{"namespace": w.Namespace, "name": "first"}}}}}})
			},
			want: "Class",
		},
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	all := refusals()
	maps.Copy(all, credentialRefusals())
	for name, tc := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.given(t, tc)
			r := w.request()
			if tc.change != nil {
				tc.change(&r)
			}
			if _, err := w.accounts.Create(t.Context(), r); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s\nwant an error with %q, got %v", tc.reason, tc.want, err)
			}
		})
	}
}

// What is refused to a team that is made is refused, in the same words, to one that is there: it may be older than the rule, or
// than what the namespace holds now.
func TestRenewRefused(t *testing.T) {
	t.Parallel()
	inNamespace := func(namespace string) refusal {
		return refusal{change: func(r *team.Request) { r.Namespace = namespace }}
	}
	all := credentialRefusals()
	for _, namespace := range []string{"default", "kube-system", "kube-public", team.Namespace, "bowline-system"} {
		all[namespace] = inNamespace(namespace)
	}
	all["short"] = refusals()["short"]
	all["endless"] = refusals()["endless"]
	for name, tc := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.create(t, w.request())
			r := w.request()
			if tc.change != nil {
				tc.change(&r)
			}
			if r.Namespace != w.Namespace {
				account := w.account(nil)
				patch := `{"metadata":{"annotations":{"bowline.dev/team-namespace":"` + r.Namespace + `"}}}`
				if err := w.Client.Patch(t.Context(), account, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
					t.Fatal(err)
				}
			}
			w.given(t, tc)
			_, created := w.accounts.Create(t.Context(), r)
			_, renewed := w.accounts.Renew(t.Context(), w.name, r.Duration)
			if created == nil || renewed == nil || created.Error() != renewed.Error() || !strings.Contains(renewed.Error(), tc.want) {
				t.Errorf("%s\ncreate: %v\n renew: %v", tc.reason, created, renewed)
			}
		})
	}
}

// given makes what a refusal is due to.
func (w *world) given(t *testing.T, tc refusal) {
	t.Helper()
	if tc.given == nil {
		return
	}
	o := tc.given(w)
	if err := w.Client.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Client.Delete(context.Background(), o); err != nil {
			t.Error(err)
		}
	})
}

// account is one in the teams' namespace that has the name of the test's team.
func (w *world) account(labels map[string]string) client.Object {
	return &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: team.Namespace, Name: w.name, Labels: labels}}
}
