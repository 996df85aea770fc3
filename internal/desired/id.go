package desired

import (
	"cmp"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// ID names one object in the cluster. The version is not part of it: the same object in autoscaling/v1 and v2 is one.
type ID struct {
	Group     string
	Kind      string
	Namespace string // empty for what is cluster-scoped
	Name      string
}

// GroupKind returns the object's type.
func (id ID) GroupKind() schema.GroupKind {
	return schema.GroupKind{Group: id.Group, Kind: id.Kind}
}

// String returns "Deployment shop/cart", or "Namespace shop"; the group is added where it is not one of Kubernetes' own.
func (id ID) String() string {
	var b strings.Builder
	b.WriteString(id.Kind)
	if strings.Contains(id.Group, ".") && !strings.HasSuffix(id.Group, ".k8s.io") && id.Group != "tidelock.dev" {
		b.WriteString("." + id.Group)
	}
	b.WriteByte(' ')
	if id.Namespace != "" {
		b.WriteString(id.Namespace + "/")
	}
	b.WriteString(id.Name)
	return b.String()
}

// Compare orders by group, kind, namespace and name.
func (id ID) Compare(o ID) int {
	return cmp.Or(
		strings.Compare(id.Group, o.Group),
		strings.Compare(id.Kind, o.Kind),
		strings.Compare(id.Namespace, o.Namespace),
		strings.Compare(id.Name, o.Name),
	)
}

// Key is a namespace and a name.
type Key struct {
	Namespace string
	Name      string
}

// String returns "namespace/name".
func (k Key) String() string { return k.Namespace + "/" + k.Name }

// Compare orders by namespace and name.
func (k Key) Compare(o Key) int {
	return cmp.Or(strings.Compare(k.Namespace, o.Namespace), strings.Compare(k.Name, o.Name))
}
