package apply

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/tidelock/tidelock/internal/desired"
)

// namedBy lists the objects of its own namespace that a workload's pods cannot start without, by its pod template:
// "ConfigMap settings", "Secret key", sorted. It takes any content: what is not as the API has it names nothing.
func namedBy(u *unstructured.Unstructured) []string {
	if !isWorkload(u.GroupVersionKind().GroupKind()) {
		return nil
	}
	var out []string
	add := func(kind string, name any) {
		if s, _ := name.(string); s != "" {
			out = append(out, kind+" "+s)
		}
	}
	pod := field(u.Object, "spec", "template", "spec")
	add("ServiceAccount", field(pod, "serviceAccountName"))
	for _, secret := range items(pod, "imagePullSecrets") {
		add("Secret", field(secret, "name"))
	}
	for _, volume := range items(pod, "volumes") {
		namedByVolume(volume, add)
	}
	for _, container := range slices.Concat(items(pod, "initContainers"), items(pod, "containers")) {
		for _, from := range items(container, "envFrom") {
			add("ConfigMap", field(from, "configMapRef", "name"))
			add("Secret", field(from, "secretRef", "name"))
		}
		for _, env := range items(container, "env") {
			add("ConfigMap", field(env, "valueFrom", "configMapKeyRef", "name"))
			add("Secret", field(env, "valueFrom", "secretKeyRef", "name"))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// namedByVolume adds what a volume is made of, and the Secrets by which those of other systems are reached.
func namedByVolume(volume any, add func(kind string, name any)) {
	add("ConfigMap", field(volume, "configMap", "name"))
	add("Secret", field(volume, "secret", "secretName"))
	add("PersistentVolumeClaim", field(volume, "persistentVolumeClaim", "claimName"))
	for _, source := range items(field(volume, "projected"), "sources") {
		add("ConfigMap", field(source, "configMap", "name"))
		add("Secret", field(source, "secret", "name"))
	}
	add("Secret", field(volume, "csi", "nodePublishSecretRef", "name"))
	add("Secret", field(volume, "azureFile", "secretName"))
	for _, system := range []string{"cephfs", "cinder", "flexVolume", "iscsi", "rbd", "scaleIO", "storageos"} {
		add("Secret", field(volume, system, "secretRef", "name"))
	}
}

// idNamed is the object that a text of namedBy stands for.
func idNamed(workload desired.ID, text string) desired.ID {
	kind, name := cutKind(text)
	return desired.ID{Kind: kind, Namespace: workload.Namespace, Name: name}
}

// field follows a path through maps; nil where it ends.
func field(v any, path ...string) any {
	for _, name := range path {
		m, _ := v.(map[string]any)
		v = m[name]
	}
	return v
}

// items returns the list at a path.
func items(v any, path ...string) []any {
	list, _ := field(v, path...).([]any)
	return list
}

// number returns the number at a path; 0 where there is none.
func number(v any, path ...string) int64 {
	switch n := field(v, path...).(type) {
	case int64:
		return n
	case float64:
		return int64(n)
	}
	return 0
}
