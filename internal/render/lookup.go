package render

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/tidelock/tidelock/api/v1alpha1"
	"github.com/tidelock/tidelock/internal/desired"
)

// index finds what manifests of ours refer to.
type index struct {
	// decoded are the resources of ours: nil where one is declared but refused.
	decoded map[desired.ID]any
	// objects are the manifests of all other kinds.
	objects map[desired.ID]manifest
	// workloads are those of objects that run pods, by namespace.
	workloads map[string][]workload
	services  map[desired.Key]service
}

// workload is what runs pods with these labels.
type workload struct {
	podLabels labels.Set
	// idle is set where no pod is asked for.
	idle bool
}

// service is a Service of the repository.
type service struct {
	corev1.ServiceSpec
	manifest manifest
}

func newIndex(others []manifest) index {
	ix := index{
		decoded:   map[desired.ID]any{},
		objects:   make(map[desired.ID]manifest, len(others)),
		workloads: map[string][]workload{},
		services:  map[desired.Key]service{},
	}
	for _, m := range others {
		ix.objects[m.ID] = m
		if w, ok := workloadOf(m); ok {
			ix.workloads[m.Namespace] = append(ix.workloads[m.Namespace], w)
		}
	}
	return ix
}

func workloadOf(m manifest) (workload, bool) {
	scaled := m.Group == "apps" && (m.Kind == "Deployment" || m.Kind == "StatefulSet" || m.Kind == "ReplicaSet")
	if !scaled && (m.Group != "apps" || m.Kind != "DaemonSet") {
		return workload{}, false
	}
	podLabels, _, err := unstructured.NestedStringMap(m.content.Object, "spec", "template", "metadata", "labels")
	if err != nil {
		return workload{}, false // the API server says what is wrong with it
	}
	replicas, set, _ := unstructured.NestedFieldNoCopy(m.content.Object, "spec", "replicas")
	n, isNumber := asNumber(replicas)
	return workload{podLabels: podLabels, idle: scaled && set && isNumber && n == 0}, true
}

// find returns a resource of ours. declared says whether it is in the repository; ok, whether it could be decoded.
func find[Spec any](c *commit, kind string, key desired.Key) (r resource[Spec], declared, ok bool) {
	v, declared := c.decoded[ourID(kind, key)]
	r, ok = v.(resource[Spec])
	return r, declared, ok
}

func ourID(kind string, key desired.Key) desired.ID {
	return desired.ID{Group: v1alpha1.Group, Kind: kind, Namespace: key.Namespace, Name: key.Name}
}

// didYouMeanOur returns a hint at the resource of ours whose name is nearest to a wrong one, in the same namespace.
func (ix index) didYouMeanOur(kind string, key desired.Key) string {
	var names []string
	for id := range ix.decoded {
		if id.Kind == kind && id.Namespace == key.Namespace {
			names = append(names, id.Name)
		}
	}
	return didYouMean(key.Name, names)
}

// service returns a Service of the repository; false where there is none of that name.
func (ix index) service(key desired.Key) (service, bool, error) {
	if s, ok := ix.services[key]; ok {
		return s, true, nil
	}
	m, ok := ix.objects[desired.ID{Kind: "Service", Namespace: key.Namespace, Name: key.Name}]
	if !ok {
		return service{}, false, nil
	}
	var typed corev1.Service
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(m.content.Object, &typed); err != nil {
		return service{}, true, fmt.Errorf("read Service %s (%s): %w", key, m.origin, err)
	}
	s := service{ServiceSpec: typed.Spec, manifest: m}
	ix.services[key] = s
	return s, true, nil
}

// idle says whether the repository asks for no pod behind a selector: some workload matches, and all that do have replicas 0.
func (ix index) idle(namespace string, selector map[string]string) bool {
	if len(selector) == 0 {
		return false
	}
	want, matched := labels.SelectorFromSet(selector), false
	for _, w := range ix.workloads[namespace] {
		if !want.Matches(w.podLabels) {
			continue
		}
		if !w.idle {
			return false
		}
		matched = true
	}
	return matched
}

// tcpPorts returns the ports of a Service that HTTP can be spoken on.
func (s service) tcpPorts() []corev1.ServicePort {
	return slices.DeleteFunc(slices.Clone(s.Ports), func(p corev1.ServicePort) bool {
		return p.Protocol != "" && p.Protocol != corev1.ProtocolTCP
	})
}
