package render

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// newRemoved says of each API that Kubernetes has removed what to write instead.
func newRemoved() map[schema.GroupVersionKind]string {
	out := map[schema.GroupVersionKind]string{}
	for _, row := range removedAPIs() {
		for version := range strings.FieldsSeq(row.versions) {
			for kind := range strings.FieldsSeq(row.kinds) {
				advice := row.advice
				if advice == "" {
					advice = "write it as " + row.successor
				}
				gvk := schema.GroupVersionKind{Group: row.group, Version: version, Kind: kind}
				out[gvk] = fmt.Sprintf("%s/%s %s was removed from Kubernetes %s: %s", row.group, version, kind, row.since, advice)
			}
		}
	}
	return out
}

// removedRow is a line of the table of removed APIs.
type removedRow struct {
	group, versions, kinds string
	// since is the release without it.
	since string
	// successor is the apiVersion to write; where there is none, advice says what to do.
	successor, advice string
}

// removedAPIs is the table of https://kubernetes.io/docs/reference/using-api/deprecation-guide/.
func removedAPIs() []removedRow {
	const psp = "label the namespace for Pod Security Admission (pod-security.kubernetes.io/enforce)"
	rows := []removedRow{
		{group: "extensions", versions: "v1beta1", kinds: "DaemonSet Deployment ReplicaSet", since: "1.16", successor: "apps/v1"},
		{group: "extensions", versions: "v1beta1", kinds: "NetworkPolicy", since: "1.16", successor: "networking.k8s.io/v1"},
		{group: "extensions", versions: "v1beta1", kinds: "Ingress", since: "1.22", successor: "networking.k8s.io/v1"},
		{group: "extensions", versions: "v1beta1", kinds: "PodSecurityPolicy", since: "1.16", advice: psp},
		{group: "policy", versions: "v1beta1", kinds: "PodSecurityPolicy", since: "1.25", advice: psp},
		{
			group: "apps", versions: "v1beta1 v1beta2", kinds: "ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet",
			since: "1.16", successor: "apps/v1",
		},
		{
			group: "settings.k8s.io", versions: "v1alpha1", kinds: "PodPreset", since: "1.20",
			advice: "set the values in the pod templates",
		},
	}
	for line := range strings.SplitSeq(strings.TrimSpace(movedAPIs), "\n") {
		f := strings.Split(line, " | ")
		rows = append(rows, removedRow{group: f[0], versions: f[1], kinds: f[2], since: f[3], successor: f[0] + "/" + f[4]})
	}
	return rows
}

// movedAPIs are those whose successor is a later version of the same group: group | versions | kinds | since | version.
const movedAPIs = `
admissionregistration.k8s.io | v1beta1 | MutatingWebhookConfiguration ValidatingWebhookConfiguration | 1.22 | v1
apiextensions.k8s.io | v1beta1 | CustomResourceDefinition | 1.22 | v1
apiregistration.k8s.io | v1beta1 | APIService | 1.22 | v1
autoscaling | v2beta1 | HorizontalPodAutoscaler | 1.25 | v2
autoscaling | v2beta2 | HorizontalPodAutoscaler | 1.26 | v2
batch | v1beta1 | CronJob | 1.25 | v1
batch | v2alpha1 | CronJob ScheduledJob | 1.21 | v1
certificates.k8s.io | v1beta1 | CertificateSigningRequest | 1.22 | v1
coordination.k8s.io | v1beta1 | Lease | 1.22 | v1
discovery.k8s.io | v1beta1 | EndpointSlice | 1.25 | v1
events.k8s.io | v1beta1 | Event | 1.25 | v1
flowcontrol.apiserver.k8s.io | v1beta1 | FlowSchema PriorityLevelConfiguration | 1.26 | v1
flowcontrol.apiserver.k8s.io | v1beta2 | FlowSchema PriorityLevelConfiguration | 1.29 | v1
flowcontrol.apiserver.k8s.io | v1beta3 | FlowSchema PriorityLevelConfiguration | 1.32 | v1
networking.k8s.io | v1beta1 | Ingress IngressClass | 1.22 | v1
node.k8s.io | v1alpha1 v1beta1 | RuntimeClass | 1.25 | v1
policy | v1beta1 | PodDisruptionBudget | 1.25 | v1
rbac.authorization.k8s.io | v1alpha1 v1beta1 | ClusterRole ClusterRoleBinding Role RoleBinding | 1.22 | v1
scheduling.k8s.io | v1alpha1 v1beta1 | PriorityClass | 1.22 | v1
storage.k8s.io | v1beta1 | CSIDriver CSINode StorageClass VolumeAttachment | 1.22 | v1
storage.k8s.io | v1beta1 | CSIStorageCapacity | 1.27 | v1
`
