// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package contract checks what the tests prove against the ledger of the contract.
//
// docs/contract.md states the contract, one sentence for each id. The ledger, ledger.tsv, has the status of each id. Which
// tests prove an id is recorded in their names only, such as "pending newer than succeeded (R82)". Check compares the ledger
// with the results of `go test -json`: a proven id needs a passing test, and an open one must have none.
//
//	make contract                                             # run all tests and check
//	go test -json ./... > F                                   # or run the tests once
//	go run ./internal/contract/cmd -list R82 < F              # and ask which tests prove an id
package contract
