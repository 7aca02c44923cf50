// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package redis runs Redis servers as processes of this machine.
//
// An Instance is a folder that holds the data of one server. Everything about it is read from the folder and from the
// server itself, never remembered, so every operation may be cut short anywhere and repeated, also by another process.
//
//	<folder>/            0711, owned by this process's user
//	<folder>/server.log  what the server printed
//	<folder>/redis.conf  0600, owned by the server's account; written before every start
//	<folder>/data/       0700, owned by the server's account: the append-only file, and the socket for this package
//
// Clients are the user "default" with the password of the settings, and may do all but administer the server, which is
// what the user "cloud" is for: its password is the instance's secret, and its way in is the socket. So nobody else can
// change what the cloud relies on, and a program that took the port of a server that is down learns nothing. The server
// knows hashes only.
//
// Servers live in a session of their own and outlive this process. Nothing secret is put into arguments, environments or
// logs.
package redis
