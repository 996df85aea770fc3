package render

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/tidelock/tidelock/api/v1alpha1"
	"github.com/tidelock/tidelock/internal/desired"
)

// defaultServicePort is the port of a Service that is not in the repository, where a backend names none.
const defaultServicePort = 80

// backendRef is a Service or a mock that a backend or a target names.
type backendRef struct {
	desired.Key
	mock bool
	// port as it is written; 0 where it is left out.
	port int32
	// name is the field that holds the name, portField the one that holds the port.
	name, portField fieldPath
}

// upstream resolves a reference; false where it is refused.
func (c *commit) upstream(p place, ref backendRef) (desired.Upstream, bool) {
	if ref.mock {
		return c.mockUpstream(p, ref)
	}
	s, declared, err := c.service(ref.Key)
	if err != nil {
		c.refuse(p.problem(ref.name, "%v", err))
		return desired.Upstream{}, false
	}
	if declared {
		return c.serviceUpstream(p, ref, s)
	}
	if _, isMock := c.decoded[ourID(v1alpha1.KindAPIMock, ref.Key)]; isMock {
		return c.mockUpstream(p, ref)
	}
	c.warn(p.problem(ref.name, "no Service %s in the repository: requests for it are answered 503 until it exists", ref.Key))
	port := cmp.Or(ref.port, defaultServicePort)
	return desired.Upstream{Service: ref.Key, Port: uint32(port), Pending: true, Protocol: desired.HTTP1}, true //nolint:gosec // 1 to 65535 by the schema
}

func (c *commit) mockUpstream(p place, ref backendRef) (desired.Upstream, bool) {
	m, declared, ok := find[v1alpha1.APIMockSpec](c, v1alpha1.KindAPIMock, ref.Key)
	if !declared {
		c.refuse(p.problem(ref.name, "no APIMock %s in the repository%s", ref.Key,
			c.didYouMeanOur(v1alpha1.KindAPIMock, ref.Key)))
		return desired.Upstream{}, false
	}
	if !ok {
		return desired.Upstream{}, false // reported where it stands
	}
	ports := mockPorts(m.spec)
	port := cmp.Or(ref.port, ports[0].Port)
	if !hasPort(ports, port) {
		c.refuse(p.problem(ref.portField, "APIMock %s has no port %d: it has %s", ref.Key, port, portList(ports)))
		return desired.Upstream{}, false
	}
	up := mockUpstream(m)
	up.Port = uint32(port) //nolint:gosec // 1 to 65535 by the schema
	return up, true
}

// mockUpstream is the upstream of a mock's own port.
func mockUpstream(m resource[v1alpha1.APIMockSpec]) desired.Upstream {
	return desired.Upstream{
		Service: m.key(), Port: uint32(mockPorts(m.spec)[0].Port), Mock: true, //nolint:gosec // 1 to 65535 by the schema
		Idle: m.spec.Replicas != nil && *m.spec.Replicas == 0, Protocol: desired.HTTP1,
	}
}

func (c *commit) serviceUpstream(p place, ref backendRef, s service) (desired.Upstream, bool) {
	ports := s.tcpPorts()
	port := ref.port
	switch {
	case port == 0 && len(ports) == 1:
		port = ports[0].Port
	case port == 0:
		port = defaultServicePort
	}
	// A Service that stands for a name outside needs no ports of its own.
	external := s.Type == corev1.ServiceTypeExternalName
	if !hasPort(ports, port) && (!external || len(ports) > 0) {
		at := ref.name
		if ref.port != 0 {
			at = ref.portField
		}
		c.refuse(p.problem(at, "Service %s (%s) has no port %d: it has %s", ref.Key, s.manifest.origin, port, portList(ports)))
		return desired.Upstream{}, false
	}
	up := desired.Upstream{Port: uint32(port), Protocol: desired.HTTP1}
	if external {
		up.Address = strings.ToLower(strings.TrimSuffix(s.ExternalName, "."))
		return up, true
	}
	up.Service, up.Idle = ref.Key, c.idle(ref.Namespace, s.Selector)
	return up, true
}

func hasPort(ports []corev1.ServicePort, port int32) bool {
	return slices.ContainsFunc(ports, func(p corev1.ServicePort) bool { return p.Port == port })
}

// portList returns "80 (http), 443 (https)".
func portList(ports []corev1.ServicePort) string {
	if len(ports) == 0 {
		return "none for TCP"
	}
	texts := make([]string, len(ports))
	for i, p := range ports {
		texts[i] = strconv.Itoa(int(p.Port))
		if p.Name != "" {
			texts[i] += fmt.Sprintf(" (%s)", p.Name)
		}
	}
	return strings.Join(texts, ", ")
}
