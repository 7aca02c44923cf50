// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package contract keeps the books on what this repository promises and what its tests prove.
//
// The ledger, ledger.tsv, names every requirement of the contract once, with a status. Which tests prove a requirement is
// written nowhere: it is read from the names of the tests that pass, such as "R82 pending newer than succeeded". Check
// holds one against the other, so that neither can claim what the other does not bear out.
//
//	make contract                                   # run all tests, print the books
//	go run ./internal/contract/cmd --update         # also raise open ids that tests prove now
//	go test -json ./... > F                         # or run the tests once
//	go run ./internal/contract/cmd --from F --list R82  # and ask many questions
package contract
