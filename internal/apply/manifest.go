package apply

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tidelock/tidelock/api/v1alpha1"
	"github.com/tidelock/tidelock/internal/desired"
)

// The names under which we write. The dry run of an object that we have not met has a name of its own, so that it shows
// whose the object is: it takes nothing away from what our own field manager may have set in another instance's name.
const (
	manager      = client.FieldOwner(v1alpha1.ManagedBy)
	probeManager = client.FieldOwner(v1alpha1.ManagedBy + "-preflight")
)

// content returns the part of a manifest that is applied, as a copy: without status and what only the server sets, and
// with a Secret's stringData in data (as a write-only field it would leave its keys behind when they go).
func content(o desired.Object) (*unstructured.Unstructured, error) {
	u := o.Content.DeepCopy()
	delete(u.Object, "status")
	for _, f := range []string{"managedFields", "resourceVersion", "uid", "creationTimestamp", "generation", "selfLink"} {
		unstructured.RemoveNestedField(u.Object, "metadata", f)
	}
	// Allows to take a live object from its owner; applied from here, it would allow the owner to take it back.
	unstructured.RemoveNestedField(u.Object, "metadata", "annotations", v1alpha1.AnnotationAdopt)
	if isSecret(o.GroupKind()) {
		return u, foldStringData(u)
	}
	return u, nil
}

func foldStringData(u *unstructured.Unstructured) error {
	plain, found, err := unstructured.NestedMap(u.Object, "stringData")
	if err != nil || !found {
		return err
	}
	data, _, err := unstructured.NestedMap(u.Object, "data")
	if err != nil {
		return err
	}
	if data == nil {
		data = map[string]any{}
	}
	for k, v := range plain {
		s, ok := v.(string)
		if !ok {
			return fmt.Errorf("stringData.%s: want a string, got a %T", k, v)
		}
		data[k] = base64.StdEncoding.EncodeToString([]byte(s))
	}
	delete(u.Object, "stringData")
	u.Object["data"] = data
	return nil
}

// digestOf returns the digest of what is applied. Maps are written sorted, so equal content gives an equal digest.
func digestOf(u *unstructured.Unstructured) (string, error) {
	b, err := json.Marshal(u.Object)
	if err != nil {
		return "", fmt.Errorf("encode %s %s: %w", u.GetKind(), u.GetName(), err)
	}
	return shortHash(b), nil
}

func shortHash(b []byte) string {
	const bytes = 16
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:bytes])
}

// stamp puts our labels and the digest on an object's own metadata; selectors and pod templates are left alone.
func stamp(u *unstructured.Unstructured, owner, digest string) {
	labels := u.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[v1alpha1.LabelManagedBy] = v1alpha1.ManagedBy
	labels[v1alpha1.LabelOwner] = owner
	u.SetLabels(labels)
	annotations := u.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[v1alpha1.AnnotationDigest] = digest
	u.SetAnnotations(annotations)
}

// pin makes a write fail where the object is not the one that was seen.
func pin(u *unstructured.Unstructured, uid types.UID, resourceVersion string) {
	u.SetUID(uid)
	u.SetResourceVersion(resourceVersion)
}
