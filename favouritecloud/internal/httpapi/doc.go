// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package httpapi is the cloud's HTTP/JSON interface: routes, authentication, errors, limits.
//
// A route is a function that returns an error; only respondError turns an error into an answer. Services are independent of HTTP:
// addRoutes lists the routes of each.
package httpapi
