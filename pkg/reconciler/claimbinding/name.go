// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package claimbinding

import (
	"crypto/sha256"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
)

// As the API server appends characters to a generateName: it cuts what leaves no room for them, and chooses among those that
// make no words.
const (
	suffixLength   = 5
	mostBaseLength = 63 - suffixLength
	suffixAlphabet = "bcdfghjklmnpqrstvwxz2456789"
)

// isName is true for what can be the name of a managed resource. Anything else must not reach the API server, whose client
// refuses it with an error that does not go away.
func isName(name string) bool { return len(validation.IsDNS1123Subdomain(name)) == 0 }

// shortName is what a message repeats of something that is no name and so may be of any length.
func shortName(name string) string {
	return strings.ToValidUTF8(name[:min(len(name), mostBaseLength)], "")
}

// nameFor returns a name that looks as if the API server had completed it (P2), and is the same for the same claim and
// attempt: whoever tries again meets what exists (R268). There are further attempts because two claims may, very rarely, come
// to the same name.
func nameFor(generateName string, claim types.UID, attempt int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d", claim, attempt))
	suffix := make([]byte, suffixLength)
	for i := range suffix {
		suffix[i] = suffixAlphabet[int(sum[i])%len(suffixAlphabet)]
	}
	return generateName[:min(len(generateName), mostBaseLength)] + string(suffix)
}
