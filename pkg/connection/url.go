// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package connection

import (
	"fmt"
	"net/netip"
	"regexp"
	"strings"
)

// A place is where in a template a key stands, and so how its value is written there.
type place int

const (
	plain     place = iota // as it is
	component              // a part of a URL other than the host
	host                   // the host of a URL, or its port, or both
	bracketed              // the host of a URL, in brackets that the template has
)

// beginning is how URLs begin, with those of JDBC.
var beginning = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9+.-]*:)+//`)

// locate finds out where the keys of a template stand, if it is a URL.
func locate(parts []part) {
	var skeleton strings.Builder // the template, with one letter for each key
	at := make([]int, len(parts))
	for i, p := range parts {
		at[i] = skeleton.Len()
		skeleton.WriteString(p.text)
		if p.key != "" {
			skeleton.WriteByte('k')
		}
	}
	whole := skeleton.String()
	scheme := beginning.FindString(parts[0].text)
	if scheme == "" {
		return
	}
	start, end := len(scheme), len(whole)
	if i := strings.IndexAny(whole[start:], "/?#"); i >= 0 {
		end = start + i
	}
	start += strings.LastIndexByte(whole[start:end], '@') + 1
	for i := range parts {
		switch {
		case at[i] < start || at[i] >= end:
			parts[i].as = component
		case at[i] > 0 && whole[at[i]-1] == '[':
			parts[i].as = bracketed
		default:
			parts[i].as = host
		}
	}
}

// fill puts values in the place of their keys.
func fill(parts []part, values map[string][]byte) ([]byte, error) {
	filled := []byte{} // an empty value is a value
	for _, p := range parts {
		filled = append(filled, p.text...)
		if p.key != "" {
			filled = p.as.write(filled, values[p.key])
		}
		if len(filled) > MaxValueSize {
			return nil, fmt.Errorf("its value is longer than %d KiB: shorten the template", MaxValueSize>>10)
		}
	}
	return filled, nil
}

// write adds a value as it is to be written in the place.
func (p place) write(to, value []byte) []byte {
	switch p {
	case component:
		return escape(to, value, "")
	case bracketed:
		return escape(to, value, ":")
	case host:
		if a, err := netip.ParseAddr(string(value)); err == nil && a.Is6() {
			return append(escape(append(to, '['), value, ":"), ']')
		}
		return escape(to, value, ":,[]")
	default:
		return append(to, value...)
	}
}

// escape adds a value with all characters percent-encoded but those that mean nothing in any part of a URL, and others
// that are to stay.
func escape(to, value []byte, others string) []byte {
	for _, c := range value {
		if isUnreserved(c) || strings.IndexByte(others, c) >= 0 {
			to = append(to, c)
		} else {
			to = fmt.Appendf(to, "%%%02X", c)
		}
	}
	return to
}

// isUnreserved is true for the characters that RFC 3986 calls so.
func isUnreserved(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("-._~", c) >= 0
}
