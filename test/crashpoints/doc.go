// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Command crashpoints proves that the favourite cloud's provider, and the claims that it satisfies, survive the end of the
// process at every point of every operation of every kind: nothing is leaked, doubled, lost or left for a person to sort out
// (N5, N11, N22, N26, R77 to R79, R268, R274).
//
//	make crashpoints
//	make crashpoints ARGS=--faults
//	make crashpoints ARGS="--kind Claim"
//	make crashpoints ARGS="--kind NodeGroup --operation create --point 3"
//
// Its one idea: the outside world knows a process only by its requests. So an operation is first run undisturbed, and all
// requests are listed that change something on the API server, read past the cache, or call the cloud. These are the
// points. Then the operation is run again for each of them and each cut: the process dies right before the request is
// sent, or right after it was done, or it lives on and never hears the answer. With --faults it also lives on when a server
// fails and refuses a change, and when somebody else writes to the object right before one. A process is a manager with the
// provider's real controllers, fault.Transport between them and everything else, and no memory of what went
// before. The API server and the cloud are real ones and stay up.
//
// After a death a healthy process goes on until all is quiet. Then, and as well when the process lived on, the whole site is
// compared with what should be (check.go). The words of the summary:
//
//	leaked            external resources that belong to no object, and managed resources of a claim that is gone
//	duplicated        external resources beyond the first of one object, and managed resources beyond that of one claim
//	credentials-lost  connection secrets that do not open the server, which is really tried
//	stuck             objects that a minute later are not Ready and Synced, not as declared, or not gone
//	needs-human       objects that wait for a person to tell how their creation ended
//	bound-twice       managed resources that several claims have
//
// The kinds Claim and DatabaseClaim are about claims, which get caches and databases. All controllers run there, those that
// choose classes and those of Secrets, too. A claim is as it should be if its managed resource is the only one, both name each
// other and both have the same in their Secrets.
//
// Provider configurations and their Secrets are protected next to all this, whenever that suits. The requests for it are
// points of the operations "-with-config" only.
//
// No kind of this provider may need a human: each is named beforehand, has creations that can be repeated, or can be found.
//
// A violation names kind, operation, point and cut, with all requests of the undisturbed run and of this one. The last line
// of standard output is the summary; the exit code is 0 if nothing was violated. Points that take their place only when
// the cloud is slow may not come up again: these cuts are tried three times, then listed and not counted.
package main
