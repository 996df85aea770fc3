package apply

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tidelock/tidelock/internal/desired"
)

// stage is when a kind is written: what others need to exist comes first. Prunes go the other way round.
type stage int

const (
	stageNamespaces stage = iota // Namespaces and CustomResourceDefinitions
	stageDefinitions
	stageAccess    // RBAC and service accounts
	stageConfig    // what workloads read at their start
	stageInstances // custom resources
	stageWorkloads // workloads and everything that is not named here
	stageDestinations
	stageTraffic // routes of a mesh or a Gateway, after the subsets and Services that they name
	stageWebhooks
	stages
)

// stageOf returns the stage of a kind. A kind of a group that is not Kubernetes' own is a custom resource.
func stageOf(gk schema.GroupKind) stage {
	switch gk.Group {
	case "":
		return coreStage(gk.Kind)
	case "apiextensions.k8s.io":
		return stageDefinitions
	case "rbac.authorization.k8s.io":
		return stageAccess
	case "scheduling.k8s.io", "storage.k8s.io", "node.k8s.io":
		return stageConfig
	case "admissionregistration.k8s.io", "apiregistration.k8s.io":
		return stageWebhooks
	case "apps", "batch", "autoscaling", "policy", "networking.k8s.io", "discovery.k8s.io":
		return stageWorkloads
	case "networking.istio.io":
		if gk.Kind == "DestinationRule" {
			return stageDestinations
		}
		return stageTraffic
	case "gateway.networking.k8s.io":
		if strings.HasSuffix(gk.Kind, "Route") {
			return stageTraffic
		}
	}
	return stageInstances
}

func coreStage(kind string) stage {
	switch kind {
	case "Namespace":
		return stageNamespaces
	case "ServiceAccount":
		return stageAccess
	case "ConfigMap", "Secret", "LimitRange", "ResourceQuota", "PersistentVolume", "PersistentVolumeClaim":
		return stageConfig
	}
	return stageWorkloads
}

// compareStaged orders objects as they are written.
func compareStaged(a, b desired.ID) int {
	return cmp.Or(cmp.Compare(stageOf(a.GroupKind()), stageOf(b.GroupKind())), a.Compare(b))
}

// byStage splits changes that are sorted by stage, in either direction, at the stage's ends.
func byStage(changes []Change) [][]Change {
	var out [][]Change
	for len(changes) > 0 {
		first := stageOf(changes[0].GroupKind())
		n := slices.IndexFunc(changes, func(c Change) bool { return stageOf(c.GroupKind()) != first })
		if n < 0 {
			n = len(changes)
		}
		out = append(out, changes[:n])
		changes = changes[n:]
	}
	return out
}

func isNamespace(gk schema.GroupKind) bool { return gk == schema.GroupKind{Kind: "Namespace"} }

func isSecret(gk schema.GroupKind) bool { return gk == schema.GroupKind{Kind: "Secret"} }

func isJob(gk schema.GroupKind) bool { return gk == schema.GroupKind{Group: "batch", Kind: "Job"} }

func isDefinition(gk schema.GroupKind) bool {
	return gk == schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}
}

// isPrecious says that an object of this kind is pruned only where it is annotated so: its end takes others' data along.
func isPrecious(gk schema.GroupKind) bool {
	return isNamespace(gk) || isDefinition(gk) || gk == schema.GroupKind{Kind: "PersistentVolumeClaim"}
}
