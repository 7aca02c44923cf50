// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cluster is the cloud's cluster service, whose clusters are Kubernetes API servers: processes of the program bowline, with its
// command apiserver. They have no nodes and run no pods.
//
// All state is read from the folder and the server and never kept in memory, so every operation may be interrupted anywhere and
// repeated, also by another process. Arguments, environments and logs contain no secrets. Beside the files of host.Folder there is
//
//	<folder>/tokens.conf  the hashes of the tokens that the server accepts, which it reads for each request
package cluster

import (
	"cmp"

	"golang.org/x/sys/unix"

	"github.com/bowline-dev/bowline/favouritecloud/internal/host"
	"github.com/bowline-dev/bowline/favouritecloud/internal/refusal"
	"github.com/bowline-dev/bowline/favouritecloud/internal/service"
	api "github.com/bowline-dev/bowline/favouritecloud/sdk/services/cluster"
)

// Spec is the part of records that only clusters have.
type Spec struct {
	Authority string // the certificate, in PEM, that the server's is signed with; empty until it has run
}

// Service is the cluster service.
type Service struct {
	*service.Service[Spec, api.CreateClusterInput, api.UpdateClusterInput]
}

type record = service.Record[Spec]

// New returns a service that is not running yet. The search path has folders, or patterns of folders.
func New(env service.Environment, searchPath []string) *Service {
	return &Service{service.New(env, service.Kind[Spec, api.CreateClusterInput, api.UpdateClusterInput]{
		Noun: "cluster", New: create, Update: update, Show: func(r record) any { return show(r) },
		Servers: &service.Servers[Spec]{
			Prefix: "cluster-", Ports: host.ClusterPorts,
			Folder: host.Folder{
				Proof: proof, Stop: unix.SIGTERM, End: map[string]unix.Signal{serverProgram: unix.SIGTERM}, Discard: unix.SIGKILL,
				Marks: []string{"bowline: "},
			},
			Software: software(searchPath),
			Version: refusal.Version{
				Field: "version", Program: "Kubernetes", Pattern: `^[1-9][0-9]?\.[0-9]{1,3}$`, Form: "a minor version", Example: "1.36",
			},
			NewDriver: func(s service.Site[Spec]) service.Driver[Spec] { return &driver{s} },
		},
	})}
}

func create(in api.CreateClusterInput) (r record, err error) {
	r.Name, r.Labels, r.Version, r.Password = in.Name, in.Labels, *cmp.Or(in.Version, new(string)), service.NewPassword()
	return r, nil
}

func update(r *record, in api.UpdateClusterInput) error {
	keep := in.PreviousTokenSeconds
	if keep != nil && (*keep < 0 || *keep > api.MaxPreviousTokenSeconds) {
		return refusal.Invalid("previous_token_seconds %d is not valid: it must be 0 to %d", *keep, api.MaxPreviousTokenSeconds)
	}
	r.SetLabels(in.Labels)
	if in.RotateToken {
		r.SetPassword(new(service.NewPassword()), keep)
	}
	return nil
}

// show returns the cluster as the API shows it, without its token.
func show(r record) api.Cluster {
	c := api.Cluster{
		ID: r.ID, Name: r.Name, Version: r.Version, Status: r.Status, Message: r.Message, CertificateAuthority: r.Spec.Authority,
		Labels: r.Labels, CreatedAt: r.CreatedAt, PreviousTokenExpiresAt: r.PreviousExpiresAt,
	}
	if r.Port != 0 {
		c.Endpoint = endpoint(r.Port)
	}
	return c
}

func endpoint(port int) string { return "https://" + host.Address(port) }

// Credentials returns a cluster with its token.
func (s *Service) Credentials(project, name string) (any, error) {
	return s.ShowAs(project, name, func(r record) any {
		c := show(r)
		c.Token = r.Password
		return c
	})
}
