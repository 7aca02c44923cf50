// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package reference_test

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/reference"
)

var group = schema.GroupVersion{Group: "reference.test.bowline.dev", Version: "v1"}

// A Network is a cluster-scoped managed resource that may be part of another one.
type Network struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   Spec   `json:"spec"`
	Status Status `json:"status,omitempty"`
}

// A Room is a namespaced managed resource.
type Room struct {
	Network `json:",inline"`
}

// Spec of a Network.
type Spec struct {
	xpv1.ResourceSpec `json:",inline"`
	ForProvider       Parameters `json:"forProvider"`
}

// Parameters of a Network.
type Parameters struct {
	ParentID         *string          `json:"parentId,omitempty"`
	ParentIDRef      *xpv1.Reference  `json:"parentIdRef,omitempty"`
	ParentIDSelector *xpv1.Selector   `json:"parentIdSelector,omitempty"`
	PeerIDs          []*string        `json:"peerIds,omitempty"`
	PeerIDRefs       []xpv1.Reference `json:"peerIdRefs,omitempty"`
	PeerIDsSelector  *xpv1.Selector   `json:"peerIdsSelector,omitempty"`
}

// Status of a Network.
type Status struct {
	xpv1.ResourceStatus `json:",inline"`
	AtProvider          Observation `json:"atProvider,omitempty"`
}

// Observation of a Network.
type Observation struct {
	ARN   string `json:"arn,omitempty"`
	Ports int64  `json:"ports,omitempty"`
}

// NetworkList is a list as code generators of the ecosystem fill in To: without any method of ours.
type NetworkList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Network `json:"items"`
}

// RoomList is a list of pointers.
type RoomList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []*Room `json:"items"`
}

// ResolveReferences has the form that code generators of the ecosystem write.
func (n *Network) ResolveReferences(ctx context.Context, c client.Reader) error {
	r := reference.NewAPIResolver(c, n)

	var rsp reference.ResolutionResponse
	var mrsp reference.MultiResolutionResponse
	var err error

	rsp, err = r.Resolve(ctx, reference.ResolutionRequest{
		CurrentValue: reference.FromPtrValue(n.Spec.ForProvider.ParentID),
		Extract:      reference.ExternalName(),
		Reference:    n.Spec.ForProvider.ParentIDRef,
		Selector:     n.Spec.ForProvider.ParentIDSelector,
		To:           reference.To{List: &NetworkList{}, Managed: &Network{}},
		Namespace:    n.GetNamespace(),
		FieldPath:    "spec.forProvider.parentId",
	})
	if err != nil {
		return err
	}
	n.Spec.ForProvider.ParentID = reference.ToPtrValue(rsp.ResolvedValue)
	n.Spec.ForProvider.ParentIDRef = rsp.ResolvedReference

	mrsp, err = r.ResolveMultiple(ctx, reference.MultiResolutionRequest{
		CurrentValues: reference.FromPtrValues(n.Spec.ForProvider.PeerIDs),
		Extract:       reference.ExternalName(),
		References:    n.Spec.ForProvider.PeerIDRefs,
		Selector:      n.Spec.ForProvider.PeerIDsSelector,
		To:            reference.To{List: &NetworkList{}, Managed: &Network{}},
		Namespace:     n.GetNamespace(),
		FieldPath:     "spec.forProvider.peerIds",
	})
	if err != nil {
		return err
	}
	n.Spec.ForProvider.PeerIDs = reference.ToPtrValues(mrsp.ResolvedValues)
	n.Spec.ForProvider.PeerIDRefs = mrsp.ResolvedReferences
	return nil
}

func (n *Network) SetConditions(c ...xpv1.Condition) { n.Status.SetConditions(c...) }

func (n *Network) GetCondition(ct xpv1.ConditionType) xpv1.Condition {
	return n.Status.GetCondition(ct)
}

func (n *Network) SetManagementPolicies(p xpv1.ManagementPolicies) { n.Spec.ManagementPolicies = p }

func (n *Network) GetManagementPolicies() xpv1.ManagementPolicies { return n.Spec.ManagementPolicies }

// DeepCopyObject copies what the tests change.
func (n *Network) DeepCopyObject() runtime.Object {
	out := *n
	n.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	return &out
}

// DeepCopyObject copies what the tests change.
func (r *Room) DeepCopyObject() runtime.Object {
	return &Room{Network: *r.Network.DeepCopyObject().(*Network)}
}

// DeepCopyObject copies what the tests change.
func (l *NetworkList) DeepCopyObject() runtime.Object {
	out := &NetworkList{TypeMeta: l.TypeMeta, ListMeta: l.ListMeta}
	for i := range l.Items {
		out.Items = append(out.Items, *l.Items[i].DeepCopyObject().(*Network))
	}
	return out
}

// DeepCopyObject copies what the tests change.
func (l *RoomList) DeepCopyObject() runtime.Object {
	out := &RoomList{TypeMeta: l.TypeMeta, ListMeta: l.ListMeta}
	for i := range l.Items {
		out.Items = append(out.Items, l.Items[i].DeepCopyObject().(*Room))
	}
	return out
}

func scheme() *runtime.Scheme {
	s := runtime.NewScheme()
	s.AddKnownTypes(group, &Network{}, &NetworkList{}, &Room{}, &RoomList{})
	metav1.AddToGroupVersion(s, group)
	if err := corev1.AddToScheme(s); err != nil {
		panic(err)
	}
	return s
}

func crds() []*apiextensionsv1.CustomResourceDefinition {
	return []*apiextensionsv1.CustomResourceDefinition{
		crd("Network", "network", apiextensionsv1.ClusterScoped),
		crd("Room", "room", apiextensionsv1.NamespaceScoped),
	}
}

func crd(kind, singular string, scope apiextensionsv1.ResourceScope) *apiextensionsv1.CustomResourceDefinition {
	open := true
	object := apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: &open}
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: singular + "s." + group.Group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: group.Group,
			Scope: scope,
			Names: apiextensionsv1.CustomResourceDefinitionNames{
				Kind: kind, ListKind: kind + "List", Plural: singular + "s", Singular: singular,
			},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: group.Version, Served: true, Storage: true,
				Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type:       "object",
					Properties: map[string]apiextensionsv1.JSONSchemaProps{"spec": object, "status": object},
				}},
			}},
		},
	}
}

// One field of a kind resolves its reference. A value that is there is kept, without reading.
func ExampleAPIResolver() {
	var c client.Reader // the reader that ResolveReferences is given
	subnet := &Room{}
	rsp, err := reference.NewAPIResolver(c, subnet).Resolve(context.Background(), reference.ResolutionRequest{
		CurrentValue: "net-0123",
		Reference:    &xpv1.Reference{Name: "net-a"},
		To:           reference.To{Managed: &Network{}, List: &NetworkList{}},
		Extract:      reference.ExternalName(),
		FieldPath:    "spec.forProvider.networkId",
	})
	fmt.Println(rsp.ResolvedValue, err)
	// Output: net-0123 <nil>
}

// What a user reads in the condition of an object whose reference waits.
func ExampleUnresolvedError() {
	err := &reference.UnresolvedError{
		FieldPath: "spec.forProvider.networkId", Kind: "Network", Namespace: "team", Name: "net-a", Problem: "does not exist yet",
	}
	fmt.Println(err)
	fmt.Println(reference.IsUnresolved(fmt.Errorf("resolving references: %w", err)))
	// Output:
	// spec.forProvider.networkId: Network "net-a" in namespace "team" does not exist yet
	// true
}

// A reconciler resolves through the tracker, and wakes whom an informer's events concern.
func ExampleTracker() {
	var (
		c       client.Client // the manager's
		tracker = reference.NewTracker(nil)
		subnet  = &Network{}
		self    = reference.Dependent{Kind: networkKind, Name: types.NamespacedName{Name: "subnet-a"}}
	)
	recorder := tracker.Recorder(self, c)
	err := subnet.ResolveReferences(context.Background(), recorder)
	recorder.Done(err)

	arrived := &Network{}
	for _, dependent := range tracker.Handle(networkKind, nil, arrived) {
		fmt.Println("enqueue", dependent.Name)
	}
	tracker.Forget(self) // when the object is gone
	// Output:
}
