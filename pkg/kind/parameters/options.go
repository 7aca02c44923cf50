// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package parameters

// An Option declares how fields of a kind are compared and late-initialized. Pass the same options to LateInitialize and
// Compare.
//
// Options name fields by paths. scalingConfig.maxSize and scalingConfig[*].maxSize address the field of every element,
// scalingConfig[0].maxSize that of one. Keys of maps with a dot, slash or bracket are in brackets: tags[example.org/team].
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

// InitProvider passes the resource's spec.initProvider: a tree, or for LateInitialize and Compare a struct or a pointer to
// one. Fields that it sets are not late-initialized (R146), and elements that it adds to a list of objects are no difference
// (R143). Default: none.
func InitProvider(initProvider any) Option {
	return func(s *settings) { s.initial = initProvider }
}

// Ignore excludes fields and all below them: they are neither compared nor filled.
func Ignore(fields ...string) Option {
	return func(s *settings) { s.ignored.add(fields) }
}

// Chosen excludes fields and all below them from late initialization only. It is for fields that others may change as long as
// the user does not set them: a late-initialized value would be enforced against those changes.
func Chosen(fields ...string) Option {
	return func(s *settings) { s.chosen.add(fields) }
}

// Sensitive keeps the values of fields, and of all below them, out of differences (N8). Fields with names such as password,
// token or privateKey are always sensitive.
func Sensitive(fields ...string) Option {
	return func(s *settings) { s.sensitive.add(fields) }
}

// AsSet compares lists without regard to order. Their elements are not late-initialized, since they cannot be paired.
func AsSet(fields ...string) Option {
	return func(s *settings) { s.sets.add(fields) }
}

// AllowExtra permits elements beyond the desired ones, for lists to which the vendor or others add elements. By default a list
// is enforced as a whole (R137). Lists without AsSet may grow at the end only.
func AllowExtra(fields ...string) Option {
	return func(s *settings) { s.open.add(fields) }
}

// IgnoreCase compares strings without regard to upper and lower case.
func IgnoreCase(fields ...string) Option {
	return func(s *settings) { s.caseless.add(fields) }
}

// JSONText compares strings as JSON documents, such as access policies. Both sides have to set the same fields in them.
func JSONText(fields ...string) Option {
	return func(s *settings) { s.texts.add(fields) }
}
