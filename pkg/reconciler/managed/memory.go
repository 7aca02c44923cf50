// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bowline-dev/bowline/pkg/resource"
)

// memory holds what a process remembers of each object between passes. Nothing here must survive a crash: losing it
// costs an observation or a little waiting.
type memory struct {
	mu      sync.Mutex
	records map[types.NamespacedName]*record
}

// A record belongs to the worker that reconciles the object; only echo, wakes, looked and lost are also touched by others,
// under the memory's lock.
type record struct {
	uid types.UID

	// written is the resource version of our last write to the object, and when that was; echo is true until the watch
	// brought it back.
	written   string
	writtenAt time.Time
	echo      bool

	// wakes counts the calls of Wake, so that a pass sees one that came while it went on.
	wakes int

	// looked is true once a pass told what the object refers to.
	looked bool

	// due is when the object is to be looked at again; zero for not by time.
	due time.Time

	// settled is true if the last pass left nothing to do but to poll.
	settled bool

	// failures counts the passes that failed in a row.
	failures int

	// seen is true once the external resource was observed since its last creation (N20).
	seen bool

	// deleteNoted is true once the event of the deletion was emitted.
	deleteNoted bool

	// disorderNoted is true once the event of a deletion out of order was emitted.
	disorderNoted bool

	// created is the external name of a creation whose success could not be recorded, begun at createdPending.
	created        string
	createdPending time.Time

	// uncreated is when a creation began that is known to have created nothing.
	uncreated time.Time

	// throttled is since when every pass ended because the external system asked for fewer calls.
	throttled time.Time

	// inputs is when the secret inputs were last read.
	inputs inputsRead

	// given are the values of secret inputs that the external system may have: those that were last applied, and all that
	// were read since. Nothing said later shows them, though the Secrets may be gone by then; nil if none were read.
	given [][]byte

	// rotated is true while the external resource has to be given secret inputs that were read.
	rotated bool

	// refusal is what the API server has against late initialization, nil for nothing.
	refusal *refusal

	// unfit is what the API server has against the status, nil for nothing.
	unfit error

	// updates counts the passes in a row that had to update the external resource.
	updates int

	// birth says whether the object still has its first time to be Ready before it.
	birth birth

	// unpublished are connection details that the external system told once and that could not be stored yet.
	unpublished ConnectionDetails

	// told are the keys that the creation under way tells.
	told []string

	// lost is what the connection secret held and somebody deleted, until it is published again. Watches write it, under the
	// memory's lock.
	lost ConnectionDetails
}

// cachePatience is when to look again if the watch has not brought our own write by then. A cache that is behind for
// longer than staleMost is not behind: the store was put back to an older state.
const (
	cachePatience = time.Second
	staleMost     = 15 * time.Second
)

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
	case order < 0 && now.Sub(rec.writtenAt) < staleMost:
		return true, max(rest, cachePatience)
	case rec.echo && (rec.due.IsZero() || now.Before(rec.due)):
		rec.echo = false
		return true, rest
	}
	return false, 0
}

// ended remembers the end of a pass. If the pass wrote to the object and nobody else did, the watch will bring back
// what we know already, unless the object was woken meanwhile. A cache may still show an object that is gone.
func (m *memory) ended(p *pass, now, due time.Time, overtaken bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p.memory.due = due
	if version := p.managed.GetResourceVersion(); version != p.resourceVersion || p.gone {
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

// keep remembers what the connection secret of an object held, though no pass has looked at the object yet. One that is under
// way may know the secret as it was.
func (m *memory) keep(o client.Object, held ConnectionDetails) {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := client.ObjectKeyFromObject(o)
	rec := m.records[key]
	if rec == nil {
		rec = &record{uid: o.GetUID()}
		m.records[key] = rec
	}
	if rec.uid == o.GetUID() {
		rec.lost = union(rec.lost, held)
		rec.wakes++
		rec.echo = false
	}
}

// kept returns what keep remembered.
func (m *memory) kept(rec *record) ConnectionDetails {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(rec.lost)
}

// restored forgets what was kept if the connection secret that a pass published has it, unless the object was woken meanwhile:
// perhaps because it was lost again.
func (m *memory) restored(p *pass) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if p.memory.wakes == p.wakes && len(missing(p.published, slices.Collect(maps.Keys(p.memory.lost)))) == 0 {
		p.memory.lost = nil
	}
}

// looked notes that a pass over the object came as far as its references.
func (m *memory) looked(rec *record) {
	m.mu.Lock()
	defer m.mu.Unlock()
	rec.looked = true
}

// lookedAt is true for an object that a pass came as far as the references of.
func (m *memory) lookedAt(o client.Object) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	rec := m.records[client.ObjectKeyFromObject(o)]
	return rec != nil && rec.uid == o.GetUID() && rec.looked
}
