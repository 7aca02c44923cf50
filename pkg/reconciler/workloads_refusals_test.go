// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	workloadv1alpha1 "github.com/bowline-dev/bowline/apis/workload/v1alpha1"
	"github.com/bowline-dev/bowline/internal/testkit/fault"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/internal/flow"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/application"
	"github.com/bowline-dev/bowline/pkg/reconciler/applicationresource"
)

// What targets do not allow (K80).
func TestApplicationBounds(t *testing.T) {
	t.Parallel()
	runOn(t, newWorkloadStage, map[string]func(*workloadStage){
		"a kind that the target does not allow (N95)": func(s *workloadStage) {
			s.bound(func(t *workloadv1alpha1.KubernetesTargetSpec) {
				t.AllowedKinds = []string{"Secret", "*.apps", "ConfigMap.example.org"}
			})
			s.refuses(xpv1.ReasonNotAllowed, "does not allow objects of kind ConfigMap")
		},
		"a namespace that the target does not allow (N95)": func(s *workloadStage) {
			s.bound(func(t *workloadv1alpha1.KubernetesTargetSpec) { t.AllowedNamespaces = []string{"elsewhere"} })
			s.refuses(xpv1.ReasonNotAllowed, "does not allow objects in namespace")
		},
		"a cluster-scoped object where namespaces are listed": func(s *workloadStage) {
			s.bound(func(t *workloadv1alpha1.KubernetesTargetSpec) { t.AllowedNamespaces = []string{s.remote} })
			role := map[string]any{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": map[string]any{"name": s.Prefix + "r"}}
			s.create(s.newApp(rawTemplate("a", role), template("b", configMap("cm", one))))
			_ = s.tryAll()
			_ = s.tryAll()
			s.wantResource("a", workloadv1alpha1.ResourceFailed, xpv1.ReasonNotAllowed, "have none")
			s.wantData("cm", one)
			s.wantApp(workloadv1alpha1.ApplicationFailed, application.ReasonResourcesNotReady, "1 of 2 objects cannot be applied, or failed: a (NotAllowed)")
		},
		"a kubeconfig that runs a program (N95)": func(s *workloadStage) {
			s.rewrite(func(c *clientcmdapi.Config) {
				c.AuthInfos["u"] = &clientcmdapi.AuthInfo{Exec: &clientcmdapi.ExecConfig{Command: "/bin/touch", Args: []string{"/tmp/x"}, APIVersion: "client.authentication.k8s.io/v1", InteractiveMode: "Never"}}
			})
			s.refuses(applicationresource.ReasonTargetUnavailable, "names a file or a program")
		},
		"a kubeconfig with the token of the controllers": func(s *workloadStage) {
			s.rewrite(func(c *clientcmdapi.Config) {
				c.AuthInfos["u"] = &clientcmdapi.AuthInfo{TokenFile: "/var/run/secrets/token"}
			})
			s.refuses(applicationresource.ReasonTargetUnavailable, "names a file or a program")
		},
		"a kubeconfig that is none": func(s *workloadStage) {
			secret := s.secret("kube-there")
			s.edit(secret, func() { secret.Data["kubeconfig"] = []byte("hunter2: [") })
			s.refuses(applicationresource.ReasonTargetUnavailable, "it is not a kubeconfig")
			if m := s.resource("a").GetCondition(xpv1.TypeReady).Message; strings.Contains(m, "hunter2") {
				s.t.Errorf("it shows the kubeconfig: %s", m)
			}
		},
		"a Secret that the target does not control": func(s *workloadStage) {
			secret := s.secret("kube-there")
			s.edit(secret, func() { secret.OwnerReferences = nil })
			s.create(s.newApp(template("a", configMap("cm", one))))
			s.pass()
			s.wantResource("a", workloadv1alpha1.ResourceScheduled, applicationresource.ReasonTargetUnavailable, "has no Secret, such as")
		},
	})
}

// What clusters refuse.
func TestApplicationRefusals(t *testing.T) {
	t.Parallel()
	runOn(t, newWorkloadStage, map[string]func(*workloadStage){
		"an object that the cluster does not accept": func(s *workloadStage) {
			s.create(s.newApp(template("a", configMap("NOT-A-NAME", one))))
			s.pass()
			s.wantResource("a", workloadv1alpha1.ResourceFailed, applicationresource.ReasonApplyRefused, "the cluster answers: ", "NOT-A-NAME")
		},
		"values of Secrets are in no message": func(s *workloadStage) {
			var templates []workloadv1alpha1.KubernetesApplicationResourceTemplate
			for i, section := range []map[string]any{
				{"data": map[string]any{"password": "hunter2 is no base64"}}, {"data": map[string]any{"pin": int64(48151623)}},
				{"data": map[string]any{"a": map[string]any{"b": "hunter2"}}}, {"stringData": []any{"hunter2"}}, {"data": "hunter2"},
			} {
				section["apiVersion"], section["kind"], section["metadata"] = "v1", "Secret", map[string]any{"name": fmt.Sprintf("s%d", i)}
				templates = append(templates, rawTemplate(fmt.Sprintf("t%d", i), section))
			}
			s.create(s.newApp(templates...))
			text := fmt.Sprint(s.tryAll())
			for _, resource := range s.resources() {
				_, err := s.tryPass(resource.Name)
				text += fmt.Sprint(err, s.resource(resource.Name).Status.Conditions)
				if state := s.resource(resource.Name).Status.State; state != workloadv1alpha1.ResourceFailed {
					s.t.Errorf("%s is %s", resource.Name, state)
				}
			}
			text += fmt.Sprint(s.events.All())
			if strings.Contains(text, "hunter2") || strings.Contains(text, "48151623") {
				s.t.Errorf("it shows %s", text)
			}
		},
		"a kind that the cluster does not have": func(s *workloadStage) {
			s.create(s.newApp(rawTemplate("a", map[string]any{"apiVersion": "nowhere.example.org/v1", "kind": "Thing", "metadata": map[string]any{"name": "t"}})))
			s.pass()
			s.wantResource("a", workloadv1alpha1.ResourceFailed, applicationresource.ReasonKindMissing, "the cluster has no kind Thing.nowhere.example.org")
		},
	})
}

// What belongs to somebody else stays theirs.
func TestApplicationOwnership(t *testing.T) {
	t.Parallel()
	runOn(t, newWorkloadStage, map[string]func(*workloadStage){
		"an object of somebody else, until a person permits to take it over (N93)": func(s *workloadStage) {
			foreign := configMap("cm", map[string]string{"theirs": "x"})
			foreign.Namespace = s.remote
			s.create(foreign, s.newApp(template("a", configMap("cm", one))))
			s.pass()
			s.wantResource("a", workloadv1alpha1.ResourceFailed, failure.ExternalNameTaken, "was not created by Bowline", string(foreign.UID))
			s.wantData("cm", map[string]string{"theirs": "x"})
			app := s.app()
			s.edit(app, func() {
				app.Spec.ResourceTemplates[0].Metadata.Annotations = map[string]string{meta.AnnotationKeyTakeOverFrom: string(foreign.UID)}
			})
			s.pass()
			s.wantData("cm", map[string]string{"theirs": "x", "n": "1"})
			s.pass()
			s.wantApp(workloadv1alpha1.ApplicationSubmitted, xpv1.ReasonAvailable)
		},
		"an object of somebody else is not deleted with what wanted it": func(s *workloadStage) {
			foreign := configMap("cm", one)
			foreign.Namespace = s.remote
			app := s.newApp(template("a", configMap("cm", one)))
			s.create(foreign, app)
			s.pass()
			s.delete(app)
			s.Eventually(s.t, "the application is gone", s.untilGone(app))
			s.wantData("cm", one)
		},
		"an object of the same application goes from one resource to another": func(s *workloadStage) {
			s.submitted(template("a", configMap("cm", one)))
			before, app := &corev1.ConfigMap{}, s.app()
			s.there("cm", before)
			s.edit(app, func() { app.Spec.ResourceTemplates[0] = template("b", configMap("cm", two)) })
			s.Eventually(s.t, "it has moved", func(ctx context.Context) error {
				return errors.Join(s.untilApp(xpv1.ReasonAvailable)(ctx), s.checkData("cm", two), s.checkOnly("cm"))
			})
			if after := (&corev1.ConfigMap{}); !s.there("cm", after) || after.UID != before.UID {
				s.t.Error("it was created again")
			}
		},
		"an object of another resource": func(s *workloadStage) {
			s.submitted(template("a", configMap("cm", one)), template("b", configMap("other", one)))
			app := s.app()
			s.edit(app, func() { app.Spec.ResourceTemplates[1] = template("b", configMap("cm", two)) })
			s.pass()
			s.wantResource("b", workloadv1alpha1.ResourceFailed, failure.ExternalNameTaken, "belongs to KubernetesApplicationResource "+s.Namespace+"/a")
			s.wantData("cm", one)
		},
		"a Secret of somebody else": func(s *workloadStage) {
			foreign := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.remote, Name: "db"}, StringData: map[string]string{"theirs": "x"}}
			s.create(foreign, s.connectionSecret("db", one), s.newApp(template("a", configMap("cm", one), "db")))
			s.pass()
			s.wantResource("a", workloadv1alpha1.ResourceFailed, failure.ExternalNameTaken, `is no copy of Secret "db"`)
			app := s.app()
			s.delete(app)
			s.Eventually(s.t, "the application is gone", s.untilGone(app))
			if copied := (&corev1.Secret{}); !s.there("db", copied) || len(copied.Data) != 1 {
				s.t.Errorf("it is %v", copied)
			}
		},
	})
}

// What is missing or out of reach is waited for.
func TestApplicationOutages(t *testing.T) {
	t.Parallel()
	runOn(t, newWorkloadStage, map[string]func(*workloadStage){
		"a Secret that does not exist yet": func(s *workloadStage) {
			s.create(s.newApp(template("a", configMap("cm", one), "db")))
			s.pass()
			s.wantResource("a", workloadv1alpha1.ResourceScheduled, applicationresource.ReasonSecretUnavailable, `Secret "db"`)
			s.create(s.connectionSecret("db", one))
			s.pass()
			s.wantData("cm", one)
		},
		"a cluster that is out of reach is asked again, and then all is well": func(s *workloadStage) {
			s.submitted(template("a", configMap("cm", one)))
			s.cluster(func(*http.Request) error { return syscall.ECONNREFUSED })
			app := s.app()
			s.edit(app, func() { app.Spec.ResourceTemplates[0] = template("a", configMap("cm", two)) })
			_ = s.tryAll()
			if got := s.resource("a"); got.GetCondition(xpv1.TypeReady).ObservedGeneration == got.Generation { // reported if it lasts (N51)
				s.t.Errorf("it is ready beside a failure: %+v", got.Status)
			}
			s.cluster(nil)
			s.restart(s.Config)
			s.pass()
			s.wantData("cm", two)
		},
		"a deletion waits for a cluster that is out of reach, unless the object is to be left there (N31)": func(s *workloadStage) {
			app := s.submitted(template("a", configMap("cm", one)))
			s.cluster(func(*http.Request) error { return errors.New("unreachable") })
			s.restart(s.Config)
			s.delete(app)
			_ = s.tryAll()
			_ = s.tryAll()
			resource := s.resource("a")
			if m := resource.GetCondition(xpv1.TypeSynced).Message; !strings.Contains(m, meta.AnnotationKeyOrphanOnDelete) {
				s.t.Errorf("the message is %q", m)
			}
			s.edit(resource, func() { resource.Annotations = map[string]string{meta.AnnotationKeyOrphanOnDelete: "true"} })
			s.Eventually(s.t, "the application is gone", s.untilGone(app))
			s.wantData("cm", one)
		},
		"a deletion goes on without the Secret of the target, as in a namespace that is being deleted": func(s *workloadStage) {
			app := s.submitted(template("a", configMap("cm", one)))
			s.delete(s.secret("kube-there"))
			s.delete(app)
			s.Eventually(s.t, "the application is gone", s.untilGone(app))
			s.wantData("cm", nil)
		},
		"a deletion without the Secret of the target waits in another process": func(s *workloadStage) {
			app := s.submitted(template("a", configMap("cm", one)))
			s.delete(s.secret("kube-there"))
			s.delete(app)
			s.restart(s.Config)
			s.pass()
			s.pass()
			if m := s.resource("a").GetCondition(xpv1.TypeSynced).Message; !strings.Contains(m, meta.AnnotationKeyOrphanOnDelete) {
				s.t.Errorf("the message is %q", m)
			}
		},
		"a deletion waits where the target was removed by force": func(s *workloadStage) {
			app := s.submitted(template("a", configMap("cm", one)))
			s.delete(&workloadv1alpha1.KubernetesTarget{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "there"}})
			s.delete(app)
			s.pass()
			s.pass()
			s.wantResource("a", workloadv1alpha1.ResourceSubmitted, xpv1.ReasonDeleting, `KubernetesTarget "there" of its cluster does not exist`)
			s.wantData("cm", one)
		},
		"a deletion ends where the cluster is gone with its managed resource": func(s *workloadStage) {
			app := s.submitted(template("a", configMap("cm", one)))
			s.cluster(func(*http.Request) error { return errors.New("unreachable") })
			s.restart(s.Config)
			target := &workloadv1alpha1.KubernetesTarget{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "there"}}
			s.status(target, func() { target.SetConditions(xpv1.Waiting(xpv1.ReasonResourceLost, "")) })
			s.delete(app)
			s.Eventually(s.t, "the application is gone", s.untilGone(app))
		},
	})
}

// A pass that sees a resource as it was before its last report does not take that for the present one.
func TestReportThatTheCacheLacks(t *testing.T) {
	t.Parallel()
	s := newWorkloadStage(t)
	t.Cleanup(s.Close)
	var old atomic.Pointer[workloadv1alpha1.KubernetesApplicationResource]
	s.restart(fault.Intercept(s.Config, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		if o := old.Load(); o != nil && r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/kubernetesapplicationresources/a") {
			answer := httptest.NewRecorder()
			answer.Header().Set("Content-Type", "application/json")
			err := json.NewEncoder(answer).Encode(o)
			return answer.Result(), err
		}
		return next.RoundTrip(r)
	}))
	s.submitted(template("a", configMap("cm", one)))
	ready := s.resource("a")
	ready.SetGroupVersionKind(workloadv1alpha1.KubernetesApplicationResourceGroupVersionKind)
	secret := s.secret("kube-there")
	s.delete(secret)
	s.pass()
	s.wantResource("a", workloadv1alpha1.ResourceSubmitted, applicationresource.ReasonTargetUnavailable)
	secret.ResourceVersion = ""
	s.create(secret)
	old.Store(ready)
	if got := s.passOf("a"); got.RequeueAfter != flow.ConflictDelay {
		t.Errorf("with an old cache it is reconciled again after %s", got.RequeueAfter)
	}
	old.Store(nil)
	s.pass()
	s.wantResource("a", workloadv1alpha1.ResourceSubmitted, xpv1.ReasonAvailable)
}

// bound limits what target "there" allows.
func (s *workloadStage) bound(change func(*workloadv1alpha1.KubernetesTargetSpec)) {
	s.t.Helper()
	target := &workloadv1alpha1.KubernetesTarget{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "there"}}
	s.edit(target, func() { change(&target.Spec) })
}

// refuses wants an application to be refused.
func (s *workloadStage) refuses(ready xpv1.ConditionReason, parts ...string) {
	s.t.Helper()
	s.create(s.newApp(template("a", configMap("cm", one))))
	_ = s.tryAll()
	_ = s.tryAll()
	s.wantResource("a", workloadv1alpha1.ResourceFailed, ready, parts...)
	s.wantData("cm", nil)
}

// rewrite changes the kubeconfig of target "there".
func (s *workloadStage) rewrite(change func(*clientcmdapi.Config)) {
	s.t.Helper()
	secret := s.secret("kube-there")
	s.edit(secret, func() { secret.Data["kubeconfig"] = s.kubeconfig(change) })
	if _, err := clientcmd.Load(secret.Data["kubeconfig"]); err != nil {
		s.t.Fatal(err)
	}
}
