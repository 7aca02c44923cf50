// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/internal/redact"
)

// Errors of a client tell the reconciler what to do by their type. Package failure has the classes that people see.
//
//   - Any other error is retried, later each time.
//   - An error with a method RetryAfter() time.Duration is retried when it asks.
//   - Terminal errors are retried at the poll, or when the object changes.
//   - Errors of Create mean that nothing was created, unless they are OutcomeUnknown or Accepted.

// Terminal is failure.Terminal: repeating the call cannot heal the error, for example that a setting is invalid. The errors
// of reconcile.TerminalError count as such, too.
func Terminal(err error) error { return failure.Terminal(err) }

// OutcomeUnknown is failure.OutcomeUnknown: the external resource may exist in spite of the error of Create.
func OutcomeUnknown(err error) error { return failure.OutcomeUnknown(err) }

// Accepted is failure.Accepted: the external system had answered before the error of Create came (N22).
func Accepted(err error) error { return failure.Accepted(err) }

// Redact returns the error without the given secrets in its text, as they are or in a usual spelling: quoted by Go (%q,
// %+q) or in JSON, with doubled quotes as in SQL, escaped for a URL's user, path or query, or in base64. Secrets shorter than
// four bytes are not looked for. The chain of the error stays.
func Redact(err error, secrets ...[]byte) error { return redact.Error(err, secrets...) }
