package render

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tidelock/tidelock/api/v1alpha1"
	"github.com/tidelock/tidelock/internal/desired"
)

// reference is one ConfigMap or Secret that a pod template names.
type reference struct {
	at       fieldPath
	kind     string
	name     string
	optional bool
	// elsewhere is set where it is usual that something else makes it (image pull secrets).
	elsewhere bool
}

// checkReferences refuses references that kustomize left behind when it renamed what they name, and points out those to
// what nothing in the commit declares: a Job or another tool may make it.
func (r *run) checkReferences(items []item) {
	declared := make(map[desired.ID]bool, len(items))
	for _, it := range items {
		if it.Kind == "ConfigMap" || it.Kind == "Secret" {
			declared[it.ID] = true
		}
	}
	for _, it := range items {
		for _, ref := range referencesOf(it) {
			if declared[desired.ID{Kind: ref.kind, Namespace: it.Namespace, Name: ref.name}] {
				continue
			}
			if it.from != nil && slices.Contains(it.from.renamed[ref.kind], ref.name) {
				r.problems = append(r.problems, it.problem(ref.at, "%s", leftBehind(items, it, ref)))
				continue
			}
			if ref.optional || ref.elsewhere || ref.name == "kube-root-ca.crt" {
				continue
			}
			r.warnings = append(r.warnings, it.problem(ref.at, "no %s %q in namespace %s is declared here: pods wait until "+
				"something else makes it", ref.kind, ref.name, it.Namespace))
		}
	}
}

func leftBehind(items []item, it item, ref reference) string {
	name := ""
	i := slices.IndexFunc(items, func(other item) bool {
		return other.from == it.from && other.Kind == ref.kind && strings.Contains(other.Name, ref.name)
	})
	if i >= 0 {
		name = fmt.Sprintf(" (%s in namespace %s)", items[i].Name, items[i].Namespace)
	}
	return fmt.Sprintf("no %s %q in namespace %s: kustomize gave it another name%s and did not follow it here: set the same "+
		"namespace for both in one kustomization", ref.kind, ref.name, it.Namespace, name)
}

// referencesOf returns what the pod template of a workload names.
func referencesOf(it item) []reference {
	var at fieldPath
	switch {
	case it.Group == "" && it.Kind == "Pod":
		at = field("spec")
	case it.Group == "batch" && it.Kind == "CronJob":
		at = field("spec", "jobTemplate", "spec", "template", "spec")
	case it.Group == "apps", it.Group == "batch", it.Kind == "ReplicationController":
		at = field("spec", "template", "spec")
	case it.Group == v1alpha1.Group && it.Kind == v1alpha1.KindAt:
		refs := inContainer(valueAt(it.content.Object, "spec"), field("spec"))
		return append(refs, inPod(it, field("spec", "template", "spec"))...)
	default:
		return nil
	}
	return inPod(it, at)
}

func inPod(it item, at fieldPath) []reference {
	pod := valueAt(it.content.Object, keys(at)...)
	var refs []reference
	for _, name := range []string{"initContainers", "containers", "ephemeralContainers"} {
		for i, c := range listAt(pod, name) {
			refs = append(refs, inContainer(c, at.child(name, i))...)
		}
	}
	for i, v := range listAt(pod, "volumes") {
		f := at.child("volumes", i)
		refs = referenceIn(refs, "ConfigMap", v, f, "configMap", "name")
		refs = referenceIn(refs, "Secret", v, f, "secret", "secretName")
		volume, _ := v.(map[string]any)
		for j, s := range listAt(volume["projected"], "sources") {
			refs = referenceIn(refs, "ConfigMap", s, f.child("projected", "sources", j), "configMap", "name")
			refs = referenceIn(refs, "Secret", s, f.child("projected", "sources", j), "secret", "name")
		}
	}
	for i, s := range listAt(pod, "imagePullSecrets") {
		m, _ := s.(map[string]any)
		if name := textAt(m, "name"); name != "" {
			f := at.child("imagePullSecrets", i, "name")
			refs = append(refs, reference{at: f, kind: "Secret", name: name, elsewhere: true})
		}
	}
	return refs
}

func inContainer(c any, at fieldPath) []reference {
	var refs []reference
	for i, e := range listAt(c, "env") {
		m, _ := e.(map[string]any)
		f := at.child("env", i, "valueFrom")
		refs = referenceIn(refs, "ConfigMap", m["valueFrom"], f, "configMapKeyRef", "name")
		refs = referenceIn(refs, "Secret", m["valueFrom"], f, "secretKeyRef", "name")
	}
	for i, e := range listAt(c, "envFrom") {
		refs = referenceIn(refs, "ConfigMap", e, at.child("envFrom", i), "configMapRef", "name")
		refs = referenceIn(refs, "Secret", e, at.child("envFrom", i), "secretRef", "name")
	}
	return refs
}

// referenceIn adds the reference in v at the keys outer and inner, where there is one.
func referenceIn(refs []reference, kind string, v any, at fieldPath, outer, inner string) []reference {
	m, _ := v.(map[string]any)
	name := textAt(m, outer, inner)
	if name == "" {
		return refs
	}
	optional, _ := valueAt(m, outer, "optional").(bool)
	return append(refs, reference{at: at.child(outer, inner), kind: kind, name: name, optional: optional})
}

func listAt(v any, key string) []any {
	m, _ := v.(map[string]any)
	list, _ := m[key].([]any)
	return list
}
