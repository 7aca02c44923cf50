// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package why

import (
	"fmt"
	"strings"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/cli/inspect"
	"github.com/bowline-dev/bowline/pkg/connection"
	"github.com/bowline-dev/bowline/pkg/meta"
)

// next says what has the object looked at again. The exact time is known to the controllers only.
func (q *inquiry) next() string {
	switch q.Role {
	case inspect.RoleClaim:
		return q.nextOfClaim()
	case inspect.RoleManaged:
		return q.nextOfManaged()
	}
	return ""
}

func (q *inquiry) nextOfClaim() string {
	switch {
	case q.State == StateFine:
		return ""
	case q.State == StateDeleting:
		return "By itself, as soon as what it waits for changes."
	case q.ready.Reason == xpv1.ReasonResourceLost:
		return "Not by itself: nothing is made in place of what is lost."
	case q.ready.Reason == xpv1.ReasonLimitReached:
		return "By itself, as soon as somebody makes room: another claim of the class goes, or the limit is raised."
	case q.refused():
		return "Not before a person changes what is in the way; then by itself."
	case q.failing():
		return "By itself, later after each failure."
	}
	return "By itself, as soon as what it waits for changes."
}

// refused is true for a claim that waits for nothing but a person: no class is for it, or its controller says the same of the
// claim and of its own pass, which it does of what it will not do.
func (q *inquiry) refused() bool {
	switch q.ready.Reason {
	case xpv1.ReasonNoMatchingClass, xpv1.ReasonAmbiguousDefaultClass, xpv1.ReasonClassNotFound, xpv1.ReasonNotAllowed:
		return true
	}
	mistaken := strings.HasPrefix(q.synced.Message, "annotation "+connection.AnnotationKeyConnectionKeys)
	return q.failing() && (mistaken || strings.EqualFold(q.synced.Message, q.ready.Message))
}

func (q *inquiry) nextOfManaged() string {
	switch {
	case q.paused() != "":
		return "Not before it is resumed."
	case q.unseen():
		return "When a controller for its kind runs."
	case q.leaks():
		return "Not by itself: it waits for a person."
	case q.failing() && strings.HasPrefix(q.synced.Message, unresolved):
		return "By itself, as soon as what it refers to can be used."
	case q.failing() && q.throttled():
		return "By itself, when the external system may be asked again."
	case q.State == StateFine:
		return "At the next poll (" + q.poll() + ")."
	}
	q.advise(fmt.Sprintf("To have it looked at now: kubectl annotate %s --overwrite %s=\"$(date)\"", q.address(),
		meta.AnnotationKeyReconcileRequestedAt))
	if q.failing() {
		return "By itself, later after each failure, at the latest at the next poll (" + q.poll() + ")."
	}
	return "By itself, sooner while it is new, at the latest at the next poll (" + q.poll() + ")."
}

// poll says how often the external resource is looked at.
func (q *inquiry) poll() string {
	if d, ok := meta.GetPollInterval(q.object); ok {
		return "every " + d.String()
	}
	if q.config != nil {
		if d := inspect.Text(q.config, "spec", "pollInterval"); d != "" {
			return "every " + d
		}
	}
	return "every minute, unless the controllers were started with another --poll-interval"
}
