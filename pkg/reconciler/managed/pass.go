// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/internal/flow"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// A pass is what the steps of one pass learn and hand on.
type pass struct {
	object  // the managed resource in memory, and as it is stored
	before  // the managed resource as the pass found it
	session // with the external system
	sighting
	inputs inputsOfPass
	ended  endedCall

	// nameGiven is true if a user chose the external name, which is the consent to adopt an external resource.
	nameGiven bool

	// published is the connection Secret as last written in this pass.
	published *corev1.Secret

	// overtaken is true if another writer wrote to the object during the pass.
	overtaken bool

	// planning passes write nothing.
	planning bool

	// happened is what this pass did, in order.
	happened []event.Event

	memory *record
}

// before is the managed resource as the pass found it, to tell what changed.
type before struct {
	status          any
	synced          xpv1.Condition
	ready           xpv1.Condition
	states          []xpv1.Condition
	resourceVersion string
	wakes           int // of the record
}

// A session is the connection to the external system.
type session struct {
	// client is the client of this pass, external the same until a call in the background takes it over.
	client   ExternalClient
	external ExternalClient
	poll     time.Duration // how often the external resource is observed
}

// endedCall is the call in the background whose result this pass took up; it is not made again in the same pass.
type endedCall struct {
	verb    verb
	secrets [][]byte // that its errors may repeat, and stored credentials that this pass gives to its client
}

func (r *Reconciler) newPass(mg resource.Managed, rec *record, wakes int) (*pass, error) {
	stored, err := treeOf(mg)
	if err != nil {
		return nil, err
	}
	poll := r.pollInterval
	if chosen, ok := meta.GetPollInterval(mg); ok {
		poll = chosen
	}
	return &pass{
		object: object{
			managed:     mg,
			newManaged:  r.newManaged,
			annotations: maps.Clone(mg.GetAnnotations()),
			stored:      stored["spec"],
			spec:        stored["spec"],
		},
		before: before{
			status:          stored["status"],
			synced:          mg.GetCondition(xpv1.TypeSynced),
			ready:           mg.GetCondition(xpv1.TypeReady),
			states:          flow.States(mg),
			resourceVersion: mg.GetResourceVersion(),
			wakes:           wakes,
		},
		session: session{poll: poll},
		memory:  rec,
	}, nil
}

func (p *pass) note(e event.Event) { p.happened = append(p.happened, e) }

// mustReplay is true while the answer of a creation is not recorded and can be had again (N22).
func (p *pass) mustReplay() bool {
	c, ok := optional[CreateReplayer](p.external)
	return ok && c.ReplaysCreate() && meta.ExternalCreateUnacknowledged(p.managed)
}

// allows is true if the object's management policies permit the action (R108 to R118).
func (p *pass) allows(a xpv1.ManagementAction) bool {
	return p.managed.GetManagementPolicies().Allow(a)
}

// onlyObserves is true for objects whose external resource is never changed. To observe is not to own (N24).
func (p *pass) onlyObserves() bool {
	return !p.managed.GetManagementPolicies().AllowAny(
		xpv1.ManagementActionCreate, xpv1.ManagementActionUpdate, xpv1.ManagementActionDelete)
}
