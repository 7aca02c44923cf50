// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cache is the cloud's cache service, whose instances are Redis servers. Package fleet has the common part of such
// services; this one validates requests and knows how a Redis server is started, changed and stopped.
package cache
