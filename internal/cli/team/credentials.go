// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package team

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bowline-dev/bowline/pkg/crd"
)

// checkNamespaces refuses a namespace with Secrets of the platform, since a team reads all Secrets of its namespaces.
func (a *Accounts) checkNamespaces(ctx context.Context, r Request) error {
	var definitions apiextensionsv1.CustomResourceDefinitionList
	if err := a.client.List(ctx, &definitions); err != nil {
		return fmt.Errorf("listing custom resource definitions: %w", err)
	}
	for _, d := range definitions.Items {
		served := slices.IndexFunc(d.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Served })
		if served < 0 || !mayNameSecrets(d) {
			continue
		}
		var objects unstructured.UnstructuredList
		objects.SetAPIVersion(d.Spec.Group + "/" + d.Spec.Versions[served].Name)
		objects.SetKind(d.Spec.Names.Kind + "List")
		err := a.client.List(ctx, &objects)
		if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) && a.isUnserved(ctx, d.Name) {
			continue // just removed
		}
		if err != nil {
			return fmt.Errorf("listing %s: %w", d.Name, err)
		}
		for _, o := range objects.Items {
			if i := slices.IndexFunc(r.Namespaces, func(n string) bool { return namesSecretsIn(o, n) }); i >= 0 {
				return fmt.Errorf("namespace %[3]q has Secrets of %[1]s %[2]s, which the team could read; choose a namespace of its own for the team",
					o.GetKind(), o.GetName(), r.Namespaces[i])
			}
		}
	}
	return nil
}

// isUnserved is true for a definition that is gone or not yet established, so that it has no objects.
func (a *Accounts) isUnserved(ctx context.Context, name string) bool {
	var d apiextensionsv1.CustomResourceDefinition
	err := a.client.Get(ctx, client.ObjectKey{Name: name}, &d)
	return apierrors.IsNotFound(err) || err == nil && !apihelpers.IsCRDConditionTrue(&d, apiextensionsv1.Established)
}

// mayNameSecrets is false for a namespaced managed resource, which names only Secrets that are meant for its namespace.
func mayNameSecrets(d apiextensionsv1.CustomResourceDefinition) bool {
	is := func(category string) bool { return crd.IsIn(category, d.Spec.Names.Categories) }
	return is("classes") || is("provider") || is("managed") && d.Spec.Scope == apiextensionsv1.ClusterScoped
}

// namesSecretsIn finds references, which name the namespace or mean that of the object, and the namespace for new Secrets.
func namesSecretsIn(o unstructured.Unstructured, namespace string) bool {
	var named func(value any) bool
	named = func(value any) bool {
		switch v := value.(type) {
		case []any:
			return slices.ContainsFunc(v, named)
		case map[string]any:
			for key, inner := range v {
				if key == "writeConnectionSecretsToNamespace" && inner == namespace || named(inner) {
					return true
				}
				reference, isMap := inner.(map[string]any)
				if !isMap || !namesSecret(key) {
					continue
				}
				if in, ok := reference["namespace"]; in == namespace || !ok && o.GetNamespace() == namespace {
					return true
				}
			}
		}
		return false
	}
	return named(o.Object["spec"]) || named(o.Object["specTemplate"])
}

// namesSecret reports whether a field refers to a Secret, to read (passwordSecretRef) or to write (writeConnectionSecretToRef).
func namesSecret(key string) bool {
	key = strings.ToLower(key)
	return strings.HasSuffix(key, "secretref") || strings.HasSuffix(key, "secrettoref")
}

// LoadAdmin returns the access of a kubeconfig, and its cluster with all certificates inline, for the kubeconfigs of teams.
func LoadAdmin(admin clientcmd.ClientConfig, chosen string) (*rest.Config, *clientcmdapi.Cluster, error) {
	config, err := admin.ClientConfig()
	if err != nil {
		return nil, nil, err
	}
	file, err := admin.RawConfig()
	if err != nil {
		return nil, nil, err
	}
	context := file.Contexts[cmp.Or(chosen, file.CurrentContext)]
	if context == nil || file.Clusters[context.Cluster] == nil {
		return nil, nil, errors.New("the current context names no cluster; choose one with: kubectl config use-context")
	}
	cluster := file.Clusters[context.Cluster]
	if err := clientcmdapi.FlattenContent(&cluster.CertificateAuthority, &cluster.CertificateAuthorityData, ""); err != nil {
		return nil, nil, fmt.Errorf("reading the certificate authority: %w", err)
	}
	return config, cluster, nil
}

// Kubeconfig returns a kubeconfig with nothing but one cluster, the team's namespace and its token.
func (g Grant) Kubeconfig(cluster *clientcmdapi.Cluster) ([]byte, error) {
	const name = "bowline"
	return clientcmd.Write(clientcmdapi.Config{
		CurrentContext: g.Name,
		Clusters:       map[string]*clientcmdapi.Cluster{name: cluster},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{g.Name: {Token: g.Token}},
		Contexts:       map[string]*clientcmdapi.Context{g.Name: {Cluster: name, AuthInfo: g.Name, Namespace: g.Namespace}},
	})
}

// CheckOverwrite refuses to replace anything but a kubeconfig of the same team, and reports a file that cannot be written before
// anything is created.
func CheckOverwrite(path, team string) error {
	trial, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return fmt.Errorf("%s cannot be written; choose another file with -o: %w", path, err)
	}
	if err := errors.Join(trial.Close(), os.Remove(trial.Name())); err != nil {
		return err
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	old, err := clientcmd.LoadFromFile(path)
	if err == nil && len(old.AuthInfos) == 1 && old.AuthInfos[team] != nil && old.AuthInfos[team].Token != "" && old.CurrentContext == team {
		return nil
	}
	return fmt.Errorf("%s exists and is no kubeconfig of team %s; choose another file with -o, or remove it", path, team)
}
