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
	"github.com/bowline-dev/bowline/pkg/internal/flow"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// A ManagedConfigurator sets what is specific to a kind in a managed resource that is about to be created, from claim and class
// (A64). It may replace the whole spec (R261): references are set afterwards, and so are ProviderConfig, reclaim policy and connection
// Secret where it left them out. It refuses a claim that contradicts its class with an error on which the team can act (D27).
type ManagedConfigurator interface {
	Configure(ctx context.Context, cm resource.Claim, cs resource.Class, mg resource.Managed) error
}

// A ManagedChecker is a ManagedConfigurator that also checks an existing managed resource before it is bound to a claim that names
// it. It refuses one that is not what the claim asks for with an error on which the team can act (D27).
type ManagedChecker interface {
	CheckManaged(ctx context.Context, cm resource.Claim, mg resource.Managed) error
}

// A ManagedConfiguratorFn is a function that satisfies ManagedConfigurator (A65).
type ManagedConfiguratorFn func(ctx context.Context, cm resource.Claim, cs resource.Class, mg resource.Managed) error

// Configure calls the function.
func (fn ManagedConfiguratorFn) Configure(ctx context.Context, cm resource.Claim, cs resource.Class, mg resource.Managed) error {
	return fn(ctx, cm, cs, mg)
}

// NewObjectMetaConfigurator returns a configurator that has the name of the managed resource begin with namespace and name of the
// claim (A66, R262, P2), and sets the external name that the claim proposes, unless there is one (R264, R265). The typer, usually a
// scheme, must know the kind of the claim.
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

// configure plans the managed resource of a claim that has none (R258). Nothing is stored, so that a refused plan leaves no trace.
func (r *Reconciler) configure(ctx context.Context, p *pass) flow.Outcome {
	if p.managed != nil {
		return flow.Next()
	}
	mg := r.newManaged()
	for _, c := range r.configurators {
		if err := c.Configure(ctx, p.claim, p.class, mg); err != nil {
			return refuse(xpv1.ReasonBinding, err)
		}
	}
	if mg.GetNamespace() != "" {
		return refuse(xpv1.ReasonBinding, errors.New("the configurators of the provider set a namespace on the managed resource, which is a "+
			"bug: ask your platform team (N28)"))
	}
	r.complete(p, mg)
	p.planned = mg
	return flow.Next()
}

// complete sets what every managed resource that is created for a claim has.
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

// generateName is shortened to what counts, since the API server refuses one as long as the longest names of claims. It also refuses
// one that ends in a dot.
func generateName(claim resource.Claim) string {
	name := fmt.Sprintf("%s-%s-", claim.GetNamespace(), claim.GetName())
	return strings.TrimRight(name[:min(len(name), mostBaseLength)], ".")
}
