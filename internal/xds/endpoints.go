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
	// ready and leaving are addresses: those that answer, and those that still do although they are told to end.
	ready, leaving []string
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
			switch c := e.Conditions; {
			case c.Ready == nil || *c.Ready:
				out.ready = append(out.ready, e.Addresses...)
			case c.Serving != nil && *c.Serving && c.Terminating != nil && *c.Terminating:
				out.leaving = append(out.leaving, e.Addresses...)
			}
		}
	}
	return item[slice]{name: s.Name, owner: s.Labels[discoveryv1.LabelServiceName], value: out}, true
}

// endpoints returns those of one port of a Service, from all its slices; false where it has no such port.
func (s service) endpoints(port uint32, from map[string]item[slice]) (EndpointSet, bool) {
	name, found := s.ports[port]
	if !found {
		return EndpointSet{}, false
	}
	return EndpointSet{
		Ready:   s.pick(name, from, func(s slice) []string { return s.ready }),
		Leaving: s.pick(name, from, func(s slice) []string { return s.leaving }),
	}, true
}

// pick returns some addresses of all slices, with the number that a port has in each. Of a Service with two address families
// every pod is in the slices of both: those of its first family are taken, unless only the other has any.
func (s service) pick(port string, from map[string]item[slice], addresses func(slice) []string) []Endpoint {
	var first, other []Endpoint
	for _, it := range from {
		number, found := it.value.ports[port]
		if !found {
			continue
		}
		for _, address := range addresses(it.value) {
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
	return slices.Compact(first)
}

func sameEndpoints(a, b EndpointSet) bool {
	return slices.Equal(a.Ready, b.Ready) && slices.Equal(a.Leaving, b.Leaving)
}
