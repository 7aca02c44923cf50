// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/internal/testkit"
	"github.com/bowline-dev/bowline/pkg/core"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/provider"
	"github.com/bowline-dev/bowline/providers/sql"
)

// TestRotate runs the command as a person does. The test is the controller.
func TestRotate(t *testing.T) {
	all, err := provider.Definitions(core.Provider(), sql.Provider())
	check(t, err)
	check(t, controlplanetest.Install(t.Context(), controlplanetest.Config(t), all...))
	env := controlplanetest.New(t)
	kubeconfig, asTeam := writeKubeconfig(t, env), teamKubeconfig(t, env)
	create := func(manifest string) *unstructured.Unstructured {
		o := &unstructured.Unstructured{}
		check(t, yaml.Unmarshal([]byte(manifest), &o.Object))
		o.SetNamespace(env.Namespace)
		check(t, env.Client.Create(t.Context(), o))
		t.Cleanup(func() { check(t, testkit.Remove(context.Background(), env.Client, o)) })
		return o
	}
	role := create(`{apiVersion: postgresql.sql.m.bowline.dev/v1alpha1, kind: Role, metadata: {name: app}, spec: {forProvider: {}}}`)
	create(`{apiVersion: database.crossplane.io/v1alpha1, kind: PostgreSQLInstance, metadata: {name: waiting}, spec: {}}`)
	copied := create(`{apiVersion: v1, kind: Secret, metadata: {name: orders}, stringData: {password: former}}`)
	claim := create(`{apiVersion: database.crossplane.io/v1alpha1, kind: PostgreSQLInstance, metadata: {name: orders},
		spec: {writeConnectionSecretToRef: {name: orders}, resourceRef: {apiVersion: postgresql.sql.m.bowline.dev/v1alpha1, kind: Role, name: app, namespace: ` + env.Namespace + `}}}`)
	stage := rotateStage{t, env, role, claim, copied}
	requested, rotates, annotates, fails := stage.requested, stage.rotates, stage.annotates, stage.fails
	for _, tc := range []struct {
		name, args string
		of         *unstructured.Unstructured
		requests   bool
		before     func()
		code       int
		out, err   string
	}{
		{"without waiting (N50)", "role/app --no-wait", role, true, nil, exitOK, "Requested new credentials", ""},
		{"a second request is later (N50)", "role/app --no-wait -o json", role, true, nil, exitOK, `"requested"`, ""},
		{"as YAML (N50)", "role/app --no-wait -o yaml", role, true, nil, exitOK, "name: app", ""},
		{"it waits (N50)", "role/app", role, true, rotates(role), exitOK, "Rotated the credentials", ""},
		{"of a claim (N50)", "orders", claim, true, rotates(claim), exitOK, "Rotated the credentials", ""},
		{"now instead of a plan (N50)", "orders --no-wait", claim, true, annotates("2099-01-01T00:00:00Z"), exitOK,
			"replaces the rotation that was planned for 2099-01-01T00:00:00Z", ""},
		{"as a team it waits for the Secret of the claim (N50)", "orders" + asTeam, claim, true, rotates(claim), exitOK, "Rotated the credentials", ""},
		{"as a team, in vain (N50)", "orders --timeout 1s" + asTeam, claim, true, nil, exitError, "", "bowline why postgresqlinstance"},
		{"what is refused is tried again (N50)", "role/app --timeout 2s", role, true, fails("ExternalCallFailed"), exitError, "", "the server says no"},
		{"what is impossible ends, and is withdrawn (N50)", "role/app", role, false, fails("RotationImpossible"), exitError, "", "the server says no"},
		{"a claim without a managed resource (N50)", "waiting", role, false, nil, exitError, "", "no managed resource yet"},
		{"another object (N50)", "namespace/" + env.Namespace, role, false, nil, exitError, "", "name a claim or a managed resource"},
		{"no object (N50)", "a/b/c", role, false, nil, exitUsage, "", "name one object"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			earlier := requested(tc.of)
			if tc.before != nil {
				tc.before()
			}
			args := append(strings.Fields("rotate "+tc.args), "-n", env.Namespace)
			if !slices.Contains(args, "--kubeconfig") {
				args = append(args, "--kubeconfig", kubeconfig)
			}
			runHere(t, args...).want(t, tc.code, tc.out, tc.err)
			if at := requested(tc.of); at.After(earlier) != tc.requests {
				t.Errorf("it requested %s, and %s before", at, earlier)
			}
		})
	}
}

// A rotateStage acts for the controllers.
type rotateStage struct {
	t                   *testing.T
	env                 *controlplanetest.Env
	role, claim, copied *unstructured.Unstructured
}

// requested returns when the credentials of an object are to be rotated.
func (s rotateStage) requested(o *unstructured.Unstructured) time.Time {
	o = o.DeepCopy()
	if err := s.env.Client.Get(s.t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
		s.t.Error(err)
	}
	return meta.GetRotateCredentialsAt(o)
}

func (s rotateStage) report(status string) {
	patch := client.RawPatch(types.MergePatchType, []byte(`{"status":`+status+`}`))
	if err := s.env.Client.Status().Patch(s.t.Context(), s.role.DeepCopy(), patch); err != nil {
		s.t.Error(err)
	}
}

// annotates requests a rotation of the claim.
func (s rotateStage) annotates(at string) func() {
	return func() {
		patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, meta.AnnotationKeyRotateCredentialsAt, at)
		check(s.t, s.env.Client.Patch(s.t.Context(), s.claim.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(patch))))
	}
}

// rotates does what is requested next of an object.
func (s rotateStage) rotates(of *unstructured.Unstructured) func() {
	return func() {
		earlier := s.requested(of)
		go func() {
			_ = testkit.Poll(s.t.Context(), func() error { // fails with the test
				at := s.requested(of)
				if !at.After(earlier) {
					return errors.New("no request")
				}
				s.report(fmt.Sprintf(`{"conditions":[],"credentials":{"lastRotationTime":%q}}`, at.Format(time.RFC3339)))
				patch := fmt.Sprintf(`{"stringData":{"password":%q}}`, at)
				return s.env.Client.Patch(s.t.Context(), s.copied.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(patch)))
			})
		}()
	}
}

func (s rotateStage) fails(reason string) func() {
	return func() {
		s.report(fmt.Sprintf(`{"conditions":[{"type":"Synced","status":"False","reason":"ReconcileError","message":"the server says no",`+
			`"lastTransitionTime":"2026-01-01T00:00:00Z"},{"type":"Stalled","status":"True","reason":%q,"lastTransitionTime":"2026-01-01T00:00:00Z"}]}`,
			reason))
	}
}

// teamKubeconfig returns the flag for a user who may read and change claims, and read Secrets, and not managed resources.
func teamKubeconfig(t *testing.T, env *controlplanetest.Env) string {
	rules := []rbacv1.PolicyRule{{APIGroups: []string{"database.crossplane.io"}, Resources: []string{"*"}, Verbs: []string{"get", "list", "patch"}},
		{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get"}}}
	named := metav1.ObjectMeta{Namespace: env.Namespace, Name: "team"}
	role := &rbacv1.Role{ObjectMeta: named, Rules: rules}
	check(t, env.Client.Create(t.Context(), role))
	check(t, env.Client.Create(t.Context(), &rbacv1.RoleBinding{ObjectMeta: named,
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: "rotating-team"}}}))
	env.InForce(t, "rotating-team", env.Namespace, rules[1])
	team := *env
	team.Config = rest.CopyConfig(env.Config)
	team.Config.Impersonate = rest.ImpersonationConfig{UserName: "rotating-team", Groups: []string{"system:authenticated"}}
	return " --kubeconfig " + writeKubeconfig(t, &team)
}
