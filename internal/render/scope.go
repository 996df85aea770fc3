package render

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tidelock/tidelock/api/v1alpha1"
)

// defaultNamespace is where an object goes that names none, as with kubectl.
const defaultNamespace = "default"

// scopes says which kinds are namespaced. A kind that is neither built into Kubernetes, nor ours, nor defined in the commit
// is absent: only the cluster knows.
type scopes map[schema.GroupKind]bool

func newScopes(items []item) scopes {
	s := scopes{}
	for _, list := range []struct {
		text       string
		namespaced bool
	}{{namespacedKinds, true}, {clusterKinds, false}} {
		for line := range strings.Lines(list.text) {
			group, kinds, _ := strings.Cut(strings.TrimSpace(line), ": ")
			if group == "core" {
				group = ""
			}
			for kind := range strings.FieldsSeq(kinds) {
				s[schema.GroupKind{Group: group, Kind: kind}] = list.namespaced
			}
		}
	}
	for _, k := range kinds() {
		s[schema.GroupKind{Group: v1alpha1.Group, Kind: k.name}] = true
	}
	for _, it := range items {
		if it.Group == "apiextensions.k8s.io" && it.Kind == "CustomResourceDefinition" {
			crd := it.content.Object
			gk := schema.GroupKind{Group: textAt(crd, "spec", "group"), Kind: textAt(crd, "spec", "names", "kind")}
			s[gk] = textAt(crd, "spec", "scope") == "Namespaced"
		}
	}
	return s
}

// misnamed says how to mend an apiVersion or kind that Kubernetes' own API groups cannot have.
func (s scopes) misnamed(gk schema.GroupKind, version string) (at fieldPath, text string) {
	if gk.Group == "" && version != "v1" {
		if _, ours := s[schema.GroupKind{Group: v1alpha1.Group, Kind: gk.Kind}]; ours {
			return field("apiVersion"), "want " + v1alpha1.GroupVersion().String()
		}
		return field("apiVersion"), "want v1, or group/version"
	}
	if _, known := s[gk]; known {
		return nil, ""
	}
	for _, known := range slices.SortedFunc(maps.Keys(s), compareGroupKinds) {
		switch {
		case known.Group == gk.Group && strings.EqualFold(known.Kind, gk.Kind):
			return field("kind"), "unknown kind " + gk.Kind + ": write " + known.Kind
		case known.Kind == gk.Kind && !strings.Contains(gk.Group, "."):
			return field("apiVersion"), fmt.Sprintf("a %s is of the group %s, not of this one", gk.Kind, cmp.Or(known.Group, "core (v1)"))
		}
	}
	return nil, ""
}

func compareGroupKinds(a, b schema.GroupKind) int {
	return cmp.Or(strings.Compare(a.Group, b.Group), strings.Compare(a.Kind, b.Kind))
}

// namespace fills in the default namespace, and takes a namespace off what has none.
func (c *checked) namespace(s scopes) {
	namespaced, known := s[c.GroupKind()]
	if c.Group == v1alpha1.Group { // also where the kind is none of ours
		namespaced, known = true, true
	}
	switch {
	case !known:
	case namespaced && c.Namespace == "":
		c.Namespace = defaultNamespace
		c.metadata()["namespace"] = defaultNamespace
	case !namespaced && c.Namespace != "":
		c.warn(field("metadata", "namespace"), "left out: a %s belongs to no namespace", c.Kind)
		c.Namespace = ""
		delete(c.metadata(), "namespace")
	}
}

// confine refuses what is not in the only namespace that is allowed; "" allows all.
func (c *checked) confine(only string) {
	switch {
	case only == "" || c.Namespace == only:
	case c.Namespace == "":
		c.refuse(field("kind"), "a %s is in no namespace, and this instance is confined to %s (--namespaced): remove it, "+
			"or have an instance with rights on the cluster apply it", c.Kind, only)
	default:
		c.refuse(field("metadata", "namespace"), "%s is not %s, which this instance is confined to (--namespaced)", c.Namespace, only)
	}
}

// namespacedKinds are the kinds built into Kubernetes that live in a namespace, by group.
const namespacedKinds = `core: Binding ConfigMap Endpoints Event LimitRange PersistentVolumeClaim Pod PodTemplate ReplicationController ResourceQuota Secret Service ServiceAccount
apps: ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet
authorization.k8s.io: LocalSubjectAccessReview
autoscaling: HorizontalPodAutoscaler
batch: CronJob Job
certificates.k8s.io: PodCertificateRequest
coordination.k8s.io: Lease LeaseCandidate
discovery.k8s.io: EndpointSlice
events.k8s.io: Event
networking.k8s.io: Ingress NetworkPolicy
policy: PodDisruptionBudget
rbac.authorization.k8s.io: Role RoleBinding
resource.k8s.io: ResourceClaim ResourceClaimTemplate
storage.k8s.io: CSIStorageCapacity
`

// clusterKinds are the kinds built into Kubernetes that live in no namespace, by group.
const clusterKinds = `core: ComponentStatus Namespace Node PersistentVolume
admissionregistration.k8s.io: MutatingAdmissionPolicy MutatingAdmissionPolicyBinding MutatingWebhookConfiguration ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding ValidatingWebhookConfiguration
apiextensions.k8s.io: CustomResourceDefinition
apiregistration.k8s.io: APIService
authentication.k8s.io: SelfSubjectReview TokenReview
authorization.k8s.io: SelfSubjectAccessReview SelfSubjectRulesReview SubjectAccessReview
certificates.k8s.io: CertificateSigningRequest ClusterTrustBundle
flowcontrol.apiserver.k8s.io: FlowSchema PriorityLevelConfiguration
networking.k8s.io: IPAddress IngressClass ServiceCIDR
node.k8s.io: RuntimeClass
rbac.authorization.k8s.io: ClusterRole ClusterRoleBinding
resource.k8s.io: DeviceClass DeviceTaintRule ResourceSlice
scheduling.k8s.io: PriorityClass
storage.k8s.io: CSIDriver CSINode StorageClass VolumeAttachment VolumeAttributesClass
storagemigration.k8s.io: StorageVersionMigration
`
