// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package claimbinding

import (
	"crypto/sha256"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
)

// As the API server appends characters to a generateName: it shortens the base, and avoids vowels, which could spell words.
const (
	suffixLength   = 5
	mostBaseLength = 63 - suffixLength
	suffixAlphabet = "bcdfghjklmnpqrstvwxz2456789"
)

// isName is true for what can be the name of a managed resource. The client refuses anything else with an error that would be
// retried forever.
func isName(name string) bool { return len(validation.IsDNS1123Subdomain(name)) == 0 }

// nameFor returns a name as the API server would complete it (P2), and the same one for the same claim and attempt, so that a second
// try finds what exists (R268). Further attempts are for the rare case that two claims get the same name.
func nameFor(generateName string, claim types.UID, attempt int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d", claim, attempt))
	suffix := make([]byte, suffixLength)
	for i := range suffix {
		suffix[i] = suffixAlphabet[int(sum[i])%len(suffixAlphabet)]
	}
	return generateName[:min(len(generateName), mostBaseLength)] + string(suffix)
}
