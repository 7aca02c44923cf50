// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"context"
	"strings"

	corev1 "k8s.io/api/core/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/cli/outside"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
)

// compare compares the external resources of objects of a definition with what the controllers of this program would make of them. What fails
// or differs with the version that runs, too, is no news.
func (c *checker) compare(ctx context.Context, definition string, objects []outside.Object) error {
	plan := func(ctx context.Context, o outside.Object) (managed.Plan, error) {
		return o.Reconciler.Plan(ctx, o.Managed)
	}
	return outside.ForEach(ctx, c.systems, objects, plan, func(o outside.Object, plan managed.Plan, err error) {
		c.report.Observed++
		isFalse := func(t xpv1.ConditionType) bool { return o.GetCondition(t).Status == corev1.ConditionFalse }
		switch {
		case err != nil && !isFalse(xpv1.TypeSynced):
			c.found(Warning, ExternalResourceUnknown, definition, o.Path, "it would fail: %v", err)
		case err != nil:
		case plan.Action != managed.PlanNothing:
			c.found(Warning, ExternalResourceChanged, definition, o.Path, "the controllers of this version would %s the external resource%s",
				strings.ToLower(string(plan.Action)), fieldsOf(plan))
		case plan.Unsettled && !isFalse(xpv1.TypeInSync) && !isFalse(xpv1.TypeSynced):
			c.found(Warning, ExternalResourceDiffers, definition, o.Path, "the controllers of this version would report: %s", plan.Message)
		}
	})
}

// notReached adds a finding for each external system that is out of reach.
func (c *checker) notReached() {
	for _, s := range c.systems.NotReached() {
		c.report.incomplete = true
		c.found(Warning, ExternalResourceUnknown, c.names[s.Kind], s.Objects[0], "%d objects were not compared with their external resources: %v",
			len(s.Objects), s.Why)
	}
}

// fieldsOf names the fields that a plan sets.
func fieldsOf(p managed.Plan) string {
	var names []string
	for _, f := range p.Fields {
		names = append(names, f.Path)
	}
	if len(names) == 0 {
		return ""
	}
	return ": " + strings.Join(names, ", ")
}
