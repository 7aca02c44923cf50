// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/internal/cli/upgrade"
	"github.com/bowline-dev/bowline/internal/testkit"
	"github.com/bowline-dev/bowline/internal/testkit/thing"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/provider"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
)

// What the controllers of the new version would do outside is known before it, and nothing is done.
func TestUpgradeCheckOfExternalResources(t *testing.T) {
	t.Parallel()
	s := newThings(t)
	const changed, unknown, differs = "warning ExternalResourceChanged", "warning ExternalResourceUnknown", "warning ExternalResourceDiffers"
	same := map[string]string{"lost": changed, "deleted": changed, "taken": unknown}
	calls := 0
	for _, tc := range []struct {
		name, zone string
		system     func(*thing.System)
		args       []string
		want       map[string]string
	}{
		{name: "the same version", want: same},
		{name: "a new default (N91)", zone: "b", want: map[string]string{"plain": changed, "failing": changed, "lost": changed, "deleted": changed, "taken": unknown}},
		{name: "only definitions", zone: "b", args: []string{"--external=false"}, want: map[string]string{}},
		{name: "a system that limits calls", want: same, system: func(s *thing.System) {
			s.Fault = func(string) (refuse, lose error) {
				if calls++; calls%3 == 0 {
					return failure.Throttled(errors.New("too many"), time.Millisecond), nil
				}
				return nil, nil
			}
		}},
		{name: "a system that fails, and did before for one object", want: map[string]string{
			"plain": differs, "zoned": differs, "lost": changed, "deleted": changed, "taken": unknown,
		}, system: func(s *thing.System) { s.Fault, s.Failed = nil, errors.New("out of disk") }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.system != nil {
				s.system.Do(tc.system)
			}
			report, code := s.check(t, tc.zone, tc.args...)
			found := map[string]string{}
			for _, f := range report.Findings {
				if what := s.names[f.Object]; what != "" {
					found[what] = fmt.Sprint(f.Severity, " ", f.Reason)
				}
			}
			if diff := cmp.Diff(tc.want, found); diff != "" || code != exitOK {
				t.Errorf("exit code %d, findings (-want +got):\n%s%+v", code, diff, report)
			}
		})
	}
	t.Run("a system that does not respond", func(t *testing.T) {
		s.system.Do(func(s *thing.System) {
			s.Fault = func(string) (refuse, lose error) {
				return failure.With(failure.ExternalSystemUnreachable, errors.New("no route to host")), nil
			}
		})
		report, code := s.check(t, "b")
		about := slices.DeleteFunc(report.Findings, func(f upgrade.Finding) bool { return f.Definition != thing.CRD().Name })
		if len(about) != 1 || about[0].Reason != upgrade.ExternalResourceUnknown || code != exitError {
			t.Errorf("exit code %d, want one finding: %+v", code, about)
		}
	})
	for _, call := range s.system.TakeCalls() {
		if call != "Connect" && call != "Observe" {
			t.Errorf("it called %s", call)
		}
	}
}

// things are objects whose external resources fit, and do not.
type things struct {
	system     *thing.System
	kubeconfig string
	names      map[string]string // what the objects are, by name
}

func newThings(t *testing.T) *things {
	t.Helper()
	check(t, controlplanetest.Install(t.Context(), controlplanetest.Config(t), thing.CRD()))
	env := controlplanetest.New(t)
	check(t, thing.AddToScheme(env.Scheme))
	s := &things{system: thing.NewSystem(), kubeconfig: writeKubeconfig(t, env), names: map[string]string{}}
	for what, outside := range map[string]*thing.Resource{
		"plain": {Size: 1}, "zoned": {Size: 1, Zone: "b"}, "lost": nil, "taken": {Size: 1, Owner: "another"}, "paused": {Size: 2},
		"failing": {Size: 1}, "deleted": {Size: 1},
	} {
		mg := &thing.Thing{}
		mg.SetName(env.Prefix + what)
		mg.Spec.ForProvider.Size = 1
		mg.SetAnnotations(map[string]string{
			meta.AnnotationKeyExternalName: mg.Name, meta.AnnotationKeyReconciliationPaused: strconv.FormatBool(what == "paused"),
		})
		meta.AddFinalizer(mg, managed.Finalizer)
		check(t, env.Client.Create(t.Context(), mg))
		t.Cleanup(func() { check(t, testkit.Remove(context.Background(), env.Client, mg)) })
		switch what {
		case "deleted":
			check(t, env.Client.Delete(t.Context(), mg))
		case "failing":
			mg.SetConditions(xpv1.Condition{Type: xpv1.TypeSynced, Status: corev1.ConditionFalse, Reason: xpv1.ReasonReconcileError,
				LastTransitionTime: metav1.Now()})
			check(t, env.Client.Status().Update(t.Context(), mg))
		}
		s.names[mg.Name] = what
		if outside != nil {
			if outside.Owner == "" {
				outside.Owner = mg.UID
			}
			s.system.Resources[mg.Name] = *outside
		}
	}
	return s
}

// check runs the command of a program whose definition has a default for the zone, if it is not empty.
func (s *things) check(t *testing.T, zone string, args ...string) (report upgrade.Report, code int) {
	t.Helper()
	next := thing.CRD()
	if zone != "" {
		setDefault(next, zone, "spec", "forProvider", "zone")
	}
	definition, err := yaml.Marshal(next)
	check(t, err)
	program := Program{Providers: []provider.Provider{{
		Name: "things", CRDs: fstest.MapFS{"things.yaml": {Data: definition}}, AddToScheme: thing.AddToScheme,
		Kinds: []provider.Kind{{Object: &thing.Thing{}, Options: []managed.ReconcilerOption{managed.WithTypedExternalConnecter[*thing.Thing](s.system)}}},
	}}}
	var stdout, stderr bytes.Buffer
	code = program.Run(t.Context(), append([]string{"bowline", "upgrade", "check", "--kubeconfig", s.kubeconfig, "-o", "json"}, args...),
		Streams{Out: &stdout, Err: &stderr})
	if err := json.Unmarshal(stdout.Bytes(), &report); err != nil {
		t.Fatalf("%v: %s%s", err, &stdout, &stderr)
	}
	return report, code
}

// setDefault gives a field of all versions a default.
func setDefault(d *apiextensionsv1.CustomResourceDefinition, value string, path ...string) {
	for i := range d.Spec.Versions {
		set(d.Spec.Versions[i].Schema.OpenAPIV3Schema, value, path)
	}
}

func set(s *apiextensionsv1.JSONSchemaProps, value string, path []string) {
	if len(path) == 0 {
		s.Default = &apiextensionsv1.JSON{Raw: []byte(strconv.Quote(value))}
		return
	}
	field := s.Properties[path[0]]
	set(&field, value, path[1:])
	s.Properties[path[0]] = field
}
