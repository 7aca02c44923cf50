// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package connection

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/internal/objects"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// A Publisher reads and writes the connection Secrets of the managed resources of one kind: each in the Secret that the
// object names in spec.writeConnectionSecretToRef, and owned by the object.
type Publisher struct {
	Client client.Client // whose cache has connection Secrets
	Live   client.Reader // past the cache
	Owner  schema.GroupVersionKind
}

// foreignError reports that the connection Secret that an object names does not belong to it.
type foreignError struct{ secret *corev1.Secret }

func (e *foreignError) Error() string {
	owner, do := "", "or delete it"
	if c := metav1.GetControllerOf(e.secret); c != nil {
		owner = fmt.Sprintf(", but to %s %q with UID %s", c.Kind, c.Name, c.UID)
		do = "or delete that object, if it still exists, and the Secret"
	}
	if meta.WasDeleted(e.secret) {
		do = "or wait until its deletion finishes"
		if held := e.secret.Finalizers; len(held) > 0 {
			do = fmt.Sprintf("or wait until its deletion finishes, which finalizers delay (%s); in-use.crossplane.io/provider-config is removed "+
				"once no ProviderConfig in use has its credentials there", strings.Join(held, ", "))
		}
	}
	return fmt.Sprintf("secret %s/%s exists and does not belong to this object%s: name another one in writeConnectionSecretToRef, %s",
		e.secret.Namespace, e.secret.Name, owner, do)
}

// IsForeign is true for the error of a Publisher about a Secret that belongs to another object.
func IsForeign(err error) bool {
	_, ok := errors.AsType[*foreignError](err)
	return ok
}

// Get returns the connection Secret of an object as a reader has it, nil if the object names none or there is none. Callers must
// not change it, since a cache shares it. See IsForeign for one that belongs to another object (R214).
func (s Publisher) Get(ctx context.Context, from client.Reader, mg resource.Managed) (*corev1.Secret, error) {
	ref, wanted := resource.ConnectionSecretReference(mg)
	if !wanted {
		return nil, nil
	}
	have := &corev1.Secret{}
	err := from.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, have, client.UnsafeDisableDeepCopy)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err == nil && !metav1.IsControlledBy(have, mg) {
		err = &foreignError{have}
	}
	if err != nil {
		return nil, err
	}
	return have, nil
}

// Users returns what uses the connection Secret of an object, as a reader has it: nothing if the Secret belongs to another object.
func (s Publisher) Users(ctx context.Context, from client.Reader, mg resource.Managed) ([]string, error) {
	secret, err := s.Get(ctx, from, mg)
	if secret == nil {
		return nil, resource.Ignore(IsForeign, err)
	}
	return meta.UsersOf(secret), nil
}

// Publish adds details and annotations to the connection Secret of an object and returns it, nil if the object names none, or if
// there is neither a Secret nor anything to store. Other keys of the Secret stay (R206 to R210). It writes nothing if all are there
// already (R220). have is the Secret as last written, nil to read it.
func (s Publisher) Publish(
	ctx context.Context, mg resource.Managed, have *corev1.Secret, details map[string][]byte, annotations map[string]string,
) (_ *corev1.Secret, err error) {
	if _, wanted := resource.ConnectionSecretReference(mg); !wanted {
		return nil, nil
	}
	if have == nil {
		if have, err = s.Get(ctx, s.Client, mg); err != nil {
			return nil, err
		}
	}
	written, err := s.write(ctx, mg, have, details, annotations)
	if apierrors.IsAlreadyExists(err) || apierrors.IsConflict(err) || apierrors.IsNotFound(err) && have != nil { // the cache was behind
		fresh, err := s.Get(ctx, s.Live, mg)
		if err != nil {
			return nil, err
		}
		if have != nil && fresh != nil && meta.GetCredentialsRotatedAt(fresh).After(meta.GetCredentialsRotatedAt(have)) {
			return nil, ErrRotated
		}
		return s.write(ctx, mg, fresh, details, annotations)
	}
	return written, err
}

// ErrRotated is the error of a process that would publish former credentials.
var ErrRotated = errors.New("another process rotated the credentials meanwhile")

func (s Publisher) write(
	ctx context.Context, mg resource.Managed, have *corev1.Secret, details map[string][]byte, annotations map[string]string,
) (*corev1.Secret, error) {
	if have != nil {
		data, marks := objects.Union(have.Data, details), objects.Union(have.Annotations, annotations)
		if maps.EqualFunc(have.Data, data, bytes.Equal) && maps.Equal(have.Annotations, marks) {
			return have, nil
		}
		changed := have.DeepCopy()
		changed.Data, changed.Annotations = data, marks
		return changed, s.patch(ctx, have, changed)
	}
	if len(details)+len(annotations) == 0 {
		return nil, nil
	}
	ref, _ := resource.ConnectionSecretReference(mg)
	created := &corev1.Secret{Type: xpv1.SecretTypeConnection, Data: details}
	created.Namespace, created.Name, created.Annotations = ref.Namespace, ref.Name, annotations
	created.OwnerReferences = []metav1.OwnerReference{meta.AsController(mg, s.Owner)}
	return created, s.Client.Create(ctx, created)
}

// patch changes a Secret, unless it changed meanwhile or is immutable, which cannot be undone.
func (s Publisher) patch(ctx context.Context, have, changed *corev1.Secret) error {
	if ptr.Deref(have.Immutable, false) && !maps.EqualFunc(have.Data, changed.Data, bytes.Equal) {
		return fmt.Errorf("secret %s/%s is immutable and cannot get new content: pause the object (annotation %s: \"true\"), end its use by a "+
			"ProviderConfig, if any, which would delay its deletion, save the Secret to a file, delete it, create it again from the file without the "+
			"fields immutable, resourceVersion and uid, and end the pause", have.Namespace, have.Name,
			meta.AnnotationKeyReconciliationPaused)
	}
	return s.Client.Patch(ctx, changed, client.MergeFromWithOptions(have, client.MergeFromWithOptimisticLock{}))
}

// AnnotationKeySecret on a managed resource is namespace and name of the Secret that has its connection details, which is the former one after
// the object named another, until that has all of them. An owner reference proves nothing, since users can write one.
const AnnotationKeySecret = "bowline.dev/connection-secret"

// Recorded returns the Secret that AnnotationKeySecret names, and whether it is the one that the object names in its spec, or there is none.
func Recorded(mg resource.Managed) (at types.NamespacedName, current bool) {
	ref, wanted := resource.ConnectionSecretReference(mg)
	at.Namespace, at.Name, _ = strings.Cut(mg.GetAnnotations()[AnnotationKeySecret], "/")
	return at, !wanted || at == types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}
}

// Record writes AnnotationKeySecret with the Secret that a managed resource names, if it does.
func Record(o metav1.Object, mg resource.Managed) {
	if ref, wanted := resource.ConnectionSecretReference(mg); wanted {
		o.SetAnnotations(objects.Union(o.GetAnnotations(), map[string]string{AnnotationKeySecret: ref.Namespace + "/" + ref.Name}))
	}
}

// Carry gives the connection Secret of an object what the recorded one has, in one write, unless a later rotation is in it. The recorded one
// stays. It reports whether the object can record its new Secret: without a former one, once that lacks no key of the creation (N42).
func (s Publisher) Carry(ctx context.Context, mg resource.Managed) (bool, error) {
	at, _ := Recorded(mg)
	former := &corev1.Secret{}
	if at.Name != "" {
		if err := s.Live.Get(ctx, at, former); client.IgnoreNotFound(err) != nil {
			return false, fmt.Errorf("reading the former connection Secret: %w", err)
		}
	}
	if former.Type != xpv1.SecretTypeConnection || !metav1.IsControlledBy(former, mg) {
		have, err := s.Get(ctx, s.Client, mg)
		return have != nil && len(Missing(have, CreatedKeys(mg))) == 0, resource.Ignore(IsForeign, err)
	}
	marks := maps.Clone(former.Annotations)
	maps.DeleteFunc(marks, func(key, _ string) bool { return !slices.Contains(marksOfSecret, key) })
	have, err := s.Get(ctx, s.Live, mg)
	switch {
	case err != nil:
		return false, err
	case have == nil:
		_, err = s.write(ctx, mg, nil, former.Data, marks)
	case !meta.GetCredentialsRotatedAt(have).After(meta.GetCredentialsRotatedAt(former)):
		changed := have.DeepCopy()
		changed.Data, changed.Annotations = objects.Union(InUse(have.Data), former.Data), objects.Union(have.Annotations, marks)
		err = s.patch(ctx, have, changed)
	}
	return err == nil, err
}

// marksOfSecret are those of CreationMarks and RotationMarks.
var marksOfSecret = []string{meta.AnnotationKeyExternalName, meta.AnnotationKeyExternalCreatePending, meta.AnnotationKeyCredentialsRotatedAt,
	meta.AnnotationKeyCredentialsOverlap}

// CreationMarks are the annotations with which the connection Secret records the result of the creation that is pending on
// the object: the external name, and which creation it was. They are written together with the answer of Create, so that a
// crash before the object is written loses neither (N22).
func CreationMarks(mg resource.Managed) map[string]string {
	return map[string]string{
		meta.AnnotationKeyExternalName:          meta.GetExternalName(mg),
		meta.AnnotationKeyExternalCreatePending: mg.GetAnnotations()[meta.AnnotationKeyExternalCreatePending],
	}
}

// Recall returns the external name that the connection Secret recorded for the creation now pending on the object, empty if
// none, and the details of the Secret. It reads past the cache, which may be behind after a crash.
func (s Publisher) Recall(ctx context.Context, mg resource.Managed) (name string, details map[string][]byte, err error) {
	have, err := s.Get(ctx, s.Live, mg)
	if have == nil || err != nil {
		return "", nil, resource.Ignore(IsForeign, err) // the Secret of another object records nothing of our creation
	}
	const pending = meta.AnnotationKeyExternalCreatePending
	if have.Annotations[pending] != CreationMarks(mg)[pending] {
		return "", nil, nil
	}
	return have.Annotations[meta.AnnotationKeyExternalName], have.Data, nil
}

// AnnotationKeyCreatedKeys on a managed resource lists the keys of its connection Secret that the external system returned at
// creation only, separated by commas. One that the Secret lacks is reported as lost; without the annotation none is.
const AnnotationKeyCreatedKeys = "bowline.dev/created-connection-keys"

// AnyKey stands in that list for keys that are not known, since the answer was lost. No Secret has it.
const AnyKey = "*"

// Describe returns keys as messages show them.
func Describe(keys []string) string {
	return strings.ReplaceAll(strings.Join(keys, ", "), AnyKey, "whatever only the lost answer of the create contained")
}

// CreatedKeys returns the keys that AnnotationKeyCreatedKeys lists.
func CreatedKeys(o metav1.Object) []string {
	return strings.FieldsFunc(o.GetAnnotations()[AnnotationKeyCreatedKeys], func(r rune) bool { return r == ',' || r == ' ' })
}

// SetCreatedKeys writes AnnotationKeyCreatedKeys, or removes it if there are no keys.
func SetCreatedKeys(o metav1.Object, keys []string) {
	list := strings.Join(slices.Compact(slices.Sorted(slices.Values(keys))), ",")
	annotations := objects.Union(o.GetAnnotations(), map[string]string{AnnotationKeyCreatedKeys: list})
	if len(keys) == 0 {
		delete(annotations, AnnotationKeyCreatedKeys)
	}
	o.SetAnnotations(annotations)
}

// Missing returns the keys that a Secret lacks, or under which it has nothing; no Secret lacks all.
func Missing(from *corev1.Secret, keys []string) (missing []string) {
	for _, key := range keys {
		if from == nil || len(from.Data[key]) == 0 {
			missing = append(missing, key)
		}
	}
	return missing
}

// Allowed reports whether a managed resource lets targets of a namespace have its connection Secret: it is bound to a claim of
// that namespace, or lists the namespace (N27).
func Allowed(mg resource.BindableManaged, namespace string) bool {
	ref := mg.GetClaimReference()
	bound := ref != nil && ref.UID != "" && ref.Namespace == namespace && mg.GetBindingPhase() == xpv1.BindingPhaseBound
	return bound || Listed(mg, namespace)
}

// Listed reports whether annotation bowline.dev/allowed-namespaces of a managed resource lists the namespace, or "*" (N27).
func Listed(mg metav1.Object, namespace string) bool {
	for allowed := range strings.SplitSeq(mg.GetAnnotations()[meta.AnnotationKeyAllowedNamespaces], ",") {
		if allowed = strings.TrimSpace(allowed); allowed == "*" || allowed == namespace {
			return true
		}
	}
	return false
}
