// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import "net/http"

// A forbiddenCall is one that a team must not be able to make.
type forbiddenCall struct {
	apiCall
	reason string // what the team could do else
}

// Where things are on the API server.
const (
	pathCore        = "/api/v1/namespaces/"
	pathRoles       = "/apis/rbac.authorization.k8s.io/v1/"
	pathAdmission   = "/apis/admissionregistration.k8s.io/v1/"
	pathManaged     = "/apis/database.fcp.crossplane.io/v1alpha3/favouritedbinstances"
	pathClasses     = "/apis/database.fcp.crossplane.io/v1alpha3/favouritedbinstanceclasses"
	pathConfigs     = "/apis/fcp.crossplane.io/v1alpha3/providerconfigs"
	pathClaims      = "/apis/database.crossplane.io/v1alpha1/namespaces/"
	pathTargets     = "/apis/workload.crossplane.io/v1alpha1/namespaces/"
	pathDefinitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
)

// Bodies of requests. What is refused by its rights is refused before they are read.
const (
	emptyBody = `{}`
	labelBody = `{"metadata": {"labels": {"x": "y"}}}`
)

func noGet(path, reason string) forbiddenCall { return forbiddenCall{apiCall{path: path}, reason} }

func noPost(path, body, reason string) forbiddenCall {
	return forbiddenCall{apiCall{method: http.MethodPost, path: path, body: body}, reason}
}

func noPatch(path, body, reason string) forbiddenCall {
	return forbiddenCall{apiCall{method: http.MethodPatch, path: path, body: body}, reason}
}

func noDelete(path, reason string) forbiddenCall {
	return forbiddenCall{apiCall{method: http.MethodDelete, path: path}, reason}
}

// forbiddenOfPlatform is what is the platform's, and the team of namespace shop must not see or touch.
func forbiddenOfPlatform() map[string]forbiddenCall {
	return map[string]forbiddenCall{
		"credentials":                noGet(pathCore+"default/secrets/credentials-default", "It would hold the key of the whole cloud account."),
		"Secrets beside credentials": noGet(pathCore+"default/secrets", "A list shows contents too."),
		"Secrets of another team":    noGet(pathCore+"rival/secrets", "Another team's databases would be open."),
		"one Secret of another team": noGet(pathCore+"rival/secrets/db", "A name can be guessed."),
		"Secrets of managed":         noGet(pathCore+"platform/secrets", "They open the databases of all teams."),
		"one Secret of managed":      noGet(pathCore+"platform/secrets/crown-jewels", "A name can be guessed."),
		"all Secrets":                noGet("/api/v1/secrets", "All of the above at once."),
		"watching all Secrets":       noGet("/api/v1/watch/secrets", "The same, as a stream."),
		"forged annotation": noPatch(pathCore+"shop/secrets/db",
			`{"metadata": {"annotations": {"from.propagate.crossplane.io/name": "crown-jewels"}}}`,
			"It would ask for the content of another Secret."),
		"forged consent": noPatch(pathCore+"platform/secrets/crown-jewels",
			`{"metadata": {"annotations": {"to.propagate.crossplane.io/x": "shop/db"}}}`,
			"The source would agree to be copied."),
		"Secret of a token": noPost(pathCore+"shop/secrets", emptyBody,
			"Kubernetes fills Secrets of a certain type with tokens that never end."),
		"creating a class": noPost(pathClasses, emptyBody, "A class selects the account, and the namespace of Secrets."),
		"changing a class": noPatch(pathClasses+"/small", `{"specTemplate": {"writeConnectionSecretsToNamespace": "shop"}}`,
			"Every later Secret would be the team's."),
		"deleting a class":       noDelete(pathClasses+"/small", "No team could claim any more."),
		"deleting all classes":   noDelete(pathClasses, "The same."),
		"listing configurations": noGet(pathConfigs, "They contain where credentials are."),
		"changing a configuration": noPatch(pathConfigs+"/default", `{"spec": {"endpoint": "http://shop.example"}}`,
			"The key would be sent to a server of the team's."),
		"making a configuration":   noPost(pathConfigs, emptyBody, "It could use the credentials of another."),
		"deleting a configuration": noDelete(pathConfigs+"/default", "Every database would be stuck."),
		"listing managed":          noGet(pathManaged, "They show what other teams have."),
		"reading a managed one":    noGet(pathManaged+"/crown-jewels", "A name can be guessed."),
		"making a managed one":     noPost(pathManaged, emptyBody, "It would go around the limits of classes."),
		"consenting for managed": noPatch(pathManaged+"/crown-jewels",
			`{"metadata": {"annotations": {"bowline.dev/allowed-namespaces": "shop"}}}`,
			"The team would bind another team's database."),
		"status of managed":      noPatch(pathManaged+"/crown-jewels/status", emptyBody, "It could look ready, or bound."),
		"deleting a managed one": noDelete(pathManaged+"/crown-jewels", "The data of its owner would be lost."),
		"managed of the namespace": noPost("/apis/network.fcp.m.crossplane.io/v1alpha3/namespaces/shop/networks", emptyBody,
			"It would go around classes, with a ClusterProviderConfig."),
		"configuration of the space": noPost("/apis/fcp.m.crossplane.io/v1alpha3/namespaces/shop/providerconfigs", emptyBody,
			"Our controllers would talk to any server."),
	}
}

// forbiddenOfCluster is what belongs to other teams or to the whole cluster, and what would make the team more than it is.
func forbiddenOfCluster() map[string]forbiddenCall {
	return map[string]forbiddenCall{
		"status of the own claim": noPatch(pathClaims+"shop/postgresqlinstances/db/status", `{"status": {"bindingPhase": "Released"}}`,
			"Controllers rely on statuses."),
		"claims of another team":    noGet(pathClaims+"rival/postgresqlinstances", "They show what other teams have."),
		"claiming for another team": noPost(pathClaims+"rival/postgresqlinstances", emptyBody, "Another team would pay."),
		"changing another's claim":  noPatch(pathClaims+"rival/postgresqlinstances/db", labelBody, "Another team's database could be changed."),
		"deleting another's claim":  noDelete(pathClaims+"rival/postgresqlinstances/db", "Another team's data would be lost."),
		"targets of another team":   noGet(pathTargets+"rival/kubernetestargets", "They show what other teams connect to."),
		"a target for another team": noPost(pathTargets+"rival/kubernetestargets", emptyBody, "Another team's Secrets would fill up."),
		"all targets":               noGet("/apis/workload.crossplane.io/v1alpha1/kubernetestargets", "They show what other teams connect to."),
		"all claims":                noGet("/apis/database.crossplane.io/v1alpha1/postgresqlinstances", "They show what other teams have."),
		"deleting all own claims": noDelete(pathClaims+"shop/postgresqlinstances",
			"One slip would delete everything; kubectl deletes one by one."),
		"binding a role":          noPost(pathRoles+"namespaces/shop/rolebindings", emptyBody, "The team would invite itself to more."),
		"making a role":           noPost(pathRoles+"namespaces/shop/roles", emptyBody, "The same."),
		"binding for the cluster": noPost(pathRoles+"clusterrolebindings", emptyBody, "The team would be everywhere."),
		"changing its binding": noPatch(pathRoles+"namespaces/shop/rolebindings/bowline-team-shop", labelBody,
			"It could name others as subjects."),
		"escalating": noPatch(pathRoles+"clusterroles/bowline-edit", `{"rules": []}`,
			"What all teams may do would be the team's choice."),
		"acting as the administrator": {apiCall{path: "/apis", as: "bowline-admin"}, "Nothing would be forbidden."},
		"acting as the controllers": {apiCall{path: "/apis", as: "system:serviceaccount:bowline-system:bowline-controllers"},
			"They read all Secrets."},
		"tokens of the controllers": noPost(pathCore+"bowline-system/serviceaccounts/bowline-controllers/token", emptyBody,
			"They read all Secrets."),
		"tokens of another team": noPost(pathCore+"bowline-teams/serviceaccounts/rival/token", emptyBody, "The team would be another."),
		"a longer token of its own": noPost(pathCore+"bowline-teams/serviceaccounts/shop/token", `{"spec": {"expirationSeconds": 99999999}}`,
			"Its access would not end."),
		"listing the teams":  noGet(pathCore+"bowline-teams/serviceaccounts", "The names of other teams are confidential."),
		"making an account":  noPost(pathCore+"shop/serviceaccounts", emptyBody, "Access could be handed on."),
		"making definitions": noPost(pathDefinitions, emptyBody, "They apply to all users."),
		"changing definitions": noPatch(pathDefinitions+"/postgresqlinstances.database.crossplane.io", labelBody,
			"All claims would be checked differently."),
		"deleting definitions":    noDelete(pathDefinitions+"/postgresqlinstances.database.crossplane.io", "All claims would be deleted."),
		"API services":            noGet("/apis/apiregistration.k8s.io/v1/apiservices", "To write one is to be an API server."),
		"listing namespaces":      noGet("/api/v1/namespaces", "They are named after other teams."),
		"making a namespace":      noPost("/api/v1/namespaces", `{"metadata": {"name": "more"}}`, "Quotas are by namespace."),
		"labelling its namespace": noPatch(pathCore+"shop", labelBody, "Classes choose namespaces by labels."),
		"deleting a namespace":    noDelete(pathCore+"rival", "Another team would lose everything."),
		"lifting its quota":       noPatch(pathCore+"shop/resourcequotas/limit", `{"spec": {"hard": null}}`, "The quota is the platform's word."),
		"webhooks that change":    noPost(pathAdmission+"mutatingwebhookconfigurations", emptyBody, "They see every Secret that is written."),
		"webhooks that refuse":    noPost(pathAdmission+"validatingwebhookconfigurations", emptyBody, "The same."),
		"admission policies":      noPost(pathAdmission+"validatingadmissionpolicies", emptyBody, "They could stop all users."),
		"bindings of policies":    noPost(pathAdmission+"validatingadmissionpolicybindings", emptyBody, "The same."),
		"events of others":        noGet(pathCore+"rival/events", "They show what other teams do."),
		"all events":              noGet("/api/v1/events", "The same, of all teams."),
		"making events":           noPost(pathCore+"shop/events", emptyBody, "An event is the word of a controller."),
		"the controllers' lease": noGet("/apis/coordination.k8s.io/v1/namespaces/bowline-system/leases",
			"A write stops the controllers."),
		"metrics of the server": noGet("/metrics", "They name every kind and user."),
	}
}
