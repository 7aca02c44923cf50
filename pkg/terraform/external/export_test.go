// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package external

import "time"

// WearOut has processes replaced early.
func (s *Source) WearOut(passes int, age time.Duration) { s.wear = wear{passes, age} }
