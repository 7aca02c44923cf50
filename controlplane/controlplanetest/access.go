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

// InForce waits until a rule applies to a user, in a namespace or, if that is empty, in the cluster. The server reads new roles and
// bindings after a moment. It checks the first group, resource and verb of the rule.
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
