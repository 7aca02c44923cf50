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
// # The one idea
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
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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

// Content returns what the connection Secret of a claim is to hold: all of the original, which is what the Secret of its
// managed resource holds, and the keys that the claim derives. The error describes mistakes in the claim's templates;
// the content is good all the same, without the keys concerned. It has no value of a Secret in it.
func Content(claim metav1.Object, original map[string][]byte) (map[string][]byte, error) {
	templates, ok := claim.GetAnnotations()[AnnotationKeyConnectionKeys]
	if !ok {
		return merged(original, nil), nil
	}
	derived, err := Derive(templates, original)
	return merged(original, derived), err
}

// Derive returns the keys that templates, the value of the annotation, derive from the original ones. The error describes the
// mistake of every key that is not returned.
func Derive(templates string, original map[string][]byte) (map[string][]byte, error) {
	entries, wrong := read(templates)
	derived, size := map[string][]byte{}, 0
	for _, value := range original {
		size += len(value)
	}
	for _, e := range entries {
		value, err := e.derive(original)
		if err == nil && size+len(value) > corev1.MaxSecretSize {
			err = fmt.Errorf("there is no room for it, since a Secret holds %d KiB", corev1.MaxSecretSize>>10)
		}
		if err != nil {
			wrong = append(wrong, fmt.Sprintf("key %s: %v", quote(e.key), err))
			continue
		}
		derived[e.key] = value
		size += len(value)
	}
	return derived, wrong.err()
}

// derive fills in the template of one key.
func (e entry) derive(original map[string][]byte) ([]byte, error) {
	if has(original, e.key) {
		return nil, errors.New("there is a connection key of that name, which stays as it is: choose another name")
	}
	for _, p := range e.parts {
		if p.key != "" && !has(original, p.key) {
			return nil, fmt.Errorf("there is no connection key %s: %s", quote(p.key), choice(original))
		}
	}
	return fill(e.parts, original)
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
