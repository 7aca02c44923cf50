// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package httpapi is the cloud's HTTP/JSON interface: routes, authentication, errors, limits.
//
// A route is a function that returns an error; what that error means to a client is decided in one place, respondError.
// Services know nothing of HTTP, and each has one file here that translates.
package httpapi
