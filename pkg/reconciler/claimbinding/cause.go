// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package claimbinding

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/resource"
)

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
		for _, beginning := range tellable() {
			if strings.HasPrefix(synced.Message, beginning) {
				return what + " cannot go on: " + withoutNames(mg, synced.Message)
			}
		}
		return what + " cannot go on. Ask your platform team, who sees why in its conditions."
	case ready.Status == corev1.ConditionFalse && ready.Message != "":
		return fmt.Sprintf("%s is not ready yet (%s): %s", what, ready.Reason, withoutNames(mg, ready.Message))
	case ready.Status == corev1.ConditionFalse:
		return fmt.Sprintf("%s is not ready yet (%s). Wait until it is.", what, ready.Reason)
	default:
		return what + " is not ready yet. Wait until it is."
	}
}

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
