// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package parameters

// An Option says what a tree alone does not tell about a kind's parameters. Kinds give the same options to LateInitialize
// and to Compare.
//
// Options name fields by paths. zones and scalingConfig.maxSize, or scalingConfig[*].maxSize, mean a field of every
// element, scalingConfig[0].maxSize of that one only. The keys of maps that hold a dot, slash or bracket stand in
// brackets, as in tags[example.org/team].
type Option func(*settings)

type settings struct {
	initial any

	ignored, chosen, sensitive, sets, caseless, texts, open paths
}

func newSettings(options []Option) *settings {
	s := &settings{
		ignored: paths{}, chosen: paths{}, sensitive: paths{}, sets: paths{}, caseless: paths{}, texts: paths{}, open: paths{},
	}
	for _, apply := range options {
		apply(s)
	}
	return s
}

// InitProvider tells the resource's spec.initProvider: a tree, or with LateInitialize and Compare also a struct or a
// pointer to one. Late initialization does not fill what it sets (R146), and elements that it adds to a list of objects
// are no difference (R143). Default: none.
func InitProvider(initProvider any) Option {
	return func(s *settings) { s.initial = initProvider }
}

// Ignore excludes fields and all below them: they are neither compared nor filled.
func Ignore(fields ...string) Option {
	return func(s *settings) { s.ignored.add(fields) }
}

// Chosen excludes fields and all below them from late initialization only: they count where the user chose them. It is for
// what others change behind a user's back who left it open, so that a value taken over would be enforced against them.
func Chosen(fields ...string) Option {
	return func(s *settings) { s.chosen.add(fields) }
}

// Sensitive keeps the values of fields, and of all below them, out of differences (N8). Fields whose names sound like a
// secret need not be given: password, token, secret, private key and the like.
func Sensitive(fields ...string) Option {
	return func(s *settings) { s.sensitive.add(fields) }
}

// AsSet compares lists without regard to order. Late initialization fills nothing in their elements, since it cannot tell
// which is which.
func AsSet(fields ...string) Option {
	return func(s *settings) { s.sets.add(fields) }
}

// AllowExtra compares only those elements of lists that are desired, for lists to which the vendor or others add elements
// of their own. By default a list that is set is enforced as a whole (R137). Lists without AsSet may grow at the end only.
func AllowExtra(fields ...string) Option {
	return func(s *settings) { s.open.add(fields) }
}

// IgnoreCase compares strings without regard to upper and lower case.
func IgnoreCase(fields ...string) Option {
	return func(s *settings) { s.caseless.add(fields) }
}

// JSONText compares strings by the JSON document they hold, such as an access policy, without regard to spaces and the
// order of fields. Both sides have to set the same fields in it.
func JSONText(fields ...string) Option {
	return func(s *settings) { s.texts.add(fields) }
}
