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
	r resource[v1alpha1.TrafficSplitSpec], t v1alpha1.Target, ref backendRef, at fieldPath,
) (desired.Upstream, bool) {
	base, declared, err := c.service(ref.Key)
	switch {
	case ref.mock:
		c.refuse(r.problem(at, "a mock has no subsets: they are for a service"))
	case err != nil:
		c.refuse(r.problem(ref.name, "%v", err))
	case !declared:
		c.refuse(r.problem(ref.name, "no Service %s in the repository: a subset is made from its selector", ref.Key))
	case len(base.Selector) == 0 || base.Type == corev1.ServiceTypeExternalName:
		c.refuse(r.problem(ref.name, "Service %s (%s) has no selector to make a subset from", ref.Key, base.manifest.origin))
	default:
		return c.subsetOf(r, t, ref, at, base)
	}
	return desired.Upstream{}, false
}

func (c *commit) subsetOf(
	r resource[v1alpha1.TrafficSplitSpec], t v1alpha1.Target, ref backendRef, at fieldPath, base service,
) (desired.Upstream, bool) {
	selector, ok := maps.Clone(base.Selector), true
	for _, name := range slices.Sorted(maps.Keys(t.Subset.Labels)) {
		value := t.Subset.Labels[name]
		if wrong := wrongLabel(name, value, base.Selector); wrong != "" {
			c.refuse(r.problem(at.child("labels", name), "%s", wrong))
			ok = false
		}
		selector[name] = value
	}
	up, portOK := c.serviceUpstream(r.place, ref, base)
	if !ok || !portOK {
		return desired.Upstream{}, false
	}
	id := desired.ID{Kind: "Service", Namespace: ref.Namespace, Name: subsetName(r.key(), t.Name, ref.Key, selector)}
	ports := base.tcpPorts()
	for i := range ports {
		ports[i].NodePort = 0
	}
	c.generate(r.place, r.source(), id, &corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: metav1.ObjectMeta{Name: id.Name, Namespace: id.Namespace, Labels: generatedLabels(r.source())},
		// Only its endpoints are asked for: it takes no cluster IP.
		Spec: corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone, Selector: selector, Ports: ports},
	})
	up.Service.Name, up.Idle = id.Name, c.idle(id.Namespace, selector)
	return up, true
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

// subsetName returns "<service>-<target>-<hash>". The selector is part of the hash: other labels are another Service, which
// comes in before the route switches to it, and the old one goes afterwards.
func subsetName(split desired.Key, target string, base desired.Key, selector map[string]string) string {
	const digits = 8
	text := strings.Join([]string{split.String(), target, base.String(), labels.Set(selector).String()}, "\n")
	sum := sha256.Sum256([]byte(text))
	hash := hex.EncodeToString(sum[:])[:digits]
	name := base.Name + "-" + strings.ToLower(target)
	if room := validation.DNS1035LabelMaxLength - digits - 1; len(name) > room {
		name = name[:room]
	}
	return strings.TrimRight(name, "-") + "-" + hash
}
