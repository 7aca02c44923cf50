// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"crypto/sha256"
	"encoding/binary"

	"k8s.io/utils/lru"
)

// mostAnswered is how many questions are remembered, of two for each object: more objects of one process have it asked again at each pass.
const mostAnswered = 10_000

// answered are questions that a process answered with nothing to say: a configuration that is valid, a state that needs no upgrade. It is not
// asked again, since the protocol has these answers depend on nothing outside. Most passes find nothing new, and are a read and a plan then.
// The zero value remembers none.
type answered struct{ hashes *lru.Cache }

func newAnswered() answered { return answered{lru.New(mostAnswered)} }

// question is the hash of a question.
func question(parts ...[]byte) (q [sha256.Size]byte) {
	hash := sha256.New()
	for _, part := range parts {
		_ = binary.Write(hash, binary.LittleEndian, int64(len(part))) // a hash takes all
		hash.Write(part)
	}
	return [sha256.Size]byte(hash.Sum(nil))
}

func (a answered) has(q [sha256.Size]byte) bool {
	if a.hashes == nil {
		return false
	}
	_, has := a.hashes.Get(q)
	return has
}

func (a answered) add(q [sha256.Size]byte) {
	if a.hashes != nil {
		a.hashes.Add(q, struct{}{})
	}
}
