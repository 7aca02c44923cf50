// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package parameters

import (
	"encoding/json"
	"math"
	"math/big"
	"reflect"
	"strings"
)

// same is true for equal values. Objects and lists for which it is false are compared field by field.
func (s *settings) same(at path, desired, observed any) bool {
	d, isText := desired.(string)
	o, both := observed.(string)
	if isText && both {
		return d == o || s.caseless.has(at) && strings.EqualFold(d, o) || s.texts.has(at) && sameDocument(d, o)
	}
	if x, y := number(desired), number(observed); x != nil && y != nil {
		return x.Cmp(y) == 0
	}
	return reflect.DeepEqual(desired, observed)
}

func sameDocument(a, b string) bool {
	x, aIsJSON := document(a)
	y, bIsJSON := document(b)
	return aIsJSON && bIsJSON && reflect.DeepEqual(x, y)
}

func document(text string) (value any, ok bool) {
	err := json.Unmarshal([]byte(text), &value)
	return value, err == nil
}

// number returns nil if the value is not a number. Trees may hold any numeric type.
func number(value any) *big.Float {
	switch v := reflect.ValueOf(value); {
	case v.CanInt():
		return new(big.Float).SetInt64(v.Int())
	case v.CanUint():
		return new(big.Float).SetUint64(v.Uint())
	case v.CanFloat() && !math.IsNaN(v.Float()):
		return new(big.Float).SetFloat64(v.Float())
	}
	return nil
}
