// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cluster is the client of the favourite cloud's cluster service, whose clusters are Kubernetes API servers without nodes.
//
//	c := cluster.NewClient(client)
//	created, err := c.Create(ctx, cluster.CreateClusterInput{Name: "apps"})
//	… wait until Get returns StatusOnline …
//	access, err := c.View(ctx, "apps", cluster.ViewCredentials)
package cluster

import (
	"time"

	"github.com/bowline-dev/bowline/favouritecloud/sdk"
)

// Client calls the cluster service for one project. Create and Update return before the server has the desired state, which StatusOnline
// shows. Delete starts the deletion and can be repeated: Get returns StatusDeleting until the cluster is not found.
type Client = sdk.Collection[Cluster, Cluster, CreateClusterInput, UpdateClusterInput]

// NewClient returns a client of the cluster service.
func NewClient(c *sdk.Client) *Client {
	return sdk.NewCollection[Cluster, Cluster, CreateClusterInput, UpdateClusterInput](c, "clusters", "clusters")
}

// ViewCredentials is the cluster with its token.
const ViewCredentials = "credentials"

// MaxPreviousTokenSeconds is the longest time of PreviousTokenSeconds: a year.
const MaxPreviousTokenSeconds = 366 * 24 * 60 * 60

// Cluster is a cluster in an answer of the cloud.
type Cluster struct {
	ID   int    `json:"id"`   // unique in the service and never reused
	Name string `json:"name"` // unique in the project
	// Version is the version of Kubernetes, empty until it is known.
	Version string `json:"version,omitempty"`
	// Status is one of those of package sdk. In StatusUpdating the server continues to run.
	Status  string `json:"status"`
	Message string `json:"message,omitempty"` // the reason of status FAILED; empty otherwise
	// Endpoint is the URL of the API server. Empty until a port was chosen; it may change while the server is down.
	Endpoint string `json:"endpoint,omitempty"`
	// CertificateAuthority is the certificate, in PEM, that the API server's is signed with. Empty until the server has run.
	CertificateAuthority string            `json:"certificate_authority,omitempty"`
	Token                string            `json:"token,omitempty"`  // of the administrator, only in ViewCredentials
	Labels               map[string]string `json:"labels,omitempty"` // those of the user; the cloud only searches them
	CreatedAt            time.Time         `json:"created_at"`       // when the create request was accepted
	// PreviousTokenExpiresAt is until when the token before the last rotation is accepted, too; zero if none is.
	PreviousTokenExpiresAt time.Time `json:"previous_token_expires_at,omitzero"`
}

// CreateClusterInput describes a new cluster.
type CreateClusterInput struct {
	Name string `json:"name"` // an RFC 1035 label of 1 to 63 characters
	// Version is an available version of Kubernetes, for example "1.36". Default: the cloud's choice.
	Version *string `json:"version,omitempty"`
	// Labels can be searched: at most 64, with keys as in Kubernetes and values of at most 256 printable characters.
	Labels map[string]string `json:"labels,omitempty"`
}

// UpdateClusterInput describes a change. Fields that are nil do not change. The server does not restart.
type UpdateClusterInput struct {
	// RotateToken replaces the token, which is refused once the status is StatusOnline again, unless PreviousTokenSeconds keeps it.
	RotateToken bool `json:"rotate_token,omitempty"`
	// PreviousTokenSeconds is how long the token that RotateToken replaces is accepted beside the new one, at most MaxPreviousTokenSeconds.
	// Default: not at all.
	PreviousTokenSeconds *int              `json:"previous_token_seconds,omitempty"`
	Labels               map[string]string `json:"labels,omitzero"` // replace all current labels; an empty map that is not nil removes them
}
