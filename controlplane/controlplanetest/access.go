// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplanetest

import (
	"context"
	"fmt"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
)

// InForce waits until the server lets a user do what a rule says, in a namespace or, if that is empty, everywhere. The server
// learns of roles and bindings a moment after they were written; a test that acts as the user before is refused now and then.
// Of the rule the first group, resource and verb count.
func (e *Env) InForce(t testing.TB, user, namespace string, rule rbacv1.PolicyRule) {
	t.Helper()
	e.Eventually(t, "the rules of "+user+" are in force", func(ctx context.Context) error {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: user,
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Namespace: namespace, Group: rule.APIGroups[0], Version: "*", Resource: rule.Resources[0], Verb: rule.Verbs[0],
			},
		}}
		if err := e.Client.Create(ctx, review); err != nil {
			return err
		}
		if !review.Status.Allowed {
			return fmt.Errorf("may not %s %s yet", rule.Verbs[0], rule.Resources[0])
		}
		return nil
	})
}
