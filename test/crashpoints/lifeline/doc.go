// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package lifeline ends the life of a process at a chosen request.
//
// Its one idea: the outside world knows a process only by its requests. A Life lists those that change something on the API
// server, read past the cache, or call the favourite cloud: the points. At one of them it is cut. A dead process's requests go
// nowhere; it may think what it likes. A Tap puts requests on a lifeline, a Proxy those to the cloud.
package lifeline
