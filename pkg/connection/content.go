// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package connection defines the content of connection Secrets, and consent to copies of them: the copy of a claim holds the
// connection keys of its managed resource, and the keys that the claim derives from them in its annotation
// bowline.dev/connection-keys. Package copies below it creates, updates and deletes the copies.
//
//	metadata:
//	  annotations:
//	    bowline.dev/connection-keys: |
//	      {"DATABASE_URL": "postgresql://$(username):$(password)@$(endpoint):$(port)/postgres"}
//
// The content is a pure function of the managed resource's Secret and of the claim's metadata, so that every writer of a copy writes
// the same. A template that cannot be filled in costs its own key only. The error about it contains no value of a Secret.
//
// # Templates
//
// $(name) stands for the value of a connection key. As in the arguments of a Kubernetes container, $$ stands for one dollar
// sign, so that $$(name) is not filled in.
//
// A template that begins as a URL does, such as redis:// or jdbc:postgresql://, is filled in as one: a value keeps its place,
// whatever characters are in it. In the host an IPv6 address gets its brackets and a colon stays, for host:port; all
// else but letters, digits and -._~ is percent-encoded. In all other templates values stand as they are.
//
// A derived key stands beside the connection keys and never in place of one.
package connection

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/json"

	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/internal/objects"
)

// AnnotationKeyConnectionKeys on a claim adds keys to its connection Secret: a JSON object whose keys are theirs and whose
// values are templates.
const AnnotationKeyConnectionKeys = "bowline.dev/connection-keys"

const (
	// MaxKeys is how many keys a claim may derive.
	MaxKeys = 64
	// MaxValueSize is how long a derived value may be, in bytes. All values of a Secret together have corev1.MaxSecretSize.
	MaxValueSize = 64 << 10
)

// Content returns what the connection Secret of a claim is to hold: all of the original that is in use, which is what the Secret of its
// managed resource holds, and the keys that the claim derives. The error describes mistakes in the claim's templates;
// the content is good all the same, without the keys concerned. It has no value of a Secret in it.
func Content(claim metav1.Object, original map[string][]byte) (map[string][]byte, error) {
	original = InUse(original)
	templates, ok := claim.GetAnnotations()[AnnotationKeyConnectionKeys]
	if !ok {
		return original, nil
	}
	derived, err := Derive(templates, original)
	return objects.Union(original, derived), err
}

// Derive returns the keys that templates, the value of the annotation, derive from the original ones. The error describes the
// mistake of every key that is not returned.
func Derive(templates string, original map[string][]byte) (map[string][]byte, error) {
	written, twice, err := decode(templates)
	if err == nil && len(written) > MaxKeys {
		err = fmt.Errorf("it has %d keys, at most %d are possible", len(written), MaxKeys)
	}
	if err != nil {
		return nil, problems{err.Error()}.err()
	}
	var wrong problems
	derived, size := map[string][]byte{}, 0
	for _, value := range original {
		size += len(value)
	}
	for _, key := range slices.Sorted(maps.Keys(written)) {
		value, err := derive(key, written[key], original)
		switch {
		case twice.Has(key):
			err = errors.New("it is there twice: remove one")
		case err == nil && size+len(value) > corev1.MaxSecretSize:
			err = fmt.Errorf("there is no room for it, since a Secret holds %d KiB", corev1.MaxSecretSize>>10)
		}
		if err != nil {
			wrong = append(wrong, fmt.Sprintf("key %s: %v", quote(key), err))
			continue
		}
		derived[key] = value
		size += len(value)
	}
	return derived, wrong.err()
}

// derive fills in the template of one key.
func derive(key string, value any, original map[string][]byte) ([]byte, error) {
	if invalid := validation.IsConfigMapKey(key); len(invalid) > 0 {
		return nil, errors.New("a key of a Secret consists of up to 253 letters, digits, dashes, dots and underscores")
	}
	template, ok := value.(string)
	if !ok {
		return nil, errors.New("its template is no text: put it in double quotes")
	}
	parts, err := parse(template)
	if err != nil {
		return nil, err
	}
	if has(original, key) {
		return nil, errors.New("there is a connection key of that name, which stays as it is: choose another name")
	}
	for _, p := range parts {
		if p.key != "" && !has(original, p.key) {
			return nil, fmt.Errorf("there is no connection key %s: %s", quote(p.key), choice(original))
		}
	}
	locate(parts)
	return fill(parts, original)
}

func has(data map[string][]byte, key string) bool {
	_, ok := data[key]
	return ok
}

// choice lists the keys that exist.
func choice(original map[string][]byte) string {
	if len(original) == 0 {
		return "there are none yet"
	}
	return "there are " + objects.Shorten(strings.Join(slices.Sorted(maps.Keys(original)), ", "), 400)
}

// problems are what is wrong with templates, one for each key.
type problems []string

// err joins them in one message for a condition: one line, the same each time.
func (p problems) err() error {
	const some = 5
	if len(p) == 0 {
		return nil
	}
	slices.Sort(p)
	list := strings.Join(p[:min(some, len(p))], "; ")
	if len(p) > some {
		list += fmt.Sprintf("; and %d more", len(p)-some)
	}
	return &failure.Error{Reason: failure.BadConnectionKeys, Message: fmt.Sprintf("annotation %s: %s", AnnotationKeyConnectionKeys, list)}
}

// quote quotes a name that a user wrote.
func quote(name string) string { return strconv.Quote(objects.Shorten(name, 80)) }

// A part of a template is text, or stands for the value of a key.
type part struct {
	text string
	key  string
	as   place
}

// decode reads a JSON object, and which of its keys are there twice.
func decode(templates string) (written map[string]any, twice sets.Set[string], err error) {
	const example = `{"DATABASE_URL": "postgresql://$(username):$(password)@$(endpoint):$(port)/postgres"}`
	strict, err := json.UnmarshalStrict([]byte(templates), &written, json.DisallowDuplicateFields)
	if syntax, _ := json.SyntaxErrorOffset(err); err != nil && !syntax || err == nil && written == nil {
		err = errors.New("it does not begin with a brace")
	}
	if err != nil {
		return nil, nil, fmt.Errorf("it is no JSON object such as %s: %w", example, err)
	}
	twice = sets.New[string]()
	for _, err := range strict {
		if duplicate, ok := errors.AsType[json.FieldError](err); ok {
			twice.Insert(duplicate.FieldPath())
		}
	}
	return written, twice, nil
}

// token is what stands for something else in a template.
var token = regexp.MustCompile(`\$\$|\$\([^)]*\)?`)

// parse splits a template into text and keys.
func parse(template string) (parts []part, err error) {
	text, last := "", 0
	for _, at := range token.FindAllStringIndex(template, -1) {
		text += template[last:at[0]]
		last = at[1]
		found := template[at[0]:at[1]]
		key, closed := strings.CutSuffix(strings.TrimPrefix(found, "$("), ")")
		switch {
		case found == "$$":
			text += "$"
			continue
		case !closed:
			return nil, errors.New("$( has no closing parenthesis: write $(name), or $$( for the characters themselves")
		case len(validation.IsConfigMapKey(key)) > 0:
			return nil, fmt.Errorf("%s names no connection key: write $(name), or $$( for the characters themselves", quote(found))
		}
		parts = append(parts, part{text: text}, part{key: key})
		text = ""
	}
	return append(parts, part{text: text + template[last:]}), nil
}

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
	scheme := beginning.FindString(parts[0].text)
	if scheme == "" {
		return
	}
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
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if letter || '0' <= c && c <= '9' || strings.IndexByte("-._~"+others, c) >= 0 { // unreserved in RFC 3986
			to = append(to, c)
		} else {
			to = fmt.Appendf(to, "%%%02X", c)
		}
	}
	return to
}
