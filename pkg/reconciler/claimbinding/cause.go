// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package claimbinding

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// outOfReach follows one of tellable in what package managed says of a call that got no answer about the resource.
const outOfReach = "out of reach: "

// tellable are beginnings of what package managed says of a failed pass that concern the external resource only. Other
// messages may name what is not for the author of a claim, such as a ProviderConfig or the Secret with its credentials.
func tellable() []string {
	return []string{"observing the external resource: ", "creating the external resource: ", "updating the external resource: ",
		"the external resource is not as it should be: "}
}

// cause tells why a managed resource cannot be used, as far as that is for the author of the claim.
func (r *Reconciler) cause(mg resource.BindableManaged) string {
	ready, synced := mg.GetCondition(xpv1.TypeReady), mg.GetCondition(xpv1.TypeSynced)
	what := fmt.Sprintf("Managed resource %s %q", r.managedKind.Kind, mg.GetName())
	switch {
	case synced.Status == corev1.ConditionFalse && synced.Reason == xpv1.ReasonReconcilePaused:
		return what + " is paused. Ask your platform team to resume it."
	case synced.Status == corev1.ConditionFalse:
		return what + " cannot go on" + stuck(mg, synced.Message)
	case ready.Status == corev1.ConditionFalse && isTellable(ready.Message):
		return fmt.Sprintf("%s is not ready yet (%s): %s", what, ready.Reason, withoutNames(mg, ready.Message))
	case ready.Status == corev1.ConditionFalse:
		return fmt.Sprintf("%s is not ready yet (%s). Wait until it is.", what, ready.Reason)
	default:
		return what + " is not ready yet. Wait until it is."
	}
}

// stuck tells of a message of condition Synced what is for the author of a claim, and what to do.
func stuck(mg resource.BindableManaged, message string) string {
	if meta.IsExternalNameProposed(mg) && strings.HasPrefix(message, "external resource ") && strings.Contains(message, " exists already ") {
		return fmt.Sprintf(": the external name %q, which the claim proposes, is taken. Delete the claim and make it again with another "+
			"name in its annotation %s, or without one.", meta.GetExternalName(mg), meta.AnnotationKeyExternalName)
	}
	for _, beginning := range tellable() {
		told, begins := strings.CutPrefix(message, beginning)
		switch {
		case begins && strings.HasPrefix(told, outOfReach):
			return ": the provider cannot reach it at the moment, and tries again. If it lasts, ask your platform team."
		case begins && isTellable(told):
			return ": " + withoutNames(mg, message)
		}
	}
	return ". Ask your platform team, who sees why in its conditions."
}

// isTellable is false for a message that is empty, or says where the external system is or how it is signed in to: providers may
// have put such things in words without an error that package managed knows.
func isTellable(message string) bool {
	return message != "" && !untellable.MatchString(message)
}

// untellable is what addresses and the settings of a provider look like.
var untellable = regexp.MustCompile(`://|\bdial (tcp|udp|unix)\b|\blookup |[\w.\]-]+[\w\]]:[0-9]{4,5}\b|\.[\w-]+:[0-9]{2,5}\b|` +
	`ProviderConfig|spec\.credentials`)

// withoutNames takes out of a message what the class says of places that the author of a claim has no access to.
func withoutNames(mg resource.BindableManaged, message string) string {
	var names []string
	if ref, ok := resource.ConnectionSecretReference(mg); ok {
		names = append(names, ref.Namespace+"/"+ref.Name, "...", ref.Name, "...")
	}
	return strings.NewReplacer(names...).Replace(message)
}

// checkReady lets the claim say whether its managed resource can be used, and why not (R282).
func (r *Reconciler) checkReady(_ context.Context, p *pass) outcome {
	if p.managed.GetCondition(xpv1.TypeReady).Status == corev1.ConditionFalse {
		return await(xpv1.ReasonUnavailable, r.cause(p.managed))
	}
	return next()
}
