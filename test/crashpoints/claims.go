// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/bowline-dev/bowline/apis/cache/v1alpha1"
	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	databasev1alpha1 "github.com/bowline-dev/bowline/apis/database/v1alpha1"
	"github.com/bowline-dev/bowline/internal/testkit"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
	cachev1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/cache/v1alpha3"
	databasev1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/database/v1alpha3"
)

// claimSecret is the connection Secret of a claim.
const claimSecret = "claimed"

// A claimKind is a kind of claims, and a kind of classes for the managed kind.
type claimKind struct {
	claim func() resource.Claim
	// class returns a class whose managed resources are as the kind declares them.
	class func() resource.Class
}

// claims is the kind of claims that get a cache, which is created fast. It has all operations on claims.
func claims() kind {
	k := caches()
	k.name = "Claim"
	k.claims = &claimKind{
		claim: func() resource.Claim { return &cachev1alpha1.RedisCluster{} },
		class: func() resource.Class {
			c := &cachev1alpha3.CacheInstanceClass{}
			c.SpecTemplate.ForProvider.MemoryMegabytes = new(8)
			return c
		},
	}
	k.more = append(choosing(), serving()...)
	k.more = append(k.more, existing()...)
	return k
}

// databaseClaims is the kind of claims that get a database, whose creation takes long.
func databaseClaims() kind {
	k := databases()
	k.name = "DatabaseClaim"
	k.claims = &claimKind{
		claim: func() resource.Claim { return &databasev1alpha1.PostgreSQLInstance{} },
		class: func() resource.Class {
			c := &databasev1alpha3.FavouriteDBInstanceClass{}
			c.SpecTemplate.ForProvider.FancinessLevel = 20
			return c
		},
	}
	k.more = serving()
	return k
}

// choosing returns the operations that choose a class. The classes serve no claim, so that nothing else happens.
func choosing() []operation {
	closed := func(wanted func(*attempt)) func(context.Context, *attempt) error {
		return func(ctx context.Context, t *attempt) error {
			for _, name := range []string{"b", "a"} {
				class := t.newClass(name)
				class.SetClaimLimits(xpv1.ClaimLimits{Max: new(int64(0))})
				if name == "a" {
					class.SetAnnotations(map[string]string{meta.AnnotationKeyDefaultClass: "true"})
				}
				if err := t.site.client.Create(ctx, class); err != nil {
					return err
				}
			}
			t.claim = t.newClaim("claim")
			wanted(t)
			return nil
		}
	}
	return []operation{
		{name: "schedule", write: closed((*attempt).ask), begin: create, done: (*attempt).chosen, noExternal: true},
		{name: "default", write: closed(func(*attempt) {}), begin: create, done: (*attempt).chosen, noExternal: true},
	}
}

// serving returns the operations on a claim and its managed resource.
func serving() []operation {
	deleteClaim := func(ctx context.Context, t *attempt) error { return t.site.client.Delete(ctx, t.claim) }
	offer := func(policy xpv1.ReclaimPolicy) func(context.Context, *attempt) error {
		return func(ctx context.Context, t *attempt) error { return t.offer(ctx, policy) }
	}
	return []operation{
		{name: "provision", write: offer(""), begin: create},
		{name: "propagate", write: offer(""), existing: true, before: choosePassword, begin: func(ctx context.Context, t *attempt) error {
			t.password = "the second password"
			return t.site.client.Update(ctx, t.passwordSecret())
		}},
		{name: "release", write: offer(xpv1.ReclaimRetain), existing: true, begin: deleteClaim, done: (*attempt).released},
		{name: "delete", write: offer(xpv1.ReclaimDelete), existing: true, deletes: true, begin: deleteClaim, done: (*attempt).reclaimed},
		{name: "abandon", write: offer(""), deletes: true, begin: create, cue: (*attempt).createStarted, during: deleteClaim},
		{
			name: "rebind", write: offer(xpv1.ReclaimRetain), existing: true,
			before: func(ctx context.Context, t *attempt) error {
				if err := deleteClaim(ctx, t); err != nil {
					return err
				}
				return testkit.Poll(ctx, func() error { return t.released(ctx) })
			},
			begin: func(ctx context.Context, t *attempt) error {
				if err := t.allow(ctx, `"spec":{"claimRef":null},`); err != nil {
					return err
				}
				t.claim = t.newClaim("heir")
				t.want(t.claim)
				return create(ctx, t)
			},
		},
	}
}

// existing returns the operations on claims for a managed resource that existed before.
func existing() []operation {
	return []operation{
		{name: "bind", existing: true, begin: func(ctx context.Context, t *attempt) error {
			t.claim = t.newClaim("claim")
			t.want(t.claim)
			return firstOf(t.allow(ctx, ""), func() error { return create(ctx, t) })
		}},
		{name: "contest", existing: true, done: (*attempt).contested, begin: func(ctx context.Context, t *attempt) error {
			for _, name := range []string{"claim", "rival"} {
				t.claim = t.newClaim(name)
				t.claim.SetWriteConnectionSecretToReference(&xpv1.LocalSecretReference{Name: name})
				t.want(t.claim)
				if err := create(ctx, t); err != nil {
					return err
				}
			}
			return t.allow(ctx, "")
		}},
		{
			name: "unbind", existing: true, done: (*attempt).released,
			before: func(ctx context.Context, t *attempt) error {
				t.claim = t.newClaim("claim")
				t.want(t.claim)
				if err := firstOf(t.allow(ctx, ""), func() error { return create(ctx, t) }); err != nil {
					return err
				}
				return testkit.Poll(ctx, func() error { return t.settled(ctx) })
			},
			begin: func(ctx context.Context, t *attempt) error { return t.site.client.Delete(ctx, t.claim) },
		},
	}
}

// firstOf returns the error, or the result of then without one.
func firstOf(err error, then func() error) error {
	if err != nil {
		return err
	}
	return then()
}

func (t *attempt) newClaim(name string) resource.Claim {
	claim := t.kind.claims.claim()
	of := t.site.meta(name)
	claim.SetNamespace(t.site.namespace)
	claim.SetName(of.Name)
	claim.SetLabels(of.Labels)
	claim.SetWriteConnectionSecretToReference(&xpv1.LocalSecretReference{Name: claimSecret})
	return claim
}

// ask selects the classes of the site.
func (t *attempt) ask() {
	t.claim.SetClassSelector(&metav1.LabelSelector{MatchLabels: map[string]string{siteLabel: t.site.namespace}})
}

// want refers a claim to the object.
func (t *attempt) want(claim resource.Claim) {
	gvk, _ := t.site.client.GroupVersionKindFor(t.object) // or the claim is refused
	ref := &corev1.ObjectReference{Name: t.object.GetName()}
	ref.APIVersion, ref.Kind = gvk.ToAPIVersionAndKind()
	claim.SetResourceReference(ref)
}

func (t *attempt) newClass(name string) resource.Class {
	class := t.kind.claims.class()
	of := t.site.meta(t.site.namespace + "-" + name)
	class.SetName(of.Name)
	class.SetLabels(of.Labels)
	class.SetProviderConfigReference(&xpv1.ProviderConfigReference{Name: t.site.namespace})
	class.SetWriteConnectionSecretsToNamespace(t.site.namespace)
	return class
}

// offer creates a class for one claim, and prepares the claim that selects it.
func (t *attempt) offer(ctx context.Context, policy xpv1.ReclaimPolicy) error {
	class := t.newClass("a")
	class.SetClaimLimits(xpv1.ClaimLimits{Max: new(int64(1))})
	class.SetReclaimPolicy(policy)
	t.claim = t.newClaim("claim")
	t.ask()
	return t.site.client.Create(ctx, class)
}

// choosePassword gives the managed resource of the claim a password of the user.
func choosePassword(ctx context.Context, t *attempt) error {
	t.password = "the first password"
	if err := t.site.client.Create(ctx, t.passwordSecret()); err != nil {
		return err
	}
	patch := fmt.Sprintf(`{"spec":{"forProvider":{"passwordSecretRef":{"namespace":%q,"name":%q,"key":%[2]q}}}}`, t.site.namespace, passwordSecret)
	if err := t.site.client.Patch(ctx, t.object, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		return err
	}
	return testkit.Poll(ctx, func() error { return firstOf(t.settled(ctx), func() error { return t.opens(ctx) }) })
}

// allow lets claims of the site use the object, as an administrator does. more is added to the patch.
func (t *attempt) allow(ctx context.Context, more string) error {
	patch := fmt.Sprintf(`{%s"metadata":{"annotations":{%q:%q}}}`, more, meta.AnnotationKeyAllowedNamespaces, t.site.namespace)
	return t.site.client.Patch(ctx, t.object, client.RawPatch(types.MergePatchType, []byte(patch)))
}
