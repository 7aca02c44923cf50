// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package naming names managed resources that are created for claims.
package naming

import (
	"crypto/sha256"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/bowline-dev/bowline/pkg/resource"
)

// As the API server appends characters to a generateName: it shortens the base, and avoids vowels, which could spell words.
const (
	suffixLength   = 5
	Longest        = 63 - suffixLength
	suffixAlphabet = "bcdfghjklmnpqrstvwxz2456789"
)

// IsName is true for what can be the name of a managed resource. The client refuses anything else with an error that would be
// retried forever.
func IsName(name string) bool { return len(validation.IsDNS1123Subdomain(name)) == 0 }

// For returns a name as the API server would complete it, and the same one for the same claim and attempt, so that a second
// try finds what exists (P2, R268). Further attempts are for the rare case that two claims get the same name.
func For(generateName string, claim types.UID, attempt int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d", claim, attempt))
	suffix := make([]byte, suffixLength)
	for i := range suffix {
		suffix[i] = suffixAlphabet[int(sum[i])%len(suffixAlphabet)]
	}
	return generateName[:min(len(generateName), Longest)] + string(suffix)
}

// Generate returns the generateName of what is created for a claim. It is shortened to what counts, since the API server refuses one as long as the longest names of claims. It also refuses
// one that ends in a dot.
func Generate(claim resource.Claim) string {
	name := fmt.Sprintf("%s-%s-", claim.GetNamespace(), claim.GetName())
	return strings.TrimRight(name[:min(len(name), Longest)], ".")
}
