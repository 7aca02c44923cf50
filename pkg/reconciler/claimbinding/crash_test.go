// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package claimbinding_test

import "errors"

var errDead = errors.New("the process is dead")
