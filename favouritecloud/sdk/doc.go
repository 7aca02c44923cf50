// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sdk is the Go client library of the favourite cloud.
//
// A Client calls the cloud for one project with one API key; the packages below services turn it into a client of one service.
// The SDK never retries a call, since only its caller knows whether that is safe and how long to wait. (Go's http.Client may repeat
// a read, or a call with an idempotency key, when a kept connection is broken; that is safe.)
//
// Errors of the cloud are *APIError, failures to reach it are *ConnectionError. The functions Is… classify both; no caller needs to
// read a message.
//
//	c, err := sdk.NewClient(sdk.Config{Endpoint: "http://127.0.0.1:7070", Project: "demo", APIKey: key})
//	instance, err := database.NewClient(c).Get(ctx, "orders")
//	if sdk.IsNotFound(err) { … }
//
// The package imports only the standard library.
package sdk
