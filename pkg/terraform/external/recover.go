// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package external

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zclconf/go-cty/cty"
	kube "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
	"github.com/bowline-dev/bowline/pkg/terraform/journal"
	"github.com/bowline-dev/bowline/pkg/terraform/plugin"
	"github.com/bowline-dev/bowline/pkg/terraform/state"
)

// prior is the last known state of an object's external resource, in the present form of its type: as stored, by the journal, or else
// imported by the external name. It is null for what was deleted, and for what an import does not find.
func (c *client) prior(ctx context.Context, mg resource.Managed) (plugin.State, error) {
	if err := c.takeFromJournal(ctx, mg); err != nil {
		return c.NoState(), err
	}
	stored, err := c.Store.Load(ctx, mg.GetUID())
	c.stored = stored
	switch {
	case err != nil:
		return c.NoState(), err
	case isTaken(mg, stored):
		return c.taken(ctx, mg, stored)
	case stored == nil && !meta.GetExternalCreateSucceeded(mg).IsZero():
		return c.importLost(ctx, mg)
	case stored != nil && stored.Tainted && !meta.WasDeleted(mg): // Create deletes it
		return c.NoState(), nil
	case isOfAnother(mg, stored):
		return c.NoState(), otherState(mg, stored)
	case meta.WasDeleted(mg) && wasRenamed(mg, stored):
		return c.NoState(), renamed(mg, stored)
	case hasFormer(mg, stored):
		former, err := c.upgraded(ctx, stored.FormerOf(meta.GetExternalName(mg)))
		if err != nil {
			return c.NoState(), err
		}
		return c.adopted(ctx, mg, former)
	case stored == nil, stored.Name != meta.GetExternalName(mg): // also where a person chose another one
		return c.imported(ctx, mg)
	case stored.Empty():
		return c.NoState(), nil
	}
	known, err := c.upgraded(ctx, stored)
	switch {
	case err != nil:
		return known, err
	case stored.Observed && !onlyObserves(mg): // so far
		return c.adopted(ctx, mg, known)
	case stored.Place != c.place(): // where another object may have what has this name
		c.had = true
		if _, err = c.mayHave(ctx, mg, known.Value); !c.adopts {
			return c.NoState(), err
		}
	}
	return known, nil
}

// lostState is the error of an object whose state is gone. It may have had secrets that nothing else has, so that a person has to decide.
func lostState(mg resource.Managed) error {
	return withoutState(mg, fmt.Sprintf("the state of the external resource %q is lost", meta.GetExternalName(mg)))
}

func withoutState(mg resource.Managed, cause string) error {
	return failure.Terminal(failure.New(failure.StateLost, fmt.Sprintf("%s: restore Secret %s%s from a backup; or, to import the resource without what only "+
		"the state had, such as generated passwords, remove the annotations %s and %s in one change", cause, state.NamePrefix, mg.GetUID(),
		meta.AnnotationKeyExternalCreateSucceeded, meta.AnnotationKeyExternalCreatePending)))
}

// isOfAnother is true for a state that is not of what the object created, as one from a backup that is older than a replacement. Where a person
// chose another external name, the status has the former one.
func isOfAnother(mg resource.Managed, stored *state.State) bool {
	recorded, _, _ := kube.NestedString(content(mg), "status", "ownership", "externalName")
	return wasRenamed(mg, stored) && !hasFormer(mg, stored) && !stored.Tainted && recorded == meta.GetExternalName(mg) && !meta.GetExternalCreateSucceeded(mg).IsZero()
}

// hasFormer is true for a state that also has that of the external resource which the object has by its external name, again or still.
func hasFormer(mg resource.Managed, stored *state.State) bool {
	return stored != nil && stored.FormerOf(meta.GetExternalName(mg)) != nil
}

// otherState is the error of an object whose state is not of what it created.
func otherState(mg resource.Managed, stored *state.State) error {
	return withoutState(mg, fmt.Sprintf("the stored state is of the external resource %q, and that of %q, which this object has, is lost", stored.Name,
		meta.GetExternalName(mg)))
}

// wasRenamed is true for an object whose external name is not that of its external resource, although it was recorded.
func wasRenamed(mg resource.Managed, stored *state.State) bool {
	name := meta.GetExternalName(mg)
	return stored != nil && !stored.Empty() && !stored.Observed && name != "" && stored.Name != name && !meta.ExternalCreateIncomplete(mg)
}

// renamed is the error of an object whose external name is not that of its external resource, where it is being deleted, or nothing has the name.
func renamed(mg resource.Managed, stored *state.State) error {
	message := fmt.Sprintf("the external resource of this object is %q, and its external name was changed to %q", stored.Name, meta.GetExternalName(mg))
	if meta.WasDeleted(mg) {
		message += fmt.Sprintf(": set the annotation %s back to have it deleted, or, to leave it as it is, set the annotation %s to \"true\"",
			meta.AnnotationKeyExternalName, meta.AnnotationKeyOrphanOnDelete)
	} else {
		message += fmt.Sprintf(", which nothing has: set the annotation %s back, or to the name of what exists", meta.AnnotationKeyExternalName)
	}
	return failure.Refusal(failure.InvalidSettings, message)
}

// checkAbsent is an error for an object whose external name is that of nothing, where a creation would hide that: the external system chooses the
// names, so that a name that no creation recorded is that of something to adopt.
func (c *client) checkAbsent(mg resource.Managed) error {
	name, stored := meta.GetExternalName(mg), c.stored
	switch {
	case wasRenamed(mg, stored) && !stored.Tainted:
		return renamed(mg, stored)
	case name == "", meta.WasDeleted(mg), stored != nil && (!stored.Empty() || stored.Replacing),
		!meta.GetExternalCreatePending(mg).IsZero(), !meta.GetExternalCreateSucceeded(mg).IsZero(),
		!mg.GetManagementPolicies().Allow(xpv1.ManagementActionCreate), meta.CheckRecreate(mg, time.Now()) == nil:
		return nil
	}
	return failure.Refusal(failure.ExternalResourceMissing, fmt.Sprintf("nothing has the external name %q (annotation %s): correct the annotation; or "+
		"remove it, to have a resource created", name, meta.AnnotationKeyExternalName))
}

// upgraded returns a stored state in the present form of its type.
func (c *client) upgraded(ctx context.Context, stored *state.State) (plugin.State, error) {
	if err := c.checkVersion("state", stored.SchemaVersion); err != nil {
		return c.NoState(), err
	}
	value, err := c.Client.Upgrade(ctx, c.Resource, stored.SchemaVersion, stored.Value)
	return plugin.State{Value: value, Private: stored.Private, Identity: stored.Identity}, called("upgrading the state of", err)
}

// checkVersion refuses what a later provider wrote, which this one may misread.
func (c *client) checkVersion(what string, version int64) error {
	if version <= c.Schema.Version {
		return nil
	}
	return failure.Terminal(failure.New(failure.InvalidSettings, fmt.Sprintf("the %s was written by a later version of the provider, in "+
		"version %d of %s, and this one has version %d: use the later provider again", what, version, c.Name, c.Schema.Version)))
}

// imported looks an external resource up by the external name, for an object without a state of that name, and stores what it finds. Where it is
// the one of the state, which has several import ids, nothing of the state is lost.
func (c *client) imported(ctx context.Context, mg resource.Managed) (plugin.State, error) {
	s, err := c.Client.Import(ctx, c.Resource, meta.GetExternalName(mg))
	if err != nil || s.Value.IsNull() {
		return c.NoState(), called("importing", err)
	}
	if c.stored != nil && !c.stored.Empty() && c.idOf(s.Value) != "" {
		known, err := c.upgraded(ctx, c.stored) // what a later provider wrote cannot be compared
		if c.same = err == nil && c.idOf(known.Value) == c.idOf(s.Value); c.same {
			s = known
		}
	}
	return c.adopted(ctx, mg, s)
}

// FindCreated returns the external name of what an interrupted creation made. What was made in part has none, unless the object is being
// deleted: Create deletes it. Plans do not look for what an interrupted creation made.
func (c *client) FindCreated(ctx context.Context, mg resource.Managed) (name string, err error) {
	defer func() { err = c.orStopped(ctx, err) }()
	if err := c.takeFromJournal(ctx, mg); err != nil {
		return "", err
	}
	stored, err := c.Store.Load(ctx, mg.GetUID())
	switch {
	case err != nil:
		return "", err
	case stored == nil && !meta.ExternalCreateIncomplete(mg):
		return "", lostState(mg)
	case c.createdNothing, stored != nil && stored.Tainted && !meta.WasDeleted(mg):
		return "", managed.ErrCreateAgain
	case !c.wasInterrupted(stored) && (stored == nil || stored.Empty()):
		return "", nil
	case stored.Empty() && c.Store.ReadOnly(): // the creation may be in progress, so that nobody must act on what an import finds
		return "", failure.New(failure.CreateInterrupted, "a creation is in progress, or was interrupted: only the controllers know, see bowline why")
	case stored.Empty():
		return c.findInterrupted(ctx, mg, stored)
	}
	made, err := c.upgraded(ctx, stored)
	if err != nil {
		return "", err
	}
	return c.nameOf(mg, made.Value), nil
}

// wasInterrupted is true for the state of a creation whose answer nothing has. It is noted before a provider is asked, in the state and then in
// the journal.
func (c *client) wasInterrupted(stored *state.State) bool {
	return stored != nil && stored.Creating != "" && !c.createdNothing && (c.Journal == nil || stored.Creating != c.Journal.ID())
}

// takeFromJournal stores the answer to a change that an earlier process began.
func (c *client) takeFromJournal(ctx context.Context, mg resource.Managed) error {
	if err := c.Store.Flush(ctx, mg, c.Kind); err != nil && meta.WasDeleted(mg) {
		return nil // as for a state that is too large: what is known suffices to delete the resource, and the journal keeps its note
	} else if err != nil {
		return err
	}
	note, err := c.Journal.Find(string(mg.GetUID()))
	switch {
	case err != nil:
		return failure.With(failure.InternalError, err)
	case note == nil:
		return nil
	case note.Lasting:
		return inProgress{note.Began}
	}
	stored, err := c.Store.Load(ctx, mg.GetUID())
	switch {
	case err != nil:
		return err
	case note.Began.IsZero(): // it may be about this creation
		return c.lose(ctx, mg)
	case stored != nil && stored.Change != note.After: // the answer is stored, or another machine has changed it since
		return c.Journal.Remove(string(mg.GetUID()))
	case note.Answer == nil: // nothing is known of a change without an answer
		return c.lose(ctx, mg)
	}
	name, prior, creates := meta.GetExternalName(mg), c.NoState(), stored == nil || stored.Empty()
	if !creates {
		name = stored.Name
		if prior, err = c.upgraded(ctx, stored); err != nil {
			return err
		}
	}
	after, err := c.resultOf(ctx, prior, note)
	_, unreadable := errors.AsType[*plugin.Unreadable](err)
	_, answered := errors.AsType[plugin.Diagnostics](err)
	switch {
	case err != nil && !unreadable && !answered: // the note stays
		return err
	case unreadable && creates && meta.ExternalCreateIncomplete(mg): // the note is all that says what exists, until a person has looked
		return c.interrupted("its answer, which is in the journal, cannot be read", err)
	case unreadable:
		return c.Journal.Remove(string(mg.GetUID())) // Observe reads what there is
	case creates && c.leavesOpen(after, err, note.Stopped):
		return c.lose(ctx, mg)
	}
	c.createdNothing = creates && after.Value.IsNull()
	return c.saveAnswer(ctx, mg, answer{State: after, name: name, creates: creates, failed: err != nil})
}

// resultOf returns the result of a change by its answer in the journal, in the present form of the type.
func (c *client) resultOf(ctx context.Context, prior plugin.State, note *journal.Note) (plugin.State, error) {
	answer := note.Answer
	if note.Version != nil {
		if err := c.checkVersion("answer to a change", *note.Version); err != nil {
			return prior, err
		}
		upgraded, err := c.Client.UpgradeAnswer(ctx, c.Resource, *note.Version, answer)
		if err != nil {
			return prior, called("upgrading the answer to a change of", err)
		}
		answer = upgraded
	}
	return c.Client.Applied(c.Resource, prior, answer)
}

// lose has a creation without an answer count as one of another machine, of which nothing is known.
func (c *client) lose(ctx context.Context, mg resource.Managed) error {
	stored, err := c.Store.Load(ctx, mg.GetUID())
	if err != nil {
		return err
	}
	if stored != nil && stored.Creating != "" {
		if err := c.amend(ctx, mg, stored, func(s *state.State) { s.Creating = unknownJournal }); err != nil {
			return err
		}
	}
	return c.Journal.Remove(string(mg.GetUID()))
}

// amend stores a state with a change. What was loaded stays as it is: others share it.
func (c *client) amend(ctx context.Context, mg resource.Managed, stored *state.State, change func(*state.State)) error {
	amended := *stored
	change(&amended)
	return c.Store.Save(ctx, mg, c.Kind, &amended)
}

// unknownJournal is in the state of a creation whose answer no journal has.
const unknownJournal = "unknown"

// inProgress is the error of an object whose change an earlier process began, and a journal waits for.
type inProgress struct{ since time.Time }

func (e inProgress) Error() string {
	return fmt.Sprintf("a change of %s is still in progress, which began before the controllers were started", e.since.Format(time.RFC3339))
}

// progressPoll is how often a pass looks whether a change has ended that it has to wait for.
const progressPoll = 2 * time.Second

// RetryAfter is how long to wait.
func (e inProgress) RetryAfter() time.Duration { return progressPoll }

// nameOf is the external name of an object: the attribute id, where there is one that tells resources apart.
func (c *client) nameOf(mg resource.Managed, value cty.Value) string {
	return cmp.Or(c.idOf(value), string(mg.GetUID()))
}

// idOf is the attribute id that tells resources of the type apart, empty for none.
func (c *client) idOf(value cty.Value) string {
	if c.Schema.Block.Attribute("id") != nil {
		if id := value.GetAttr("id"); id.Type() == cty.String && id.IsKnown() && !id.IsNull() {
			return id.AsString()
		}
	}
	return ""
}
