// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package scheduling chooses classes for claims: it is what packages claimscheduling, claimdefaulting and claim publish.
//
// # The one idea
//
// All controllers that choose see the same classes, those of all providers (see watch.Classes), and so agree on the class that a claim
// gets: Choose. A choice needs no request, unless classes are for some namespaces only: then the labels of the claim's namespace are
// read.
//
//   - An Assigner records the chosen class on a claim, if it is of the Assigner's kind. There is a scheduler for claims with a class
//     selector and a defaulter for those without, for each class kind.
//   - A Reporter reports on a claim why it gets no class, or why nothing serves the class that it names. There is one for each claim
//     kind.
package scheduling
