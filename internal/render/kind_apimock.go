package render

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/tidelock/tidelock/api/v1alpha1"
	"github.com/tidelock/tidelock/internal/desired"
	"github.com/tidelock/tidelock/internal/openapi"
)

// defaultMockImage runs the mock server where neither the mock, the repository nor the daemon names an image.
const defaultMockImage = "tidelock:latest"

// mockContainer is the name of the container in a mock's pod.
const mockContainer = "mock"

// lowerAPIMock makes the ConfigMap, Deployment and Service of a mock, all of its own name, and the route of its host.
func lowerAPIMock(ctx context.Context, c *commit, r resource[v1alpha1.APIMockSpec]) {
	before := len(c.problems)
	if len(validation.IsDNS1035Label(r.Name)) > 0 {
		c.refuse(r.problem(field("metadata", "name"), "cannot be the name of a Service: want at most %d lower case letters, "+
			"digits and hyphens, and a letter first", validation.DNS1035LabelMaxLength))
	}
	host := ""
	if r.spec.Host != "" {
		host, _ = c.host(r.place, field("spec", "host"), r.spec.Host)
	}
	if _, _, err := r.spec.Server.Delays(); err != nil {
		c.refuse(r.problem(field("spec", "server", "delay"), "%v", err))
	}
	if err := r.spec.Server.CORS.Check(); err != nil {
		c.refuse(r.problem(field("spec", "server", "cors"), "%v", err))
	}
	api := c.document(ctx, r)
	if api == nil || len(c.problems) > before {
		return
	}
	config := mockConfigMap(r, api)
	deployment, err := mockDeployment(r, config, cmp.Or(r.spec.Image, c.defaults.Image, defaultMockImage))
	if err != nil {
		c.refuse(r.problem(field("spec", "template"), "%v", err))
		return
	}
	c.generate(r.place, r.source(), desired.ID{Kind: "ConfigMap", Namespace: r.Namespace, Name: config.Name}, config)
	c.generate(r.place, r.source(), desired.ID{Group: "apps", Kind: "Deployment", Namespace: r.Namespace, Name: r.Name}, deployment)
	c.generate(r.place, r.source(), desired.ID{Kind: "Service", Namespace: r.Namespace, Name: r.Name}, mockService(r))
	if host == "" {
		return
	}
	c.addRoute(r.place, field("spec", "host"), desired.Route{
		Source: r.source(), Origin: r.origin, Force: switchForced(c, r),
		Hosts: []string{host}, Match: everyPath(),
		Backends: []desired.Backend{{Weight: 1, Upstream: mockUpstream(r)}},
	}, v1alpha1.Listener{})
}

func mockMeta(r resource[v1alpha1.APIMockSpec], name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Namespace: r.Namespace, Labels: generatedLabels(r.source())}
}

// mockSelector picks the pods of a mock: a Deployment's selector can never change, so it holds nothing that might.
func mockSelector(r resource[v1alpha1.APIMockSpec]) map[string]string {
	return map[string]string{"app.kubernetes.io/name": r.Name, "app.kubernetes.io/component": "mock"}
}

// mockConfigMap holds the document, and what the mock is told beside it, under a name that carries their hash, so that an
// edit rolls the pods. It is not marked immutable: a later release may compress the same document into other bytes.
func mockConfigMap(r resource[v1alpha1.APIMockSpec], api *described) *corev1.ConfigMap {
	const digits = 10
	out := &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		BinaryData: map[string][]byte{openapi.ConfigMapKey: api.packed},
	}
	sum := sha256.New()
	sum.Write(api.doc.JSON)
	if server, _ := json.Marshal(r.spec.Server); string(server) != "{}" { // numbers and texts: nothing in it can fail
		out.Data = map[string]string{v1alpha1.MockServerKey: string(server)}
		sum.Write(server)
	}
	out.ObjectMeta = mockMeta(r, r.Name+"-"+hex.EncodeToString(sum.Sum(nil))[:digits])
	return out
}

func mockDeployment(r resource[v1alpha1.APIMockSpec], config *corev1.ConfigMap, image string) (*appsv1.Deployment, error) {
	replicas, history := int32(1), int32(10)
	if r.spec.Replicas != nil {
		replicas = *r.spec.Replicas
	}
	pod := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: maps.Clone(mockSelector(r))},
		Spec:       mockPod(r, config, image),
	}
	if r.spec.Template != nil {
		var err error
		if pod, err = patchPod(pod, r.spec.Template.Raw, mockContainer); err != nil {
			return nil, err
		}
		for name, want := range mockSelector(r) {
			if pod.Labels[name] != want {
				return nil, fmt.Errorf("metadata.labels[%s]: must stay %q, the Service and the Deployment select by it", name, want)
			}
		}
	}
	none, one := intstr.FromInt32(0), intstr.FromInt32(1)
	return &appsv1.Deployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: mockMeta(r, r.Name),
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, RevisionHistoryLimit: &history,
			Selector: &metav1.LabelSelector{MatchLabels: mockSelector(r)},
			// No pod goes before another is ready in its place.
			Strategy: appsv1.DeploymentStrategy{
				Type:          appsv1.RollingUpdateDeploymentStrategyType,
				RollingUpdate: &appsv1.RollingUpdateDeployment{MaxUnavailable: &none, MaxSurge: &one},
			},
			Template: pod,
		},
	}, nil
}

func mockPod(r resource[v1alpha1.APIMockSpec], config *corev1.ConfigMap, image string) corev1.PodSpec {
	const folder, user, grace = "/etc/tidelock", 65532, 30
	yes, no, id, end := true, false, int64(user), int64(grace)
	args := []string{
		"mock", "--definition", folder + "/" + openapi.ConfigMapKey,
		// Proxies take a moment to learn that a pod goes; until then it goes on answering.
		"--shutdown-delay", "10s",
	}
	if config.Data != nil {
		args = append(args, "--server", folder+"/"+v1alpha1.MockServerKey)
	}
	return corev1.PodSpec{
		AutomountServiceAccountToken:  &no,
		EnableServiceLinks:            &no,
		TerminationGracePeriodSeconds: &end, // the delay, and as long again for requests in flight
		SecurityContext: &corev1.PodSecurityContext{
			RunAsNonRoot: &yes, RunAsUser: &id, RunAsGroup: &id,
			SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		},
		Containers: []corev1.Container{{
			Name: mockContainer, Image: image, ImagePullPolicy: corev1.PullIfNotPresent,
			Args: args, // its ports are the defaults of the command: v1alpha1.MockPort and v1alpha1.MockDocsPort
			Ports: []corev1.ContainerPort{
				{Name: "http", ContainerPort: v1alpha1.MockPort, Protocol: corev1.ProtocolTCP},
				{Name: "docs", ContainerPort: v1alpha1.MockDocsPort, Protocol: corev1.ProtocolTCP},
			},
			Resources:      r.spec.Resources,
			ReadinessProbe: mockProbe("/readyz"),
			LivenessProbe:  mockProbe("/healthz"),
			SecurityContext: &corev1.SecurityContext{
				AllowPrivilegeEscalation: &no, ReadOnlyRootFilesystem: &yes,
				Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
			},
			VolumeMounts: []corev1.VolumeMount{{Name: "definition", MountPath: folder, ReadOnly: true}},
		}},
		Volumes: []corev1.Volume{{Name: "definition", VolumeSource: corev1.VolumeSource{
			ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: config.Name}},
		}}},
	}
}

func mockProbe(path string) *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{
			Path: path, Port: intstr.FromString("docs"),
		}},
		PeriodSeconds: 5,
	}
}

func mockService(r resource[v1alpha1.APIMockSpec]) *corev1.Service {
	return &corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: mockMeta(r, r.Name),
		Spec: corev1.ServiceSpec{
			Type:     cmp.Or(r.spec.Service.Type, corev1.ServiceTypeClusterIP),
			Selector: mockSelector(r),
			Ports:    mockPorts(r.spec),
		},
	}
}

// mockPorts are the ports of a mock's Service: first the API, then the documentation where its port is still free.
func mockPorts(spec v1alpha1.APIMockSpec) []corev1.ServicePort {
	port := func(name string, number, target int32) corev1.ServicePort {
		return corev1.ServicePort{
			Name: name, Port: number, TargetPort: intstr.FromInt32(target), Protocol: corev1.ProtocolTCP,
		}
	}
	api := cmp.Or(spec.Service.Port, v1alpha1.MockPort)
	ports := []corev1.ServicePort{port("http", api, v1alpha1.MockPort)}
	if api != v1alpha1.MockDocsPort {
		ports = append(ports, port("docs", v1alpha1.MockDocsPort, v1alpha1.MockDocsPort))
	}
	return ports
}
