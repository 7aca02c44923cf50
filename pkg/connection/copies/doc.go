// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package copies gives claims and targets copies of the connection Secrets of managed resources, and keeps the copies in step.
// No other package writes or deletes a copy.
//
// # The one idea
//
// A copy follows from declared state: a claim that is bound, or a target that the managed resource allows; the name that claim
// or target gives in its spec; and the connection Secret of the managed resource, the source. The controllers of claims and
// targets decide on the first and call a Copier, which does the rest:
//
//   - Copy creates the copy, has it follow a source that was published anew, and removes copies that are no longer declared;
//   - Withdraw takes back what the managed resource no longer allows: the copy of a target is removed, that of a claim gets no more
//     changes;
//   - Revoke ends the consent of a managed resource that changes hands;
//   - Discard removes the copies of an owner that is being deleted.
//
// The Reconciler is the controller of Secrets: it carries each change of a source to its copies, and reverts edits of a copy. A copy
// stays as it is while the source lacks a key of it that only the creation of the external resource returned.
//
// A copy names its source, and the source names the copy, by UID (see package meta); otherwise nothing is copied. Consent is revoked
// on the source before a copy is deleted, so that a process that stops in between leaves nothing that still receives content. Only
// data is copied, and a Secret that the owner does not control is neither read nor written.
package copies
