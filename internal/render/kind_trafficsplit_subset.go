package render

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/tidelock/tidelock/api/v1alpha1"
	"github.com/tidelock/tidelock/internal/desired"
)

// subset makes a Service for some of the pods of another, so that Kubernetes itself keeps its endpoints, and returns it as
// the upstream of a target.
func (c *commit) subset(
	s *split, t v1alpha1.Target, ref backendRef, at fieldPath,
) (desired.Upstream, bool) {
	base, declared, err := c.service(ref.Key)
	switch {
	case ref.mock:
		c.refuse(s.problem(at, "a mock has no subsets: they are for a service"))
	case err != nil:
		c.refuse(s.problem(ref.name, "%v", err))
	case !declared:
		c.refuse(s.problem(ref.name, "no Service %s in the repository: a subset is made from its selector", ref.Key))
	case len(base.Selector) == 0 || base.Type == corev1.ServiceTypeExternalName:
		c.refuse(s.problem(ref.name, "Service %s (%s) has no selector to make a subset from", ref.Key, base.manifest.origin))
	default:
		return c.subsetOf(s, t, ref, at, base)
	}
	return desired.Upstream{}, false
}

func (c *commit) subsetOf(
	s *split, t v1alpha1.Target, ref backendRef, at fieldPath, base service,
) (desired.Upstream, bool) {
	selector, ok := maps.Clone(base.Selector), c.subsetLabels(s, t, at, base)
	maps.Copy(selector, t.Subset.Labels)
	up, portOK := c.serviceUpstream(s.place, ref, base)
	if !ok || !portOK {
		return desired.Upstream{}, false
	}
	id := desired.ID{Kind: "Service", Namespace: ref.Namespace, Name: subsetName(s, t.Name, ref.Key, selector)}
	ports := base.tcpPorts()
	for i := range ports {
		ports[i].NodePort = 0
	}
	c.generate(s.place, s.source(), id, &corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: metav1.ObjectMeta{Name: id.Name, Namespace: id.Namespace, Labels: generatedLabels(s.source())},
		Spec:       corev1.ServiceSpec{ClusterIP: s.subsetIP(), Selector: selector, Ports: ports},
	})
	up.Service.Name, up.Idle = id.Name, c.idle(id.Namespace, selector)
	return up, true
}

// subsetLabels refuses labels that select nothing.
func (c *commit) subsetLabels(s *split, t v1alpha1.Target, at fieldPath, base service) bool {
	ok := true
	for _, name := range slices.Sorted(maps.Keys(t.Subset.Labels)) {
		if wrong := wrongLabel(name, t.Subset.Labels[name], base.Selector); wrong != "" {
			c.refuse(s.problem(at.child("labels", name), "%s", wrong))
			ok = false
		}
	}
	return ok
}

// subsetIP is the cluster IP that the Service of a subset asks for. Envoy asks for endpoints alone, so it takes none; not
// every Gateway knows what to do with such a Service.
func (s *split) subsetIP() string {
	if s.writes(v1alpha1.OutputGatewayAPI) {
		return ""
	}
	return corev1.ClusterIPNone
}

// wrongLabel says why a label cannot be added to a selector; "" where it can.
func wrongLabel(name, value string, selector map[string]string) string {
	other, set := selector[name]
	switch {
	case len(validation.IsQualifiedName(name)) > 0:
		return fmt.Sprintf("%q cannot be the name of a label", name)
	case len(validation.IsValidLabelValue(value)) > 0:
		return fmt.Sprintf("%q cannot be the value of a label", value)
	case set && other != value:
		return fmt.Sprintf("the Service selects %s=%s: no pod is both", name, other)
	}
	return ""
}

// subsetName returns "<service>-<target>-<hash>". What cannot be changed is part of the hash, and so is the selector: other
// labels are another Service, which comes in before the route switches to it, and the old one goes afterwards.
func subsetName(s *split, target string, base desired.Key, selector map[string]string) string {
	parts := []string{s.Split.Key.String(), target, base.String(), labels.Set(selector).String()}
	if s.subsetIP() == "" {
		parts = append(parts, "cluster IP")
	}
	return hashedName(base.Name+"-"+target, parts...)
}

// hashedName returns a DNS label of a name and a hash over parts.
func hashedName(name string, parts ...string) string {
	const digits = 8
	sum := sha256.Sum256([]byte(strings.Join(parts, "\n")))
	name = strings.ReplaceAll(strings.ToLower(name), ".", "-")
	if room := validation.DNS1035LabelMaxLength - digits - 1; len(name) > room {
		name = name[:room]
	}
	return strings.TrimRight(name, "-") + "-" + hex.EncodeToString(sum[:])[:digits]
}
