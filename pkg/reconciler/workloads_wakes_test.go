// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	neturl "net/url"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	workloadv1alpha1 "github.com/bowline-dev/bowline/apis/workload/v1alpha1"
	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/pkg/clients/clusters"
	"github.com/bowline-dev/bowline/pkg/clients/credentials"
	"github.com/bowline-dev/bowline/pkg/reconciler/application"
	"github.com/bowline-dev/bowline/pkg/reconciler/applicationresource"
)

// run runs both controllers as a user with the rights in the contract, until the test ends.
func (s *workloadStage) run() {
	s.t.Helper()
	s.close()
	rule := func(resource string, verbs ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{workloadv1alpha1.Group}, Resources: []string{resource}, Verbs: verbs}
	}
	access := s.as(
		rule("kubernetestargets", "get", "list", "watch"),
		rule("kubernetesapplications", "get", "list", "watch", "patch"), rule("kubernetesapplications/status", "patch"),
		rule("kubernetesapplicationresources", "get", "list", "watch", "create", "patch", "delete"), rule("kubernetesapplicationresources/status", "patch"),
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get", "list", "watch"}},
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"get"}},
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"events"}, Verbs: []string{"get", "create", "patch"}})
	options := manager.Options{Scheme: scheme(), Cache: cache.Options{DefaultNamespaces: map[string]cache.Config{s.Namespace: {}}}}
	controlplanetest.RunManager(s.t, access, options, func(mgr manager.Manager) error {
		secrets, err := credentials.NewSecrets(mgr)
		if err != nil {
			return err
		}
		return errors.Join(application.NewReconciler(mgr, secrets, application.WithRecorder(s.events)).SetupWithManager(mgr),
			applicationresource.NewReconciler(mgr, secrets, applicationresource.WithRecorder(s.events), applicationresource.WithHooks(func(h *clusters.Hooks) {
				h.Wrap = func(next http.RoundTripper) http.RoundTripper {
					return roundTrip(func(r *http.Request) (*http.Response, error) {
						return s.send(r, next, func(string) (error, error) { return nil, nil })
					})
				}
			})).SetupWithManager(mgr))
	})
}

// settles waits until the application is ready in its present form.
func (s *workloadStage) settles() {
	s.t.Helper()
	s.Eventually(s.t, "the application is ready", func(context.Context) error {
		app := s.app()
		if got := app.GetCondition(xpv1.TypeReady); got.Status != corev1.ConditionTrue || got.ObservedGeneration != app.Generation {
			return fmt.Errorf("it is %s: %s", got.Reason, got.Message)
		}
		return nil
	})
}

func (s *workloadStage) eventually(name string, want map[string]string) {
	s.t.Helper()
	s.Eventually(s.t, "ConfigMap "+name, func(context.Context) error { return s.checkData(name, want) })
}

// No application waits for a timer, and an idle one has no request but watches.
func TestApplicationWakes(t *testing.T) {
	t.Parallel()
	s := newWorkloadStage(t)
	t.Cleanup(s.Close)
	s.run()
	source := s.connectionSecret("db", one)
	app := s.newApp(template("a", configMap("cm", one), "db"), template("b", configMap("other", one)))
	s.create(app)
	s.eventually("other", one)
	s.create(source)
	s.settles()
	t.Run("idle", func(t *testing.T) {
		s.Eventually(t, "nothing is asked for a second", func(ctx context.Context) error {
			s.clusterRequests()
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
			}
			if asked := s.clusterRequests(); len(asked) > 0 {
				return fmt.Errorf("it asks %v", asked)
			}
			return nil
		})
	})
	t.Run("a change in the cluster", func(*testing.T) {
		o := &corev1.ConfigMap{}
		s.there("cm", o)
		s.edit(o, func() { o.Data = two })
		s.eventually("cm", one)
	})
	t.Run("a label that was taken away", func(t *testing.T) {
		o := &corev1.ConfigMap{}
		s.there("cm", o)
		s.edit(o, func() { o.Labels = nil })
		s.Eventually(t, "it is marked", func(context.Context) error {
			if s.there("cm", o); len(o.Labels) == 0 {
				return errors.New("it is not")
			}
			return nil
		})
	})
	t.Run("a changed Secret", func(t *testing.T) {
		s.edit(source, func() { source.Data = map[string][]byte{"n": []byte("2")} })
		copied := &corev1.Secret{}
		s.Eventually(t, "the copy follows", func(context.Context) error {
			if s.there("db", copied); string(copied.Data["n"]) != "2" {
				return fmt.Errorf("it has %v", copied.Data)
			}
			return nil
		})
	})
	t.Run("a removed template, and an application that goes", func(*testing.T) {
		s.edit(app, func() { app.Spec.ResourceTemplates = app.Spec.ResourceTemplates[:1] })
		s.eventually("other", nil)
		s.settles()
		s.delete(app)
		s.gone(app)
		s.eventually("cm", nil)
	})
}

// Clusters that are out of reach, slow, or have other credentials recover without a restart, and do not delay others.
func TestClustersRecover(t *testing.T) {
	t.Parallel()
	s := newWorkloadStage(t)
	t.Cleanup(s.Close)
	front := newFront(t, s.Config)
	s.rewrite(front.use)
	s.connect("second")
	s.run()
	app := s.newApp(template("a", configMap("cm", one)))
	app.Spec.TargetReference = &workloadv1alpha1.KubernetesTargetReference{Name: "there"}
	other := s.newApp(template("b", configMap("other", one)))
	other.Name, other.Spec.TargetReference = "other", &workloadv1alpha1.KubernetesTargetReference{Name: "second"}
	s.create(app, other)
	s.settles()
	n := 1
	change := func(app *workloadv1alpha1.KubernetesApplication, name string, o string) map[string]string {
		n++
		data := map[string]string{"n": fmt.Sprint(n)}
		s.edit(app, func() { app.Spec.ResourceTemplates[0] = template(name, configMap(o, data)) })
		return data
	}
	hang := make(chan struct{})
	for name, outage := range map[string]func(http.ResponseWriter) (answered bool){
		"out of reach": func(http.ResponseWriter) bool { panic(http.ErrAbortHandler) },
		"slow": func(http.ResponseWriter) bool {
			time.Sleep(300 * time.Millisecond)
			return false
		},
		"hanging": func(http.ResponseWriter) bool {
			<-hang
			return true
		},
		"a rotated certificate": func(http.ResponseWriter) bool { return false },
		"refused credentials": func(w http.ResponseWriter) bool {
			w.WriteHeader(http.StatusUnauthorized)
			return true
		},
	} {
		t.Run(name, func(t *testing.T) {
			front.outage.Store(&outage)
			if name == "a rotated certificate" {
				front.rotate(t)
			}
			want := change(app, "a", "cm")
			began := time.Now()
			s.eventually("other", change(other, "b", "other"))
			if took := time.Since(began); took > 5*time.Second {
				t.Errorf("the other cluster was delayed by %s", took)
			}
			front.outage.Store(nil)
			if name == "hanging" {
				close(hang)
			}
			switch name {
			case "refused credentials": // the new ones are accepted
				s.rewrite(func(c *clientcmdapi.Config) {
					front.use(c)
					c.Contexts["x"].Namespace, c.AuthInfos["u"].Token = s.remote, "renewed"
				})
			case "a rotated certificate":
				s.rewrite(front.use)
			}
			s.eventually("cm", want)
			s.settles()
		})
	}
	s.delete(app)
	s.delete(other)
	s.gone(app)
	s.gone(other)
}

// A front stands between controllers and the API server, with a certificate of its own, so that it can be out of order.
type front struct {
	*httptest.Server
	outage      atomic.Pointer[func(http.ResponseWriter) (answered bool)]
	certificate atomic.Pointer[tls.Certificate]
	authorities []byte // that trust the certificate
}

func newFront(t *testing.T, config *rest.Config) *front {
	t.Helper()
	transport, err := rest.TransportFor(config)
	if err != nil {
		t.Fatal(err)
	}
	to, err := neturl.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(to)
	proxy.Transport, proxy.FlushInterval, proxy.ErrorLog = transport, -1, log.New(io.Discard, "", 0)
	f := &front{}
	f.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if outage := f.outage.Load(); outage != nil {
			if answered := (*outage)(w); answered {
				return
			}
		}
		r.Header.Del("Authorization") // that of the config counts
		proxy.ServeHTTP(w, r)
	}))
	f.Config.ErrorLog = proxy.ErrorLog
	f.TLS = &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		return &tls.Config{Certificates: []tls.Certificate{*f.certificate.Load()}}, nil
	}}
	f.rotate(t)
	f.StartTLS()
	t.Cleanup(f.Close)
	t.Cleanup(f.CloseClientConnections)
	return f
}

// rotate replaces the certificate by one that only other authorities trust, and ends all connections.
func (f *front) rotate(t *testing.T) {
	t.Helper()
	authorities, key, err := cert.GenerateSelfSignedCertKey("127.0.0.1", []net.IP{net.IPv4(127, 0, 0, 1)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(authorities, key)
	if err != nil {
		t.Fatal(err)
	}
	f.authorities = authorities
	f.certificate.Store(&pair)
	if f.Listener != nil && f.URL != "" {
		f.CloseClientConnections()
	}
}

// use has a kubeconfig lead to the front, and trust it.
func (f *front) use(c *clientcmdapi.Config) {
	c.Clusters["c"] = &clientcmdapi.Cluster{Server: f.URL, CertificateAuthorityData: f.authorities}
}

// A cluster that never answers leaves the workers to others.
func TestHungCluster(t *testing.T) {
	t.Parallel()
	s := newWorkloadStage(t)
	t.Cleanup(s.Close)
	front, hang := newFront(t, s.Config), make(chan struct{})
	t.Cleanup(func() { close(hang) })
	never := func(http.ResponseWriter) bool {
		<-hang
		return true
	}
	front.outage.Store(&never)
	s.rewrite(front.use)
	s.connect("second")
	var many []workloadv1alpha1.KubernetesApplicationResourceTemplate
	for i := range 100 {
		many = append(many, template(fmt.Sprintf("a%d", i), configMap(fmt.Sprintf("cm%d", i), one)))
	}
	app := s.newApp(many...)
	app.Spec.TargetReference = &workloadv1alpha1.KubernetesTargetReference{Name: "there"}
	s.create(app)
	s.run()
	s.Eventually(t, "all resources are waiting", func(context.Context) error {
		if have := len(s.resources()); have < len(many) {
			return fmt.Errorf("there are %d", have)
		}
		return nil
	})
	other := s.newApp(template("b", configMap("other", one)))
	other.Name, other.Spec.TargetReference = "other", &workloadv1alpha1.KubernetesTargetReference{Name: "second"}
	begin := time.Now()
	s.create(other)
	s.eventually("other", one)
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("the other cluster was delayed by %s", took)
	}
}
