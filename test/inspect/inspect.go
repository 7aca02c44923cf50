// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package inspect checks from the outside what bowline did: what a project of the favourite cloud contains, whether a claim and
// its managed resource agree, and whether a connection Secret opens its server.
package inspect

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/favouritecloud"
	"github.com/bowline-dev/bowline/favouritecloud/sdk"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/cache"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/cluster"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/database"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/network"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/nodegroup"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/subnet"
	"github.com/bowline-dev/bowline/internal/testkit"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
)

func address(data map[string][]byte) string {
	return net.JoinHostPort(string(data[xpv1.ResourceCredentialsSecretEndpointKey]), string(data[xpv1.ResourceCredentialsSecretPortKey]))
}

// Connect connects to a PostgreSQL server as an application does that has its connection Secret only.
func Connect(ctx context.Context, data map[string][]byte) (*pgx.Conn, error) {
	user, password := string(data[xpv1.ResourceCredentialsSecretUserKey]), string(data[xpv1.ResourceCredentialsSecretPasswordKey])
	u := url.URL{
		Scheme:   "postgres",
		User:     url.UserPassword(user, password),
		Host:     address(data),
		Path:     cmp.Or(string(data["database"]), "postgres"),
		RawQuery: "sslmode=disable", // the server is on this machine
	}
	connection, err := pgx.Connect(ctx, u.String())
	if err != nil {
		return nil, fmt.Errorf("connecting with the content of the connection Secret: %w", err)
	}
	return connection, nil
}

// OpensPostgreSQL returns nil if the content of a connection Secret opens a PostgreSQL server.
func OpensPostgreSQL(ctx context.Context, data map[string][]byte) error {
	connection, err := Connect(ctx, data)
	if err != nil {
		return err
	}
	return connection.Close(ctx)
}

// OpensRedis returns nil if the content of a connection Secret opens a Redis server.
func OpensRedis(ctx context.Context, data map[string][]byte) error {
	connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", address(data))
	if err != nil {
		return fmt.Errorf("connecting with the content of the connection Secret: %w", err)
	}
	defer connection.Close() // nothing was begun
	if deadline, limited := ctx.Deadline(); limited {
		if err := connection.SetDeadline(deadline); err != nil {
			return err
		}
	}
	request := "*3\r\n$4\r\nAUTH\r\n"
	for _, key := range []string{xpv1.ResourceCredentialsSecretUserKey, xpv1.ResourceCredentialsSecretPasswordKey} {
		request += fmt.Sprintf("$%d\r\n%s\r\n", len(data[key]), data[key])
	}
	if _, err := connection.Write([]byte(request)); err != nil {
		return fmt.Errorf("authenticating: %w", err)
	}
	answer, err := bufio.NewReader(connection).ReadString('\n')
	if err != nil || answer != "+OK\r\n" {
		return fmt.Errorf("authenticating: %q, %v", strings.TrimSpace(answer), err)
	}
	return nil
}

// OpensCluster returns nil if the kubeconfig in a connection Secret opens a cluster, for its administrator.
func OpensCluster(ctx context.Context, data map[string][]byte) error {
	config, err := clientcmd.RESTConfigFromKubeConfig(data[xpv1.ResourceCredentialsSecretKubeconfigKey])
	if err != nil {
		return fmt.Errorf("reading the kubeconfig of the connection Secret: %w", err)
	}
	cluster, err := client.New(config, client.Options{})
	if err == nil {
		err = cluster.List(ctx, &corev1.SecretList{})
	}
	if err != nil {
		return fmt.Errorf("connecting with the content of the connection Secret: %w", err)
	}
	return nil
}

// A Binding is a claim's managed resource, and the connection Secrets of both.
type Binding struct {
	Managed resource.BindableManaged // the managed resource that the claim refers to, and that refers to the claim
	Source  *corev1.Secret           // the Secret of the managed resource
	Copy    *corev1.Secret           // the Secret of the claim
}

// Bound reads the claim again and returns its binding. The error describes in what claim and managed resource do not agree.
func Bound(ctx context.Context, c client.Client, claim resource.Claim) (*Binding, error) {
	if err := c.Get(ctx, client.ObjectKeyFromObject(claim), claim); err != nil {
		return nil, err
	}
	ready, ref := claim.GetCondition(xpv1.TypeReady), claim.GetResourceReference()
	if ready.Status != corev1.ConditionTrue || claim.GetBindingPhase() != xpv1.BindingPhaseBound || ref == nil {
		return nil, fmt.Errorf("claim %s is %q and refers to %v; Ready: %s %s", claim.GetName(), claim.GetBindingPhase(), ref,
			ready.Reason, ready.Message)
	}
	if synced := claim.GetCondition(xpv1.TypeSynced); synced.Status != corev1.ConditionTrue {
		return nil, fmt.Errorf("claim %s: Synced: %s %s", claim.GetName(), synced.Reason, synced.Message)
	}
	o, err := c.Scheme().New(ref.GroupVersionKind())
	if err != nil {
		return nil, err
	}
	mg := o.(resource.BindableManaged)
	if err := c.Get(ctx, client.ObjectKey{Name: ref.Name}, mg); err != nil {
		return nil, err
	}
	if of := mg.GetClaimReference(); of == nil || of.UID != claim.GetUID() || mg.GetBindingPhase() != xpv1.BindingPhaseBound {
		return nil, fmt.Errorf("managed resource %s is %q and belongs to %v", mg.GetName(), mg.GetBindingPhase(), of)
	}
	if theirs, ours := meta.GetExternalName(mg), meta.GetExternalName(claim); theirs != ours || ours == "" {
		return nil, fmt.Errorf("external name %q of the managed resource, %q of the claim", theirs, ours)
	}
	return Copied(ctx, c, claim, mg)
}

// Copied returns an error unless the claim's Secret has the content of the managed resource's, and both agree to be copied.
func Copied(ctx context.Context, c client.Client, claim resource.Claim, mg resource.BindableManaged) (*Binding, error) {
	from, to := mg.GetWriteConnectionSecretToReference(), claim.GetWriteConnectionSecretToReference()
	if from == nil || to == nil {
		return nil, errors.New("claim or managed resource have no connection Secret")
	}
	b := &Binding{Managed: mg, Source: &corev1.Secret{}, Copy: &corev1.Secret{}}
	if err := errors.Join(
		c.Get(ctx, client.ObjectKey{Namespace: from.Namespace, Name: from.Name}, b.Source),
		c.Get(ctx, client.ObjectKey{Namespace: claim.GetNamespace(), Name: to.Name}, b.Copy),
	); err != nil {
		return nil, err
	}
	switch to := meta.PropagatesTo(b.Source); {
	case !maps.EqualFunc(b.Source.Data, b.Copy.Data, bytes.Equal):
		return nil, fmt.Errorf("the Secrets %s/%s and %s/%s differ", b.Source.Namespace, b.Source.Name, b.Copy.Namespace, b.Copy.Name)
	case !meta.PropagationAllowed(b.Source, b.Copy) || len(to) != 1 || !metav1.IsControlledBy(b.Copy, claim):
		return nil, fmt.Errorf("the Secret of the claim is owned by %v, and the other one is copied to %v", b.Copy.OwnerReferences, to)
	}
	return b, nil
}

// A Project is direct access to one project of the favourite cloud.
type Project struct {
	Networks   *network.Client
	Subnets    *subnet.Client
	NodeGroups *nodegroup.Client
	Databases  *database.Client
	Caches     *cache.Client
	Clusters   *cluster.Client
}

// NewProject returns access to the project of an API key. It makes no request.
func NewProject(endpoint, project, key string) (*Project, error) {
	c, err := sdk.NewClient(sdk.Config{Endpoint: endpoint, Project: project, APIKey: key})
	if err != nil {
		return nil, err
	}
	return &Project{
		Networks: network.NewClient(c), Subnets: subnet.NewClient(c), NodeGroups: nodegroup.NewClient(c),
		Databases: database.NewClient(c), Caches: cache.NewClient(c), Clusters: cluster.NewClient(c),
	}, nil
}

// TierLabel is the label of a subnet, and of a cluster, that is its Setting.
const TierLabel = "tier"

// An External is an external resource.
type External struct {
	Kind string // "network", "subnet", "node group", "database", "cache" or "cluster"
	Name string // in the cloud
	// Owner is the uid of the object that it was created for, by its label. Empty without that label.
	Owner    types.UID
	Deleting bool                        // true while the cloud deletes it
	Setting  string                      // one that may change: MTU, tier, maximal size, fanciness level or memory
	Delete   func(context.Context) error // deletes it
}

func (e External) String() string {
	return fmt.Sprintf("%s of %q with %q (deleting: %t)", e.Name, e.Owner, e.Setting, e.Deleting)
}

// All lists the external resources of the project.
func (p *Project) All(ctx context.Context) ([]External, error) {
	var found []External
	add := func(kind, name, status, setting string, labels map[string]string, remove func(context.Context, string) error) {
		found = append(found, External{
			Kind: kind, Name: name, Owner: types.UID(labels[meta.ExternalLabelUID]), Deleting: status == sdk.StatusDeleting,
			Setting: setting, Delete: func(ctx context.Context) error { return remove(ctx, name) },
		})
	}
	groups, groupsErr := p.NodeGroups.List(ctx, nil)
	for _, g := range groups {
		setting := ""
		if len(g.ScalingConfig) > 0 {
			setting = fmt.Sprint(g.ScalingConfig[0].MaxSize)
		}
		add("node group", g.Name, g.Status, setting, g.Labels, p.NodeGroups.Delete)
	}
	subnets, subnetsErr := p.Subnets.List(ctx, nil)
	for _, s := range subnets {
		add("subnet", s.ID, s.Status, s.Labels[TierLabel], s.Labels, p.Subnets.Delete)
	}
	networks, networksErr := p.Networks.List(ctx, nil)
	for _, n := range networks {
		add("network", n.ID, n.Status, fmt.Sprint(n.MTU), n.Labels, p.Networks.Delete)
	}
	databases, databasesErr := p.Databases.List(ctx, nil)
	for _, d := range databases {
		add("database", d.Name, d.Status, fmt.Sprint(d.FancinessLevel), d.Labels, p.Databases.Delete)
	}
	caches, cachesErr := p.Caches.List(ctx, nil)
	for _, c := range caches {
		add("cache", c.Name, c.Status, fmt.Sprint(c.MemoryMegabytes), c.Labels, p.Caches.Delete)
	}
	clusters, clustersErr := p.Clusters.List(ctx, nil)
	for _, c := range clusters {
		add("cluster", c.Name, c.Status, c.Labels[TierLabel], c.Labels, p.Clusters.Delete)
	}
	return found, errors.Join(groupsErr, subnetsErr, networksErr, databasesErr, cachesErr, clustersErr)
}

// A Census counts external resources by kind and owner.
type Census map[string]map[types.UID]int

// Census counts all external resources of the project.
func (p *Project) Census(ctx context.Context) (Census, error) {
	all, err := p.All(ctx)
	c := Census{}
	for _, e := range all {
		if c[e.Kind] == nil {
			c[e.Kind] = map[types.UID]int{}
		}
		c[e.Kind][e.Owner]++
	}
	return c, err
}

// Compare returns how many objects have no external resource, and how many external resources there are beyond one for each.
func Compare(have map[types.UID]int, objects []types.UID) (missing, superfluous int) {
	left := maps.Clone(have)
	for _, uid := range objects {
		if left[uid] == 0 {
			missing++
		} else {
			left[uid]--
		}
	}
	for _, n := range left {
		superfluous += n
	}
	return missing, superfluous
}

// OwnedBy returns the labels of the external resources that were created for the object of that uid, and of nothing else.
func OwnedBy(uid types.UID) map[string]string {
	return map[string]string{meta.ExternalLabelUID: string(uid)}
}

// A Cloud is a favourite cloud in this process.
type Cloud struct {
	*favouritecloud.Server

	Stop  func() error // stops the cloud and deletes its data, which may be outside of its data folder
	token string
}

// StartCloud starts a cloud and returns when it is ready.
func StartCloud(config favouritecloud.Config) (c *Cloud, err error) {
	c = &Cloud{}
	if c.Server, err = favouritecloud.New(config); err != nil {
		return nil, err
	}
	stop, err := testkit.Background(context.Background(), c.Run, func(ctx context.Context) error {
		select {
		case <-c.Ready():
			c.token, err = favouritecloud.ReadAdminToken(config.DataDir)
			return err
		case <-ctx.Done():
			return errors.New("the cloud does not start")
		}
	})
	c.Stop = func() error { return errors.Join(stop(), favouritecloud.Remove(config.DataDir)) }
	return c, err
}

// NewKey returns a new API key of a project.
func (c *Cloud) NewKey(ctx context.Context, project string) (string, error) {
	key, err := sdk.CreateKey(ctx, c.URL(), c.token, project)
	if err != nil {
		return "", err
	}
	return key.Key, nil
}

// A Class is a sort of violation.
type Class string

// Classes of violations.
const (
	Leaked          Class = "leaked"           // an external resource of no object, or an object of a deleted claim
	Duplicated      Class = "duplicated"       // a second one of an object, or a second managed resource of a claim
	CredentialsLost Class = "credentials-lost" // a connection Secret that does not open the server
	Stuck           Class = "stuck"            // an object that does not get its result in time
	NeedsHuman      Class = "needs-human"      // an object that needs manual intervention, though its kind never should
	BoundTwice      Class = "bound-twice"      // a managed resource that several claims are bound to
)

// Classes returns all classes.
func Classes() []Class {
	return []Class{Leaked, Duplicated, CredentialsLost, Stuck, NeedsHuman, BoundTwice}
}

// A Violation is what an operation left that it may not leave.
type Violation struct {
	Class Class
	What  string
}

// Violations returns what no operation may leave. Managed resources that were released by deleted claims may stay.
func Violations(claims []resource.Claim, objects []resource.Managed, all []External) []Violation {
	var external, managed []belonging
	for _, e := range all {
		external = append(external, belonging{e.Owner, e.String()})
	}
	for _, o := range objects {
		mg, bindable := o.(resource.BindableManaged)
		if !bindable || mg.GetClaimReference() == nil {
			continue
		}
		of := mg.GetClaimReference().UID
		exists := slices.ContainsFunc(claims, func(c resource.Claim) bool { return c.GetUID() == of })
		if exists || mg.GetBindingPhase() != xpv1.BindingPhaseReleased {
			managed = append(managed, belonging{of, fmt.Sprintf("%s, %q", mg.GetName(), mg.GetBindingPhase())})
		}
	}
	return slices.Concat(unpaired(objects, external), unpaired(claims, managed), contended(claims))
}

// A belonging is an external resource of an object, or a managed resource of a claim.
type belonging struct {
	of   types.UID
	what string
}

// unpaired finds belongings of no owner, and those beyond one for each owner.
func unpaired[T client.Object](owners []T, all []belonging) (found []Violation) {
	has := map[types.UID]int{}
	for _, o := range owners {
		has[o.GetUID()] = 1
	}
	for _, b := range all {
		switch has[b.of]++; has[b.of] {
		case 1:
			has[b.of]--
			found = append(found, Violation{Leaked, fmt.Sprintf("%s, created for %q", b.what, b.of)})
		case 2:
		default:
			found = append(found, Violation{Duplicated, fmt.Sprintf("%s, created for %q too: %v", b.what, b.of, all)})
		}
	}
	return found
}

// contended finds managed resources that several claims are bound to.
func contended(claims []resource.Claim) (found []Violation) {
	users := map[string]string{}
	for _, claim := range claims {
		ref := claim.GetResourceReference()
		if ref == nil || claim.GetBindingPhase() != xpv1.BindingPhaseBound {
			continue
		}
		if other := users[ref.Name]; other != "" {
			found = append(found, Violation{BoundTwice, fmt.Sprintf("%s, to claims %s and %s", ref.Name, other, claim.GetName())})
		}
		users[ref.Name] = claim.GetName()
	}
	return found
}

// Reported returns nil if bowline leaks lists an object, and a warning event has the message that it prints.
func Reported(ctx context.Context, c client.Client, o resource.Managed) error {
	events, synced := &corev1.EventList{}, o.GetCondition(xpv1.TypeSynced).Message
	if err := c.List(ctx, events, client.MatchingFields{"involvedObject.uid": string(o.GetUID())}); err != nil {
		return err
	}
	problem := xpv1.FailureOf(o).Reason
	listed := failure.IsLeak(problem) && (problem != failure.CreateInterrupted || meta.ExternalCreateIncomplete(o))
	inEvent := slices.ContainsFunc(events.Items, func(e corev1.Event) bool { return e.Type == corev1.EventTypeWarning && e.Message == synced })
	if synced == "" || !listed || !inEvent {
		return fmt.Errorf("%s: %q is in bowline leaks: %t, in an event: %t", problem, synced, listed, inEvent)
	}
	return nil
}
