// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"context"
	"errors"
	"fmt"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/meta"
)

// allows is true if the object's management policies let the reconciler do the action (R108 to R118).
func (p *pass) allows(a xpv1.ManagementAction) bool {
	return p.managed.GetManagementPolicies().Allow(a)
}

// onlyLooks is true for objects whose external resource is never changed. Looking is not owning (N24).
func (p *pass) onlyLooks() bool {
	return !p.managed.GetManagementPolicies().AllowAny(
		xpv1.ManagementActionCreate, xpv1.ManagementActionUpdate, xpv1.ManagementActionDelete)
}

// checkPolicies refuses policies that cannot be followed (R115, R134).
func (r *Reconciler) checkPolicies(_ context.Context, p *pass) outcome {
	policies := p.managed.GetManagementPolicies()
	if !r.policies && !policies.Allow(xpv1.ManagementActionAll) {
		return reject(ReasonInvalidPolicy, fmt.Errorf("managementPolicies %q are not supported by this provider: "+
			`remove them, or set ["*"]`, policies))
	}
	if !policies.Allow(xpv1.ManagementActionObserve) {
		return reject(ReasonInvalidPolicy, fmt.Errorf("managementPolicies %q lack Observe, which every other action needs: "+
			"add Observe", policies))
	}
	return next()
}

// missing is the outcome for an object whose external resource is not there and must not be created (R110, R132).
func (p *pass) missing() outcome {
	err := errors.New("the external resource does not exist, and managementPolicies do not let it be created")
	if name := meta.GetExternalName(p.managed); name != "" {
		err = fmt.Errorf("external resource %q does not exist, and managementPolicies do not let it be created: correct the "+
			"annotation %s, or add Create to the policies", name, meta.AnnotationKeyExternalName)
	}
	p.managed.SetConditions(xpv1.Unavailable().WithMessage("The external resource does not exist."))
	return reject(ReasonCannotObserve, err)
}
