// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package claimbinding

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/connection"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/internal/flow"
	"github.com/bowline-dev/bowline/pkg/internal/objects"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/claimbinding/internal/naming"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// checkClass reads the class of a claim that has no managed resource yet, and checks that the claim's namespace may use it (R257,
// R276). Later changes of a class do not affect claims that have their managed resource (R277).
func (r *Reconciler) checkClass(ctx context.Context, p *pass) flow.Outcome {
	if p.managed != nil {
		return flow.Next()
	}
	name := p.claim.GetClassReference().Name
	class := r.newClass()
	if err := r.client.Get(ctx, types.NamespacedName{Name: name}, class); err != nil {
		if apierrors.IsNotFound(err) {
			return flow.Refuse(xpv1.ReasonClassNotFound, "class %s %q does not exist: correct spec.classRef, or ask your "+
				"platform team for the class; kubectl get classes lists those that exist", r.classKind.Kind, name)
		}
		return fail("reading the class", err)
	}
	if of, ok := class.(resource.KindedClass); ok && of.GetClaimKind() != r.claimKind.Kind {
		return flow.Refuse(xpv1.ReasonClassNotFound, "class %s %q is for claims of kind %s: name another one in spec.classRef; kubectl get classes "+
			"lists those that exist", r.classKind.Kind, name, of.GetClaimKind())
	}
	if meta.WasDeleted(class) {
		return flow.Refuse(xpv1.ReasonClassNotFound, "class %s %q is being deleted: delete the claim and create one that uses "+
			"another class; kubectl get classes lists those that exist", r.classKind.Kind, name)
	}
	if of := class.GetClaimLimits().NamespaceSelector; of != nil {
		selector, err := metav1.LabelSelectorAsSelector(of)
		if err != nil {
			return flow.Refuse(xpv1.ReasonNotAllowed, "class %q: ask your platform team to correct "+
				"specTemplate.claims.namespaceSelector: %v", name, err)
		}
		ns := objects.Metadata(corev1.SchemeGroupVersion.WithKind("Namespace"))
		if !selector.Empty() { // the API server is asked, since something is created because of the labels
			err = r.live.Get(ctx, types.NamespacedName{Name: p.claim.GetNamespace()}, ns)
		}
		if err != nil {
			return fail("reading the labels of the claim's namespace", err)
		}
		if !selector.Matches(labels.Set(ns.Labels)) {
			if err := r.refused.AwaitNamespace(); err != nil {
				return fail("watching the claim's namespace", err)
			}
			return flow.Refuse(xpv1.ReasonNotAllowed, "class %q does not allow claims of namespace %q: name another one in "+
				"spec.classRef, or ask your platform team to allow it", name, p.claim.GetNamespace())
		}
	}
	p.class = class
	return flow.Next()
}

// A ManagedConfigurator sets what is specific to a kind in a managed resource that is about to be created, from claim and class.
// It may replace the whole spec: references are set afterwards, and so are ProviderConfig, reclaim policy and connection Secret where
// it left them out. It refuses a claim that contradicts its class with an error that failure.ForTeam classifies: of any other the team
// reads that the provider refuses the claim, and only the log has the cause (A64, R261, D27).
type ManagedConfigurator interface {
	Configure(ctx context.Context, cm resource.Claim, cs resource.Class, mg resource.Managed) error
}

// A ManagedChecker is a ManagedConfigurator that also checks an existing managed resource before it is bound to a claim that names
// it. It refuses one that is not what the claim asks for with an error as of Configure (D27).
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
// claim, and sets the external name that the claim proposes, unless there is one. The typer, usually a scheme, must know the kind of
// the claim (A66, R262, R264, R265, P2).
func NewObjectMetaConfigurator(t runtime.ObjectTyper) ManagedConfigurator {
	return ManagedConfiguratorFn(func(_ context.Context, cm resource.Claim, _ resource.Class, mg resource.Managed) error {
		if _, err := resource.GetKind(cm, t); err != nil {
			return err
		}
		mg.SetGenerateName(naming.Generate(cm))
		proposed := meta.GetExternalName(cm)
		if proposed == "" || meta.GetExternalName(mg) != "" {
			return nil
		}
		if err := meta.CheckProposedName(proposed); err != nil {
			return failure.ForTeam(failure.InvalidSettings, fmt.Sprintf("%v, and create the claim again with it in the annotation %s", err,
				meta.AnnotationKeyExternalName), err)
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
			return r.refuse(p, err)
		}
	}
	if mg.GetNamespace() != "" {
		return flow.Refuse(xpv1.ReasonBinding, "the configurators of the provider set a namespace on the managed resource, "+
			"which is a bug in the provider: ask your platform team")
	}
	r.complete(p, mg)
	p.planned = mg
	return flow.Next()
}

// complete sets what every managed resource that is created for a claim has.
func (r *Reconciler) complete(p *pass, mg resource.BindableManaged) {
	mg.SetLabels(labels.Merge(mg.GetLabels(), labels.Set{LabelClaimUID: string(p.claim.GetUID())}))
	mg.SetClaimReference(r.claimReference(p.claim))
	mg.SetClassReference(reference(p.class, r.classKind))
	if mg.GetProviderConfigReference() == nil {
		mg.SetProviderConfigReference(p.class.GetProviderConfigReference())
	}
	// Delete is written down, since an unset policy never deletes (N4).
	mg.SetReclaimPolicy(cmp.Or(mg.GetReclaimPolicy(), p.class.GetReclaimPolicy(), xpv1.ReclaimDelete))
	to, settable := mg.(resource.Recreatable)
	if from, ok := p.class.(resource.Recreatable); ok && settable {
		to.SetRecreatePolicy(cmp.Or(to.GetRecreatePolicy(), from.GetRecreatePolicy()))
	}
	connection.InheritPolicy(mg, p.class)
	if protect, set := p.class.GetAnnotations()[meta.AnnotationKeyProtect]; set {
		mg.SetAnnotations(labels.Merge(labels.Set{meta.AnnotationKeyProtect: protect}, mg.GetAnnotations()))
	}
	if mg.GetWriteConnectionSecretToReference() == nil {
		mg.SetWriteConnectionSecretToReference(&xpv1.SecretReference{ // a name that no other claim has (R215)
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

// attempts is how many names are tried. One in fourteen million is taken by chance.
const attempts = 4

// provision creates the managed resource (R257). If the process dies before the claim names it, the next pass finds it by its
// label; two processes meet at its name (N11).
func (r *Reconciler) provision(ctx context.Context, p *pass) flow.Outcome {
	if p.managed != nil {
		return flow.Next()
	}
	named := p.planned.GetName() != "" // by a configurator
	for attempt := range attempts {
		mg := p.planned.DeepCopyObject().(resource.BindableManaged)
		if !named {
			if mg.GetGenerateName() == "" {
				mg.SetGenerateName(naming.Generate(p.claim))
			}
			mg.SetName(naming.For(mg.GetGenerateName(), p.claim.GetUID(), attempt))
		}
		err := r.create(ctx, mg)
		if apierrors.IsAlreadyExists(err) {
			found := r.newManaged()
			err = r.live.Get(ctx, types.NamespacedName{Name: mg.GetName()}, found)
			switch {
			case err == nil && !r.belongs(found, p.claim) && !named:
				continue
			case err == nil && !r.belongs(found, p.claim):
				return flow.Refuse(xpv1.ReasonBinding, "managed resource %s %q exists already and does not belong to this "+
					"claim: ask your platform team", r.managedKind.Kind, mg.GetName())
			case err == nil && meta.WasDeleted(found):
				return r.awaitDeletion(found)
			}
			mg = found
		}
		if err != nil {
			return r.notCreated(p, err)
		}
		p.managed = mg
		p.Note(ReasonProvisioned, fmt.Sprintf("Created managed resource %s %q.", r.managedKind.Kind, mg.GetName()))
		return flow.Next()
	}
	return fail("naming the managed resource", errors.New("every name is taken"))
}

// create refuses unknown fields where no Go type of a class does.
func (r *Reconciler) create(ctx context.Context, mg client.Object) error {
	if r.kinds == nil {
		return r.client.Create(ctx, mg)
	}
	return r.client.Create(ctx, mg, client.FieldValidation(metav1.FieldValidationStrict))
}

// notCreated names the settings of class and claim that the API server refuses. Its message repeats values that are not for the
// team, and is logged.
func (r *Reconciler) notCreated(p *pass, err error) flow.Outcome {
	if !apierrors.IsInvalid(err) && !apierrors.IsBadRequest(err) { // as of unknown fields
		return fail("creating the managed resource", err)
	}
	r.log.Info("The API server refuses the managed resource of class and claim", "class", p.class.GetName(),
		"namespace", p.claim.GetNamespace(), "claim", p.claim.GetName(), "error", err.Error())
	fields := sets.New[string]()
	if status := apierrors.APIStatus(nil); errors.As(err, &status) && status.Status().Details != nil {
		for _, cause := range status.Status().Details.Causes {
			fields.Insert(strings.TrimPrefix(cause.Field, "spec.forProvider."))
		}
	}
	what := "settings"
	if fields.Delete("", "<nil>", "spec"); fields.Len() > 0 { // those of rules about the whole object
		what = strings.Join(sets.List(fields), ", ")
	}
	return flow.Refuse(xpv1.ReasonBinding, "the API server does not accept %s of the %s that class %q and this claim describe: if the claim "+
		"sets it, correct the claim; otherwise ask your platform team to correct the class", what, r.managedKind.Kind, p.class.GetName())
}
