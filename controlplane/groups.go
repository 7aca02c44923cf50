// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/admission/plugin/namespace/lifecycle"
	validatingpolicy "k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/admission/plugin/resourcequota"
	mutatingwebhook "k8s.io/apiserver/pkg/admission/plugin/webhook/mutating"
	validatingwebhook "k8s.io/apiserver/pkg/admission/plugin/webhook/validating"
	serverstorage "k8s.io/apiserver/pkg/server/storage"
	"k8s.io/client-go/discovery"
	openapi "k8s.io/kube-openapi/pkg/common"
	controlplaneapiserver "k8s.io/kubernetes/pkg/controlplane/apiserver"
	generatedopenapi "k8s.io/kubernetes/pkg/generated/openapi"
	"k8s.io/kubernetes/pkg/kubeapiserver/options"
	admissionrest "k8s.io/kubernetes/pkg/registry/admissionregistration/rest"
	authenticationrest "k8s.io/kubernetes/pkg/registry/authentication/rest"
	authorizationrest "k8s.io/kubernetes/pkg/registry/authorization/rest"
	coordinationrest "k8s.io/kubernetes/pkg/registry/coordination/rest"
	eventsrest "k8s.io/kubernetes/pkg/registry/events/rest"
	rbacrest "k8s.io/kubernetes/pkg/registry/rbac/rest"

	// Each group registers its types when it is linked; without these the API server does not know them.
	_ "k8s.io/kubernetes/pkg/apis/admission/install"
	_ "k8s.io/kubernetes/pkg/apis/admissionregistration/install"
	_ "k8s.io/kubernetes/pkg/apis/apiserverinternal/install"
	_ "k8s.io/kubernetes/pkg/apis/authentication/install"
	_ "k8s.io/kubernetes/pkg/apis/authorization/install"
	_ "k8s.io/kubernetes/pkg/apis/certificates/install"
	_ "k8s.io/kubernetes/pkg/apis/coordination/install"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	_ "k8s.io/kubernetes/pkg/apis/events/install"
	_ "k8s.io/kubernetes/pkg/apis/flowcontrol/install"
	_ "k8s.io/kubernetes/pkg/apis/rbac/install"
	_ "k8s.io/kubernetes/pkg/apis/storagemigration/install"
)

// servedGroups are the built-in groups; custom resource definitions and API services bring their own.
func servedGroups() []schema.GroupVersion {
	return []schema.GroupVersion{
		corev1.SchemeGroupVersion,
		admissionregistrationv1.SchemeGroupVersion,
		authenticationv1.SchemeGroupVersion,
		authorizationv1.SchemeGroupVersion,
		coordinationv1.SchemeGroupVersion,
		eventsv1.SchemeGroupVersion,
		rbacv1.SchemeGroupVersion,
	}
}

// servedResources enables whole groups, except admission policies that mutate and what only pods and nodes need.
func servedResources() *serverstorage.ResourceConfig {
	c := serverstorage.NewResourceConfig()
	c.EnableVersions(servedGroups()...)
	for _, name := range []string{
		"pods", "services", "persistentvolumeclaims", "replicationcontrollers", "nodes", "endpoints", "limitranges",
	} {
		c.DisableResources(corev1.SchemeGroupVersion.WithResource(name))
	}
	for _, name := range []string{"mutatingadmissionpolicies", "mutatingadmissionpolicybindings"} {
		c.DisableResources(admissionregistrationv1.SchemeGroupVersion.WithResource(name))
	}
	return c
}

// storageProviders returns what serves the built-in groups, in the order of discovery.
func storageProviders(c controlplaneapiserver.CompletedConfig, d discovery.DiscoveryInterface) []controlplaneapiserver.RESTStorageProvider {
	return []controlplaneapiserver.RESTStorageProvider{
		c.NewCoreGenericConfig(),
		authenticationrest.RESTStorageProvider{Authenticator: c.Generic.Authentication.Authenticator, APIAudiences: c.Generic.Authentication.APIAudiences},
		authorizationrest.RESTStorageProvider{Authorizer: c.Generic.Authorization.Authorizer, RuleResolver: c.Generic.RuleResolver},
		coordinationrest.RESTStorageProvider{},
		rbacrest.RESTStorageProvider{Authorizer: c.Generic.Authorization.Authorizer},
		admissionrest.RESTStorageProvider{Authorizer: c.Generic.Authorization.Authorizer, DiscoveryClient: d},
		eventsrest.RESTStorageProvider{TTL: c.EventTTL},
	}
}

// admissionOff returns the admission plugins that stay off: all but the five that concern objects of any kind.
func admissionOff() sets.Set[string] {
	return sets.New(options.AllOrderedPlugins...).Delete(
		lifecycle.PluginName,
		mutatingwebhook.PluginName,
		validatingwebhook.PluginName,
		validatingpolicy.PluginName,
		resourcequota.PluginName,
	)
}

// openAPIDefinitions returns the schemas of what is served: without pods and their like there are some twenty groups
// fewer, whose schemas would only take memory.
func openAPIDefinitions(ref openapi.ReferenceCallback) map[string]openapi.OpenAPIDefinition {
	all := generatedopenapi.GetOpenAPIDefinitions(ref)
	for name := range all {
		if isUnserved(name) {
			delete(all, name)
		}
	}
	return all
}

// isUnserved tells by a schema's name, such as io.k8s.api.apps.v1.Deployment, whether its group is one of Kubernetes'
// that is not served here.
func isUnserved(name string) bool {
	name, ok := strings.CutPrefix(name, "io.k8s.api.")
	if !ok {
		return false
	}
	group, _, _ := strings.Cut(name, ".")
	switch group {
	case "apps", "autoscaling", "batch", "certificates", "discovery", "extensions", "flowcontrol", "imagepolicy", "networking",
		"node", "policy", "resource", "scheduling", "storage", "storagemigration", "apidiscovery", "apiserverinternal":
		return true
	}
	return false
}
