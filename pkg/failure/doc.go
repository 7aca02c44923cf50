// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package failure classifies errors, so that no code has to read their text.
//
// An error is classified where it arises: it gets a Reason, which programs may rely on, and, where an application team
// may read about it, a Message of its own. Without a Message only the platform team reads what happened: the text of an
// error may name addresses, credentials or objects of others.
//
//	return failure.ForTeam(failure.QuotaExceeded, "the quota of 5 buckets is used up: delete one, or ask for more", err)
//	return failure.Unreachable(err)           // no answer from the external system
//	return failure.Throttled(err, time.Minute) // it asks for fewer calls
//	return failure.Terminal(err)              // repeating the call cannot help
//
// Wrapping with fmt.Errorf keeps the classification. Of reads it, from the outermost Error in the chain. Reconcilers
// report it in condition Stalled or Reconciling (apis/common/v1), from which claims and commands take it.
package failure
