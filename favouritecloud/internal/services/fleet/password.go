// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import "crypto/rand"

// NewPassword returns 32 random letters and digits, which have 160 bits.
func NewPassword() string { return (rand.Text() + rand.Text())[:32] }
