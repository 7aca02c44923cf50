// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import "net/http"

// A forbiddenCall is one that a team must not be able to make.
type forbiddenCall struct {
	call
	reason string // what the team could do else
}

// Where things are on the API server.
const (
	core    = "/api/v1/namespaces/"
	rbac    = "/apis/rbac.authorization.k8s.io/v1/"
	admit   = "/apis/admissionregistration.k8s.io/v1/"
	made    = "/apis/database.fcp.crossplane.io/v1alpha3/favouritedbinstances"
	offered = "/apis/database.fcp.crossplane.io/v1alpha3/favouritedbinstanceclasses"
	config  = "/apis/fcp.crossplane.io/v1alpha3/providerconfigs"
	claims  = "/apis/database.crossplane.io/v1alpha1/namespaces/"
	crds    = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
)

// forbidden is what the team of namespace shop must not do, with role edit.
func forbidden() map[string]forbiddenCall {
	get := func(path, reason string) forbiddenCall { return forbiddenCall{call{path: path}, reason} }
	write := func(method, path, body, reason string) forbiddenCall {
		return forbiddenCall{call{method: method, path: path, body: body}, reason}
	}
	post := func(path, body, reason string) forbiddenCall { return write(http.MethodPost, path, body, reason) }
	patch := func(path, body, reason string) forbiddenCall { return write(http.MethodPatch, path, body, reason) }
	remove := func(path, reason string) forbiddenCall { return write(http.MethodDelete, path, "", reason) }
	const nothing, label = `{}`, `{"metadata": {"labels": {"x": "y"}}}`
	return map[string]forbiddenCall{
		"credentials":                get(core+"default/secrets/credentials-default", "It would hold the key of the whole cloud account."),
		"Secrets beside credentials": get(core+"default/secrets", "A list shows contents too."),
		"Secrets of another team":    get(core+"rival/secrets", "Another team's databases would be open."),
		"one Secret of another team": get(core+"rival/secrets/db", "A name can be guessed."),
		"Secrets of managed":         get(core+"platform/secrets", "They open the databases of all teams."),
		"one Secret of managed":      get(core+"platform/secrets/crown-jewels", "A name can be guessed."),
		"all Secrets":                get("/api/v1/secrets", "All of the above at once."),
		"watching all Secrets":       get("/api/v1/watch/secrets", "The same, as a stream."),
		"forged annotation": patch(core+"shop/secrets/db", `{"metadata": {"annotations": {"from.propagate.crossplane.io/name": "crown-jewels"}}}`,
			"It would ask for the content of another Secret."),
		"forged consent": patch(core+"platform/secrets/crown-jewels",
			`{"metadata": {"annotations": {"to.propagate.crossplane.io/x": "shop/db"}}}`,
			"The source would agree to be copied."),
		"Secret of a token": post(core+"shop/secrets", nothing,
			"Kubernetes fills Secrets of a certain type with tokens that never end."),
		"making a class": post(offered, nothing, "A class says which account is used, and where Secrets go."),
		"changing a class": patch(offered+"/small", `{"specTemplate": {"writeConnectionSecretsToNamespace": "shop"}}`,
			"Every later Secret would be the team's."),
		"deleting a class":       remove(offered+"/small", "No team could claim any more."),
		"deleting all classes":   remove(offered, "The same."),
		"listing configurations": get(config, "They say where credentials are."),
		"changing a configuration": patch(config+"/default", `{"spec": {"endpoint": "http://shop.example"}}`,
			"The key would be sent to a server of the team's."),
		"making a configuration":   post(config, nothing, "It could use the credentials of another."),
		"deleting a configuration": remove(config+"/default", "Every database would be stuck."),
		"listing managed":          get(made, "They show what other teams have."),
		"reading a managed one":    get(made+"/crown-jewels", "A name can be guessed."),
		"making a managed one":     post(made, nothing, "It would go around the limits of classes."),
		"consenting for managed": patch(made+"/crown-jewels", `{"metadata": {"annotations": {"bowline.dev/allowed-namespaces": "shop"}}}`,
			"The team would bind somebody else's database."),
		"status of managed":      patch(made+"/crown-jewels/status", nothing, "It could look ready, or bound."),
		"deleting a managed one": remove(made+"/crown-jewels", "Somebody's data would be gone."),
		"managed of the namespace": post("/apis/network.fcp.m.crossplane.io/v1alpha3/namespaces/shop/networks", nothing,
			"It would go around classes, with a ClusterProviderConfig."),
		"configuration of the space": post("/apis/fcp.m.crossplane.io/v1alpha3/namespaces/shop/providerconfigs", nothing,
			"Our controllers would talk to any server."),
		"status of the own claim": patch(claims+"shop/postgresqlinstances/db/status", `{"status": {"bindingPhase": "Released"}}`,
			"Controllers believe what a status says."),
		"claims of another team":    get(claims+"rival/postgresqlinstances", "They show what other teams have."),
		"claiming for another team": post(claims+"rival/postgresqlinstances", nothing, "Another team would pay."),
		"changing another's claim":  patch(claims+"rival/postgresqlinstances/db", label, "Another team's database could be changed."),
		"deleting another's claim":  remove(claims+"rival/postgresqlinstances/db", "Another team's data would be gone."),
		"all claims":                get("/apis/database.crossplane.io/v1alpha1/postgresqlinstances", "They show what other teams have."),
		"deleting all own claims": remove(claims+"shop/postgresqlinstances",
			"One slip would delete everything; kubectl deletes one by one."),
		"binding a role":          post(rbac+"namespaces/shop/rolebindings", nothing, "The team would invite itself to more."),
		"making a role":           post(rbac+"namespaces/shop/roles", nothing, "The same."),
		"binding for the cluster": post(rbac+"clusterrolebindings", nothing, "The team would be everywhere."),
		"changing its binding":    patch(rbac+"namespaces/shop/rolebindings/bowline-team-shop", label, "It could name others as subjects."),
		"escalating": patch(rbac+"clusterroles/bowline-edit", `{"rules": []}`,
			"What all teams may do would be the team's to say."),
		"acting as the administrator": {call{path: "/apis", as: "bowline-admin"}, "Nothing would be forbidden."},
		"acting as the controllers": {call{path: "/apis", as: "system:serviceaccount:bowline-system:bowline-controllers"},
			"They read all Secrets."},
		"tokens of the controllers": post(core+"bowline-system/serviceaccounts/bowline-controllers/token", nothing, "They read all Secrets."),
		"tokens of another team":    post(core+"bowline-teams/serviceaccounts/rival/token", nothing, "The team would be another."),
		"a longer token of its own": post(core+"bowline-teams/serviceaccounts/shop/token", `{"spec": {"expirationSeconds": 99999999}}`,
			"Its access would not end."),
		"listing the teams":  get(core+"bowline-teams/serviceaccounts", "Who else is there is nobody's business."),
		"making an account":  post(core+"shop/serviceaccounts", nothing, "Access could be handed on."),
		"making definitions": post(crds, nothing, "They hold for everybody."),
		"changing definitions": patch(crds+"/postgresqlinstances.database.crossplane.io", label,
			"Everybody's claims would be checked differently."),
		"deleting definitions":    remove(crds+"/postgresqlinstances.database.crossplane.io", "Everybody's claims would be gone."),
		"API services":            get("/apis/apiregistration.k8s.io/v1/apiservices", "To write one is to be an API server."),
		"listing namespaces":      get("/api/v1/namespaces", "They say who else is there."),
		"making a namespace":      post("/api/v1/namespaces", `{"metadata": {"name": "more"}}`, "Quotas are by namespace."),
		"labelling its namespace": patch(core+"shop", label, "Classes choose namespaces by labels."),
		"deleting a namespace":    remove(core+"rival", "Another team would be gone."),
		"lifting its quota":       patch(core+"shop/resourcequotas/limit", `{"spec": {"hard": null}}`, "The quota is the platform's word."),
		"webhooks that change":    post(admit+"mutatingwebhookconfigurations", nothing, "They see every Secret that is written."),
		"webhooks that refuse":    post(admit+"validatingwebhookconfigurations", nothing, "The same."),
		"admission policies":      post(admit+"validatingadmissionpolicies", nothing, "They could stop everybody."),
		"bindings of policies":    post(admit+"validatingadmissionpolicybindings", nothing, "The same."),
		"events of others":        get(core+"rival/events", "They tell what other teams do."),
		"all events":              get("/api/v1/events", "The same, of everybody."),
		"making events":           post(core+"shop/events", nothing, "An event is the word of a controller."),
		"the controllers' lease": get("/apis/coordination.k8s.io/v1/namespaces/bowline-system/leases",
			"Whoever writes it stops the controllers."),
		"metrics of the server": get("/metrics", "They name every kind and user."),
	}
}
