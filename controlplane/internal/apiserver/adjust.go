// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"cmp"
	"context"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/component-base/compatibility"
	kubeversion "k8s.io/component-base/version"
	"k8s.io/kubernetes/pkg/serviceaccount"

	"github.com/bowline-dev/bowline/controlplane/internal/objects"
)

// establishAtOnce backdates the moment at which a definition is established: the handler delays creates within two seconds of it, for
// other servers, which do not exist here.
type establishAtOnce struct{}

func (establishAtOnce) Handles(op admission.Operation) bool { return op == admission.Update }

func (establishAtOnce) Admit(_ context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if a.GetSubresource() != "status" || a.GetResource().GroupResource() != apiextensions.Resource("customresourcedefinitions") {
		return nil
	}
	crd, ok := a.GetObject().(*apiextensions.CustomResourceDefinition)
	if !ok {
		return nil
	}
	for i := range crd.Status.Conditions {
		c := &crd.Status.Conditions[i]
		if c.Type == apiextensions.Established && c.Status == apiextensions.ConditionTrue && time.Since(c.LastTransitionTime.Time) < objects.EstablishedLead {
			c.LastTransitionTime.Time = c.LastTransitionTime.Add(-objects.EstablishedLead)
		}
	}
	return nil
}

// tokenGetter reads the objects that a service account token is bound to; there are no pods and nodes. It reads from the server what
// the cache lacks, so that a token works as soon as it is issued.
type tokenGetter struct {
	secrets  corelisters.SecretLister
	accounts corelisters.ServiceAccountLister
	live     kubernetes.Interface // set before the server serves
}

// attach is called by the authentication options once the informers exist.
func (g *tokenGetter) attach(f informers.SharedInformerFactory) serviceaccount.ServiceAccountTokenGetter {
	g.secrets, g.accounts = f.Core().V1().Secrets().Lister(), f.Core().V1().ServiceAccounts().Lister()
	return g
}

func (g *tokenGetter) GetServiceAccount(ctx context.Context, namespace, name string) (*corev1.ServiceAccount, error) {
	if account, err := g.accounts.ServiceAccounts(namespace).Get(name); err == nil {
		return account, nil
	}
	return g.live.CoreV1().ServiceAccounts(namespace).Get(ctx, name, metav1.GetOptions{})
}

func (g *tokenGetter) GetSecret(ctx context.Context, namespace, name string) (*corev1.Secret, error) {
	if secret, err := g.secrets.Secrets(namespace).Get(name); err == nil {
		return secret, nil
	}
	return g.live.CoreV1().Secrets(namespace).Get(ctx, name, metav1.GetOptions{})
}

func (*tokenGetter) GetPod(_ context.Context, _, name string) (*corev1.Pod, error) {
	return nil, apierrors.NewNotFound(corev1.Resource("pods"), name)
}

func (*tokenGetter) GetNode(_ context.Context, name string) (*corev1.Node, error) {
	return nil, apierrors.NewNotFound(corev1.Resource("nodes"), name)
}

type reportedVersion struct {
	compatibility.EffectiveVersion
	gitVersion string
}

// Info adds the version, which Kubernetes otherwise knows only in its release builds.
func (v reportedVersion) Info() *version.Info {
	info := cmp.Or(v.EffectiveVersion.Info(), new(kubeversion.Get()))
	info.GitVersion = v.gitVersion
	if major, rest, ok := strings.Cut(strings.TrimPrefix(v.gitVersion, "v"), "."); ok {
		info.Major = major
		info.Minor, _, _ = strings.Cut(rest, ".")
	}
	return info
}

// withVersion makes a server report the version set by the linker, else that of the linked Kubernetes module.
func withVersion(v compatibility.EffectiveVersion) compatibility.EffectiveVersion {
	if !strings.Contains(kubeversion.Get().GitVersion, "$Format") {
		return v
	}
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	for _, dep := range build.Deps {
		if dep.Path == "k8s.io/kubernetes" {
			return reportedVersion{EffectiveVersion: v, gitVersion: dep.Version}
		}
	}
	return v
}

// emptySchema serves an empty OpenAPI v2: kubectl reads it before it sends the items of a List, which the server validates.
func emptySchema(w http.ResponseWriter, req *http.Request) {
	const protobuf = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
	if strings.Contains(req.Header.Get("Accept"), protobuf) {
		w.Header().Set("Content-Type", protobuf)
		return // no bytes are an empty message
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write([]byte(`{"swagger":"2.0","info":{"title":"Bowline","version":"see /openapi/v3"},"paths":{}}`)) // the client may be gone
}
