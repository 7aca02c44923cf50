// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import "time"

// ShortenSaving has Save try as often as otherwise, within half a second.
func ShortenSaving() { saving.Duration = time.Millisecond }
