// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package claimbinding

import (
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// A ManagedConfigurator makes of a claim and its class what is specific to a kind in a managed resource that is about to be
// made (A64). It may replace the whole spec (R261); references, and of ProviderConfig, reclaim policy and connection Secret
// what it leaves out, are set afterwards. It refuses a claim that contradicts its class with an error that tells the author of
// the claim what to do (D27).
type ManagedConfigurator interface {
	Configure(ctx context.Context, cm resource.Claim, cs resource.Class, mg resource.Managed) error
}

// A ManagedChecker is a ManagedConfigurator that also looks at a managed resource which exists already, before a claim that names
// it gets it. It refuses one that is not what the claim asks for with an error that tells the author of the claim what to do
// (D27).
type ManagedChecker interface {
	CheckManaged(ctx context.Context, cm resource.Claim, mg resource.Managed) error
}

// A ManagedConfiguratorFn is a function that satisfies ManagedConfigurator (A65).
type ManagedConfiguratorFn func(ctx context.Context, cm resource.Claim, cs resource.Class, mg resource.Managed) error

// Configure calls the function.
func (fn ManagedConfiguratorFn) Configure(ctx context.Context, cm resource.Claim, cs resource.Class, mg resource.Managed) error {
	return fn(ctx, cm, cs, mg)
}

// NewObjectMetaConfigurator returns a configurator that lets the managed resource's name begin with namespace and name of the
// claim (A66, R262, P2), and gives it the external name that the claim proposes, if any, unless it has one (R264, R265). The
// typer, usually a scheme, must know the kind of the claim.
func NewObjectMetaConfigurator(t runtime.ObjectTyper) ManagedConfigurator {
	return ManagedConfiguratorFn(func(_ context.Context, cm resource.Claim, _ resource.Class, mg resource.Managed) error {
		if _, err := resource.GetKind(cm, t); err != nil {
			return err
		}
		mg.SetGenerateName(generateName(cm))
		proposed := meta.GetExternalName(cm)
		if proposed == "" || meta.GetExternalName(mg) != "" {
			return nil
		}
		meta.SetExternalName(mg, proposed)
		annotations := mg.GetAnnotations()
		annotations[meta.AnnotationKeyExternalNameProposed] = "true"
		mg.SetAnnotations(annotations)
		return nil
	})
}

// configure plans the managed resource of a claim that has none (R258). Nothing is stored yet: a plan that somebody has to
// correct first leaves no trace.
func (r *Reconciler) configure(ctx context.Context, p *pass) outcome {
	if p.managed != nil {
		return next()
	}
	mg := r.newManaged()
	for _, c := range r.configurators {
		if err := c.Configure(ctx, p.claim, p.class, mg); err != nil {
			return refuse(xpv1.ReasonBinding, err)
		}
	}
	if mg.GetNamespace() != "" {
		return refuse(xpv1.ReasonBinding, errors.New("the provider wants to make a managed resource in a namespace, which is a mistake "+
			"in its configurators: tell your platform team (N28)"))
	}
	r.complete(p, mg)
	p.planned = mg
	return next()
}

// complete sets what every managed resource has that is made for a claim.
func (r *Reconciler) complete(p *pass, mg resource.BindableManaged) {
	labels := mg.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[LabelClaimUID] = string(p.claim.GetUID())
	mg.SetLabels(labels)
	mg.SetClaimReference(r.claimReference(p.claim))
	mg.SetClassReference(reference(p.class, r.classKind))
	if mg.GetProviderConfigReference() == nil {
		mg.SetProviderConfigReference(p.class.GetProviderConfigReference())
	}
	if mg.GetReclaimPolicy() == "" {
		mg.SetReclaimPolicy(p.class.GetReclaimPolicy())
	}
	if mg.GetReclaimPolicy() == "" {
		mg.SetReclaimPolicy(xpv1.ReclaimDelete) // written down, since an unset policy never deletes (N4)
	}
	if mg.GetWriteConnectionSecretToReference() == nil {
		mg.SetWriteConnectionSecretToReference(&xpv1.SecretReference{ // R215
			Namespace: p.class.GetWriteConnectionSecretsToNamespace(), Name: string(p.claim.GetUID()),
		})
	}
}

func (r *Reconciler) claimReference(claim resource.Claim) *corev1.ObjectReference {
	ref := reference(claim, r.claimKind)
	ref.Namespace = claim.GetNamespace()
	return ref
}

func reference(o client.Object, kind schema.GroupVersionKind) *corev1.ObjectReference {
	return &corev1.ObjectReference{APIVersion: kind.GroupVersion().String(), Kind: kind.Kind, Name: o.GetName(), UID: o.GetUID()}
}

// generateName is as long as counts: the API server refuses one as long as the longest names of claims. It refuses one that
// ends in a dot, too.
func generateName(claim resource.Claim) string {
	name := fmt.Sprintf("%s-%s-", claim.GetNamespace(), claim.GetName())
	return strings.TrimRight(name[:min(len(name), mostBaseLength)], ".")
}
