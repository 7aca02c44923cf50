package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
)

// ThingParameters are the settings of a thing.
// https://example.org/things
type ThingParameters struct {
	// OtherID of another thing.
	// +crossplane:generate:reference:type=Thing
	// +optional
	OtherID *string `json:"otherId,omitempty"`

	// NumberOf another thing.
	// +crossplane:generate:reference:type=Thing
	// +optional
	NumberOf *int64 `json:"numberOf,omitempty"`

	// FriendIDs of other things.
	// +crossplane:generate:reference:type=Nobody
	// +optional
	FriendIDs []string `json:"friendIds,omitempty"`

	// FriendIDRefs name the Things.
	// +optional
	FriendIDRefs []xpv1.Reference `json:"friendIdRefs,omitempty"`

	// FriendIDSelector chooses the Things.
	// +optional
	FriendIDSelector *xpv1.Selector `json:"friendIdSelector,omitempty"`

	// RivalID of another thing.
	// +crossplane:generate:reference:type=Thing
	// +optional
	RivalID *string `json:"rivalId,omitempty"`

	// RivalIDRef names the Thing.
	// +optional
	RivalIDRef *xpv1.NamespacedReference `json:"rivalIdRef,omitempty"`

	// RivalIDSelector chooses the Thing.
	// +optional
	RivalIDSelector *xpv1.Selector `json:"rivalIdSelector,omitempty"`
}

// ThingObservation is what is reported of a thing.
type ThingObservation struct {
	// ID of the thing.
	ID string `json:"id,omitempty"`
}

// A Thing is a thing.
//
// +kubebuilder:object:root=true
// +bowline:scopes=Cluster,Namespaced
type Thing struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ThingSpec   `json:"spec"`
	Status ThingStatus `json:"status,omitempty"`
}
