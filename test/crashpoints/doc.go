// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Command crashpoints proves that the favourite cloud's provider, and the claims that it serves, recover from a crash at every
// request of every operation of every kind: nothing is leaked, duplicated or lost, and no object needs manual intervention (N5, N11,
// N22, N26, R77 to R79, R268, R274).
//
//	make crashpoints
//	make crashpoints ARGS=--faults
//	make crashpoints ARGS="--kind Claim"
//	make crashpoints ARGS="--kind NodeGroup --operation create --point 3"
//
// An operation first runs without a fault. Its points are all requests that change something on the API server, read past the cache,
// or call the cloud. Then it runs again for each point and kind of fault (packages fault and scenario of the test kit): the process
// crashes before the request, or after it, or never gets the answer. With --faults, the server also refuses a change, and another
// client writes to the object right before one. A process is a manager with the provider's real controllers and without memory. The
// API server and the cloud are real and keep running.
//
// After a crash another process finishes the operation. At the end the whole site is checked (check.go). The words of the summary:
//
//	leaked            external resources of no object, and managed resources of a deleted claim
//	duplicated        external resources beyond the first of one object, and managed resources beyond the first of one claim
//	credentials-lost  connection Secrets that do not open the server
//	stuck             objects that a minute later are not Ready and Synced, not as declared, or not deleted
//	needs-human       objects that need manual intervention after an interrupted create
//	bound-twice       managed resources that several claims are bound to
//
// The kinds Claim and DatabaseClaim have the operations on claims, which get caches and databases. All controllers run there. A bound
// claim has exactly one managed resource, both refer to each other, and their Secrets have the same content.
//
// Provider configurations and their Secrets are protected at any time meanwhile. These requests are points of the operations
// "-with-config" only.
//
// A violation is printed with kind, operation, point and fault, and with the requests of the run without a fault and of this one. The
// last line of standard output is the summary; the exit code is 0 without a violation. A point that depends on timing may not be
// reached again: after three attempts it is listed and not counted.
package main
