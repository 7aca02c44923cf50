// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package redis runs Redis servers as processes of this machine.
//
// An Instance is a host.Folder with the data of one server. All of its state is read from the folder and from the server and
// never kept in memory, so every operation may be interrupted anywhere and repeated, also by another process. In addition to
// the files of host.Folder there are:
//
//	<folder>/redis.conf         0600, owned by the server's account; written before every start
//	<folder>/data/control.sock  the socket of this package
//
// Clients are the user "default" with the password of the settings, and may do everything but administer the server. The user
// "cloud" administers it: its password is the secret of the instance, and it connects to the socket. So clients cannot change
// what the cloud relies on, and a program that took the port of a server that is down learns nothing. The server stores only
// hashes of passwords.
//
// Arguments, environments and logs contain no secrets.
package redis
