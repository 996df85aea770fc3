package xds

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
)

// service is what is kept of a Service.
type service struct {
	ports  map[uint32]string // the names of its ports, by number
	family discoveryv1.AddressType
}

// slice is what is kept of an EndpointSlice.
type slice struct {
	family discoveryv1.AddressType
	ports  map[string]uint32 // by the name of the Service's port
	ready  []string          // addresses
}

func readService(obj any) (item[service], bool) {
	s, ok := obj.(*corev1.Service)
	if !ok {
		return item[service]{}, false
	}
	out := service{ports: make(map[uint32]string, len(s.Spec.Ports))}
	for _, p := range s.Spec.Ports {
		if p.Protocol == corev1.ProtocolTCP || p.Protocol == "" {
			out.ports[uint32(p.Port)] = p.Name //nolint:gosec // the API server allows 1 to 65535
		}
	}
	if len(s.Spec.IPFamilies) > 0 {
		out.family = discoveryv1.AddressType(s.Spec.IPFamilies[0])
	}
	return item[service]{name: s.Name, owner: s.Name, value: out}, true
}

func readSlice(obj any) (item[slice], bool) {
	s, ok := obj.(*discoveryv1.EndpointSlice)
	if !ok {
		return item[slice]{}, false
	}
	out := slice{family: s.AddressType, ports: make(map[string]uint32, len(s.Ports))}
	for _, p := range s.Ports {
		if p.Port == nil || p.Protocol != nil && *p.Protocol != corev1.ProtocolTCP {
			continue
		}
		name := ""
		if p.Name != nil {
			name = *p.Name
		}
		out.ports[name] = uint32(*p.Port) //nolint:gosec // the API server allows 1 to 65535
	}
	if s.AddressType == discoveryv1.AddressTypeIPv4 || s.AddressType == discoveryv1.AddressTypeIPv6 {
		for _, e := range s.Endpoints {
			// An unknown state counts as ready; one that is terminating is not.
			if e.Conditions.Ready == nil || *e.Conditions.Ready {
				out.ready = append(out.ready, e.Addresses...)
			}
		}
	}
	return item[slice]{name: s.Name, owner: s.Labels[discoveryv1.LabelServiceName], value: out}, true
}

// ready returns the endpoints of one port of a Service, from all its slices; false where it has no such port. Of a Service
// with two address families every pod is in the slices of both: those of its first family are taken, unless only the other
// has any.
func (s service) ready(port uint32, from map[string]item[slice]) (EndpointSet, bool) {
	name, found := s.ports[port]
	if !found {
		return EndpointSet{}, false
	}
	var first, other []Endpoint
	for _, it := range from {
		number, found := it.value.ports[name]
		if !found {
			continue
		}
		for _, address := range it.value.ready {
			e := Endpoint{Address: address, Port: number}
			if s.family == "" || s.family == it.value.family {
				first = append(first, e)
			} else {
				other = append(other, e)
			}
		}
	}
	if len(first) == 0 {
		first = other
	}
	slices.SortFunc(first, Endpoint.compare)
	return EndpointSet{Ready: slices.Compact(first)}, true
}

func sameEndpoints(a, b EndpointSet) bool { return slices.Equal(a.Ready, b.Ready) }
