// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import "crypto/rand"

// NewPassword returns 32 random letters and digits: more than 180 bits.
func NewPassword() string {
	const alphabet, length = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789", 32
	password := make([]byte, 0, length)
	for len(password) < length {
		random := make([]byte, length)
		rand.Read(random) //nolint:errcheck // Documented never to fail.
		for _, b := range random {
			if limit := byte(256 / len(alphabet) * len(alphabet)); b < limit && len(password) < length {
				password = append(password, alphabet[int(b)%len(alphabet)])
			}
		}
	}
	return string(password)
}
