// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bowline-dev/bowline/internal/testkit"
	"github.com/bowline-dev/bowline/internal/testkit/thing"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
	"github.com/bowline-dev/bowline/test/inspect"
)

// A kind is a managed kind of the provider, whose creations can be repeated or found: no interrupted create may need manual
// intervention. Or it is a Thing of an identity that the provider's kinds do not have. Upper-case words in its texts are those of site.object.
type kind struct {
	name string
	// object is YAML as a user declares it, with PLAIN in place of OPTION, or with option in operations that choose it.
	object, plain, option string
	change                string // a merge patch, and settings what it changes, before and after, as inspect.External has it
	settings              [2]string
	// things prepares the system of Things. Passwords in it are returned once, by a create that cannot be repeated: an interrupted
	// one may need manual intervention, which must be reported.
	things func(*thing.System)
	// opens returns nil if a connection Secret opens its server. Nil for kinds without one, and Things.
	opens  func(ctx context.Context, data map[string][]byte) error
	parent *kind // the kind that option refers to
	// claim and class are YAML of kinds of operations on claims. The class has the settings of the object.
	claim, class string
	operations   []operation
}

func kinds() []kind {
	const (
		configured = "providerConfigRef: {name: SITE}"
		connected  = configured + ", writeConnectionSecretToRef: {namespace: SITE, name: connection}"
		team       = "providerConfigRef: {kind: ClusterProviderConfig, name: SITE}"
		password   = "passwordSecretRef: {namespace: SITE, name: password, key: password}, "
		asking     = "metadata: {namespace: SITE, name: NAME}, spec: {OPTION}"
		offered    = "metadata: {name: SITE-NAME}, specTemplate: {" + configured + ", writeConnectionSecretsToNamespace: SITE, OPTION "
	)
	database := kind{
		name: "FavouriteDBInstance", opens: inspect.OpensPostgreSQL, option: password,
		object: "{apiVersion: database.fcp.crossplane.io/v1alpha3, kind: FavouriteDBInstance, metadata: {name: SITE-NAME}, " +
			"spec: {" + connected + ", forProvider: {OPTION fancinessLevel: 20}}}",
		change: `{"spec":{"forProvider":{"fancinessLevel":30}}}`, settings: [2]string{"20", "30"},
		operations: append(common(), passwords()...),
	}
	cache := kind{
		name: "CacheInstance", opens: inspect.OpensRedis, option: password,
		object: "{apiVersion: cache.fcp.crossplane.io/v1alpha3, kind: CacheInstance, metadata: {name: SITE-NAME}, " +
			"spec: {" + connected + ", forProvider: {OPTION memoryMegabytes: 8}}}",
		change: `{"spec":{"forProvider":{"memoryMegabytes":16}}}`, settings: [2]string{"8", "16"},
		operations: append(common(), passwords()...),
	}
	cluster := kind{
		name: "FavouriteCluster", opens: inspect.OpensCluster, operations: common(), settings: [2]string{"web", "data"},
		object: "{apiVersion: compute.fcp.crossplane.io/v1alpha3, kind: FavouriteCluster, metadata: {name: SITE-NAME}, " +
			"spec: {" + connected + ", forProvider: {labels: {tier: web}}}}", change: `{"spec":{"forProvider":{"labels":{"tier":"data"}}}}`,
	}
	clusterNetwork := kind{
		name: "ClusterNetwork", change: `{"spec":{"forProvider":{"mtu":9000}}}`, settings: [2]string{"1400", "9000"},
		object: "{apiVersion: network.fcp.crossplane.io/v1alpha3, kind: Network, metadata: {name: SITE-NAME}, " +
			"spec: {" + configured + ", forProvider: {cidrBlock: 10.0.0.0/8, mtu: 1400}}}",
		operations: append(common(), configs()...),
	}
	teamNetwork := clusterNetwork
	teamNetwork.name = "Network"
	teamNetwork.object = "{apiVersion: network.fcp.m.crossplane.io/v1alpha3, kind: Network, metadata: {namespace: SITE, name: NAME}, " +
		"spec: {" + team + ", forProvider: {cidrBlock: 10.0.0.0/8, mtu: 1400}}}"
	subnet := kind{
		name: "Subnet", plain: "networkId: NETWORK", option: "networkIdRef: {name: parent}", parent: &teamNetwork,
		object: "{apiVersion: network.fcp.m.crossplane.io/v1alpha3, kind: Subnet, metadata: {namespace: SITE, name: NAME}, " +
			"spec: {" + team + ", forProvider: {cidrBlock: 10.1.0.0/16, labels: {tier: web}, OPTION}}}",
		change: `{"spec":{"forProvider":{"labels":{"tier":"data"}}}}`, settings: [2]string{"web", "data"},
		operations: append(common(), parents()...),
	}
	nodeGroup := kind{
		name: "NodeGroup", plain: "subnetIds: [SUBNET]", option: "subnetIdRefs: [{name: parent}]", parent: &subnet,
		object: "{apiVersion: compute.fcp.m.crossplane.io/v1alpha3, kind: NodeGroup, metadata: {namespace: SITE, name: NAME}, " +
			"spec: {" + team + ", forProvider: {scalingConfig: [{minSize: 1, maxSize: 4}], OPTION}, " +
			"initProvider: {scalingConfig: [{desiredSize: 2}]}}}",
		change: `{"spec":{"forProvider":{"scalingConfig":[{"minSize":1,"maxSize":6}]}}}`, settings: [2]string{"4", "6"},
		operations: append(common(), parents()...),
	}
	// A cache is created fast: it has all operations on claims. The creation of a database takes long.
	claim, databaseClaim := cache, database
	claim.name, claim.operations = "Claim", append(append(choosing(), serving()...), static()...)
	claim.claim = "{apiVersion: cache.crossplane.io/v1alpha1, kind: RedisCluster, " + asking + "}"
	claim.class = "{apiVersion: cache.fcp.crossplane.io/v1alpha3, kind: CacheInstanceClass, " + offered + "forProvider: {memoryMegabytes: 8}}}"
	databaseClaim.name, databaseClaim.operations = "DatabaseClaim", serving()
	databaseClaim.claim = "{apiVersion: database.crossplane.io/v1alpha1, kind: PostgreSQLInstance, " + asking + "}"
	databaseClaim.class = "{apiVersion: database.fcp.crossplane.io/v1alpha3, kind: FavouriteDBInstanceClass, " + offered + "forProvider: {fancinessLevel: 20}}}"
	return append(things(), database, cache, cluster, clusterNetwork, teamNetwork, subnet, nodeGroup, claim, databaseClaim)
}

// things are Things of each identity that returns passwords once.
func things() []kind {
	all := []kind{
		{name: "ByName", things: func(*thing.System) {}},
		{name: "ByLabel", things: func(s *thing.System) { s.VendorNames, s.Finds = true, true }},
		{name: "Unfindable", things: func(s *thing.System) { s.VendorNames = true }},
	}
	for i := range all {
		k := &all[i]
		k.object = "{apiVersion: test.bowline.dev/v1, kind: Thing, metadata: {name: SITE-NAME}, " +
			"spec: {writeConnectionSecretToRef: {namespace: SITE, name: connection}, forProvider: {size: 1}}}"
		k.change, k.settings, k.operations = `{"spec":{"forProvider":{"size":2}}}`, [2]string{"1", "2"}, common()
	}
	return all
}

// A step is something that a user or the cloud does, or a check.
type step func(*attempt, context.Context) error

// An operation is an event that the controllers react to, and its result.
type operation struct {
	name          string
	option        bool   // declares the object with the option of its kind
	before, given []step // before is done without controllers, and given with controllers that have no fault
	when          []step // the event. No process runs then.
	cue, during   step   // during is a second event, once cue returns nil or the process has crashed. Optional.
	then          step   // returns nil when the operation has its result. Default: settled.
	empty         bool   // true if it leaves no object and no external resource: the controllers are idle once they are silent
	creates       bool   // true if its create may be interrupted
	configs       bool   // true if requests that protect provider configurations are points
}

// common are the operations on every managed kind.
func common() []operation {
	exists := []step{createObject, settle}
	return []operation{
		{name: "create", creates: true, when: []step{createObject}},
		{name: "update", given: exists, when: []step{func(t *attempt, ctx context.Context) error {
			t.setting = t.kind.settings[1]
			return t.patch(ctx, t.kind.change)
		}}},
		{name: "recreate", creates: true, given: exists, when: []step{emptySite, permitRecreate}},
		{name: "delete", empty: true, given: exists, when: []step{deleteObject}, then: (*attempt).allDeleted},
	}
}

// parents are the operations on an object that refers to another: creation before the other, and deletion together with it.
func parents() []operation {
	parent := func(t *attempt) client.Object { return t.kind.parent.declare(t.site, "parent", false) }
	create := func(t *attempt, ctx context.Context) error { return t.site.client.Create(ctx, parent(t)) }
	remove := func(t *attempt, ctx context.Context) error { return t.site.client.Delete(ctx, parent(t)) }
	return []operation{
		{name: "resolve", option: true, when: []step{createObject}, cue: (*attempt).notSynced, during: create},
		{name: "delete-with-parent", empty: true, option: true, given: []step{create, createObject, settle},
			when: []step{remove, deleteObject}, then: (*attempt).allDeleted},
	}
}

// configs are the operations on an object and its provider configuration: when both are deleted, that is deleted last.
func configs() []operation {
	remove := func(t *attempt, ctx context.Context) error {
		for _, o := range t.site.configurations() {
			if err := t.site.client.Delete(ctx, o); err != nil {
				return err
			}
		}
		return nil
	}
	return []operation{
		{name: "create-with-config", configs: true, when: []step{createObject}, then: (*attempt).protected},
		{name: "delete-with-config", empty: true, configs: true, given: []step{createObject, until((*attempt).protected)},
			when: []step{remove, deleteObject}, then: (*attempt).configsDeleted},
	}
}

// passwords are the operations on a server with a password of the user: its creation, and a change of the password.
func passwords() []operation {
	return []operation{
		{name: "create-with-password", option: true, before: []step{choosePassword}, when: []step{createObject}},
		{name: "rotate", option: true, before: []step{choosePassword}, given: []step{createObject, settle}, when: []step{changePassword}},
		{name: "rotate-generated", given: []step{createObject, settle}, when: []step{ageCredentials}, then: (*attempt).rotated},
	}
}

// choosing are the operations that choose a class. The classes serve no claim, so that nothing else happens.
func choosing() []operation {
	closed := []step{
		createClass("b", "claims: {max: 0},", ""), createClass("a", "claims: {max: 0},", meta.AnnotationKeyDefaultClass),
	}
	return []operation{
		{name: "schedule", empty: true, before: closed, when: []step{createClaim("claim", selected)}, then: (*attempt).chosen},
		{name: "default", empty: true, before: closed, when: []step{createClaim("claim", claimed)}, then: (*attempt).chosen},
	}
}

// serving are the operations on a claim and its managed resource.
func serving() []operation {
	offer := func(more string) []step { return []step{createClass("a", "claims: {max: 1}, "+more, "")} }
	ask := createClaim("claim", selected)
	bound, retained := []step{ask, settle}, offer("reclaimPolicy: Retain,")
	const released = `"spec":{"claimRef":null},`
	return []operation{
		{name: "provision", before: offer(""), when: []step{ask}},
		{name: "propagate", before: offer(""), given: []step{ask, settle, choosePassword, referToPassword, settle, (*attempt).opens},
			when: []step{changePassword}},
		{name: "release", before: retained, given: bound, when: []step{deleteClaim}, then: (*attempt).released},
		{name: "delete", empty: true, before: offer("reclaimPolicy: Delete,"), given: bound, when: []step{deleteClaim},
			then: (*attempt).reclaimed},
		{name: "abandon", empty: true, before: offer(""), when: []step{ask}, cue: (*attempt).createStarted, during: deleteClaim,
			then: (*attempt).allDeleted},
		{name: "rebind", before: retained, given: append(bound, deleteClaim, until((*attempt).released)),
			when: []step{allow(released), createClaim("heir", wanted)}},
	}
}

// static are the operations on claims for a managed resource that existed before.
func static() []operation {
	exists, claim := []step{createObject, settle}, createClaim("claim", wanted)
	return []operation{
		{name: "bind", given: exists, when: []step{allow(""), claim}},
		{name: "contest", given: exists, when: []step{claim, createClaim("rival", rival), allow("")}, then: (*attempt).contested},
		{name: "unbind", given: []step{createObject, settle, allow(""), claim, settle}, when: []step{deleteClaim}, then: (*attempt).released},
	}
}

func createObject(t *attempt, ctx context.Context) error { return t.site.client.Create(ctx, t.object) }

func emptySite(t *attempt, ctx context.Context) error { return t.site.empty(ctx) }

// permitRecreate permits once to create the external resource again, which kinds that hold data need.
func permitRecreate(t *attempt, ctx context.Context) error {
	return t.patch(ctx, fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, meta.AnnotationKeyRecreate, t.object.GetUID()))
}

func deleteObject(t *attempt, ctx context.Context) error { return t.site.client.Delete(ctx, t.object) }

func deleteClaim(t *attempt, ctx context.Context) error { return t.site.client.Delete(ctx, t.claim) }

// settle waits until all objects and claims are as declared.
func settle(t *attempt, ctx context.Context) error { return until((*attempt).settled)(t, ctx) }

func until(check step) step {
	return func(t *attempt, ctx context.Context) error {
		return testkit.Poll(ctx, func() error { return check(t, ctx) })
	}
}

// patch changes the object.
func (t *attempt) patch(ctx context.Context, merge string) error {
	return t.site.client.Patch(ctx, t.object, mergePatch(merge))
}

// choosePassword creates the Secret with the password of the user.
func choosePassword(t *attempt, ctx context.Context) error {
	t.password = "the first password"
	return t.site.client.Create(ctx, t.passwordSecret())
}

func changePassword(t *attempt, ctx context.Context) error {
	t.password = "the second password"
	return t.site.client.Update(ctx, t.passwordSecret())
}

// ageCredentials has a generated password that is older than it may be, and that may work beside the next one for a moment.
func ageCredentials(t *attempt, ctx context.Context) (err error) {
	if t.former, err = t.secret(ctx); err != nil {
		return err
	}
	return t.patch(ctx, fmt.Sprintf(`{"spec":{"credentials":{"rotateEvery":"1h","overlap":"1s"}},"metadata":{"annotations":{%[1]q:%[3]q,%[2]q:%[3]q}}}`,
		meta.AnnotationKeyExternalCreatePending, meta.AnnotationKeyExternalCreateSucceeded, time.Now().Add(-2*time.Hour).Format(time.RFC3339)))
}

func (t *attempt) passwordSecret() client.Object {
	const secret = "{apiVersion: v1, kind: Secret, metadata: {namespace: SITE, name: password}, stringData: {password: OPTION}}"
	return t.site.object(secret, "", t.password)
}

// referToPassword gives the object the password of the user.
func referToPassword(t *attempt, ctx context.Context) error {
	return t.patch(ctx, fmt.Sprintf(`{"spec":{"forProvider":{"passwordSecretRef":{"namespace":%q,"name":"password","key":"password"}}}}`,
		t.site.namespace))
}

// allow lets claims of the site use the object, as an administrator does. more is added to the patch.
func allow(more string) step {
	return func(t *attempt, ctx context.Context) error {
		return t.patch(ctx, fmt.Sprintf(`{%s"metadata":{"annotations":{%q:%q}}}`, more, meta.AnnotationKeyAllowedNamespaces, t.site.namespace))
	}
}

// createClass creates a class with more settings.
func createClass(name, more, annotation string) step {
	return func(t *attempt, ctx context.Context) error {
		class := t.site.object(t.kind.class, name, more)
		if annotation != "" {
			class.SetAnnotations(map[string]string{annotation: "true"})
		}
		return t.site.client.Create(ctx, class)
	}
}

// What claims ask for: a Secret, and the classes of the site or the object. A rival has its own Secret: a copy to it shows.
const (
	claimed  = "writeConnectionSecretToRef: {name: claimed}, "
	selected = claimed + "classSelector: {matchLabels: {" + siteLabel + ": SITE}}"
	existing = "resourceRef: {name: the object}"
	wanted   = claimed + existing
	rival    = "writeConnectionSecretToRef: {name: rival}, " + existing
)

// createClaim creates a claim, which is that of the attempt from then on.
func createClaim(name, spec string) step {
	return func(t *attempt, ctx context.Context) error {
		t.claim = t.site.object(t.kind.claim, name, spec).(resource.Claim)
		if ref := t.claim.GetResourceReference(); ref != nil {
			gvk, err := t.site.client.GroupVersionKindFor(t.object)
			if err != nil {
				return err
			}
			ref.APIVersion, ref.Kind = gvk.ToAPIVersionAndKind()
			ref.Name = t.object.GetName()
			t.claim.SetResourceReference(ref)
		}
		return t.site.client.Create(ctx, t.claim)
	}
}
