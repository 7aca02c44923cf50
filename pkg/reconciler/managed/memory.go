// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/internal/flow"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// memory holds what a process remembers of each object between passes. Nothing here must survive a crash: losing it
// costs an observation or a little waiting.
type memory struct {
	mu      sync.Mutex
	records map[types.NamespacedName]*record
}

// A record belongs to the worker that reconciles the object; others touch only echo, wakes and resolved, under the memory's lock.
type record struct {
	uid types.UID
	// written is the resource version of our last write to the object, and when that was; echo is true until the watch returns it.
	written   string
	writtenAt time.Time
	echo      bool
	// wakes counts the calls of Wake, so that a pass sees one that came meanwhile.
	wakes int
	// resolved is true once a pass has read the references of the object.
	resolved atomic.Bool
	// left is the generation of an object of another process whose references are known; 0 for an object of this process.
	left int64

	due      time.Time // of the next pass; zero for not by time
	settled  bool      // the last pass left nothing to do but to poll
	failures int       // passes that failed in a row
	updates  int       // passes in a row that had to update the external resource
	// seen is true once the object's own external resource was observed since its last creation (N20).
	seen bool
	// system is the external system in which the external resource was last found, or its creation began; it is stored once (N55).
	system       xpv1.ExternalSystem
	systemStored bool
	identity     xpv1.ExternalIdentity // of the external resource, stored together with system (N63)
	// deleteNoted and disorderNoted are true once the events of the deletion, and of one out of order, were emitted.
	deleteNoted, disorderNoted bool
	// deleteAllowed is true once the brake counted the deletion.
	deleteAllowed bool
	// dependentsPaused is when the deletion of an object that refers to this one was last seen paused.
	dependentsPaused time.Time
	// created is the external name of a creation whose success could not be recorded, begun at createdPending.
	created        string
	createdPending time.Time
	// proof of ownership of a creation, until the status has it; nil for none (N54).
	proof tree
	// pruned is true once the API server dropped the proof, since the CRD is of an earlier version: it is not stored again.
	pruned bool
	// uncreated is when a creation began that is known to have created nothing.
	uncreated time.Time
	// marked is when this process began a creation, mark how the object shows it, which is less precise.
	mark, marked time.Time
	// nameless is when the client was first asked for the external resource of an object that lost its name.
	nameless time.Time
	// throttled is since when every pass ended because the external system asked for fewer calls.
	throttled time.Time
	// inputs is when the secret inputs were last read.
	inputs inputsRead
	// given are the values of secret inputs that the external system may have: those that were last applied, and all that
	// were read since. No later message shows them, though the Secrets may be deleted by then; nil if none were read.
	given [][]byte
	// rotated is true while the external resource has to be given secret inputs that were read.
	rotated bool

	stored *ownFields // of the version that the last pass found
	// sent is when the rotation began whose credentials the last update sent, recorded the last one that the status has.
	sent, recorded time.Time

	handled string   // request for a pass, which the status of some kinds cannot show
	refusal *refusal // of late initialization by the API server, nil for none
	unfit   error    // why the API server refuses the status, nil for nothing
	// awaitsReady is true for an object that was never Ready; it is determined by the first pass.
	passed, awaitsReady bool
	// operation is the call that runs in the background, nil for none.
	operation *operation
	// unpublished are connection details that the external system returned once and that could not be stored yet.
	unpublished ConnectionDetails
	// oneTimeKeys are the keys that the creation in progress returns.
	oneTimeKeys []string
}

// keepsResults is true while only this process knows something of the external resource.
func (r *record) keepsResults() bool {
	return r.operation != nil || r.created != "" || len(r.unpublished) > 0
}

// ownFields are the fields of the status by which passes decide, in one version of an object.
type ownFields struct {
	version   string
	system    xpv1.ExternalSystem
	identity  xpv1.ExternalIdentity
	ownership tree      // nil for none; empty after a creation that failed
	rotated   time.Time // when the last rotation began; zero for none
}

func fieldsOf(status any, version string) *ownFields {
	text := func(field, name string) string { s, _ := section(status, field)[name].(string); return s }
	rotated, _ := time.Parse(time.RFC3339, text(credentialsStatus, lastRotation))
	return &ownFields{
		version:   version,
		system:    xpv1.ExternalSystem{ID: text(externalSystem, "id"), Name: text(externalSystem, "name")},
		identity:  xpv1.ExternalIdentity{ExternalName: text(externalIdentity, "externalName"), ID: text(externalIdentity, "id")},
		ownership: section(status, ownership),
		rotated:   rotated,
	}
}

// cachePatience is when to read again if the watch has not brought our own write by then.
const cachePatience = time.Second

func newMemory() *memory { return &memory{records: map[types.NamespacedName]*record{}} }

// of returns the record of an object, a new one for an object not known by name and UID, and how often it was woken.
func (m *memory) of(mg resource.Managed) (rec *record, wakes int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := client.ObjectKeyFromObject(mg)
	rec = m.records[key]
	if rec == nil || rec.uid != mg.GetUID() {
		rec = &record{uid: mg.GetUID()}
		m.records[key] = rec
	}
	return rec, rec.wakes
}

func (m *memory) forget(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.records, key)
}

// known is true if there is nothing new about the object: it is the echo of our own last write, or the cache is still
// behind that write, which the watch will bring. rest is the time left until the object is due.
func (m *memory) known(mg resource.Managed, now time.Time) (known bool, rest time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	rec := m.records[client.ObjectKeyFromObject(mg)]
	if rec == nil || rec.uid != mg.GetUID() || rec.written == "" {
		return false, 0
	}
	if !rec.due.IsZero() {
		rest = max(rec.due.Sub(now), time.Millisecond)
	}
	order, err := resourceversion.CompareResourceVersion(mg.GetResourceVersion(), rec.written)
	switch {
	case err != nil || order > 0:
		return false, 0
	case order < 0 && now.Sub(rec.writtenAt) < flow.MostStale:
		return true, max(rest, cachePatience)
	case rec.echo && (rec.due.IsZero() || now.Before(rec.due)):
		rec.echo = false
		return true, rest
	}
	return false, 0
}

// ended remembers the end of a pass. If the pass alone wrote to the object, the watch will bring back what is known already,
// unless the object was woken meanwhile. A cache may still show an object that is gone.
func (m *memory) ended(p *pass, now, due time.Time, overtaken, gone bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p.memory.due = due
	if version := p.managed.GetResourceVersion(); version != p.resourceVersion || gone {
		p.memory.written, p.memory.writtenAt, p.memory.echo = version, now, !overtaken && p.memory.wakes == p.wakes
	}
}

// wake makes the next request for the object a real one.
func (m *memory) wake(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if rec := m.records[key]; rec != nil {
		rec.echo = false
		rec.wakes++
	}
}

// isResolved is true for an object whose references have been read by this process.
func (m *memory) isResolved(o client.Object) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	rec := m.records[client.ObjectKeyFromObject(o)]
	return rec != nil && rec.uid == o.GetUID() && rec.resolved.Load()
}
