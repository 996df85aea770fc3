package xds

// Exchange counts what was exchanged with proxies about one type since the server exists.
type Exchange struct {
	// Type is "Cluster", "RouteConfiguration" and so on.
	Type string
	// Answers that went out, and the bytes of their resources.
	Answers, Bytes uint64
	// ACKs and NACKs that came back.
	ACKs, NACKs uint64
}

// Exchanges returns what was exchanged about each type that is served, in the order of ADS.
func (s *Server) Exchanges() []Exchange {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Exchange, 0, len(served()))
	for _, typeURL := range served() {
		e := Exchange{Type: kindOf(typeURL)}
		if counted := s.exchanged[typeURL]; counted != nil {
			e = *counted
		}
		out = append(out, e)
	}
	return out
}

// exchange returns the counts of one of the types that are served.
func (s *Server) exchange(typeURL string) *Exchange {
	e := s.exchanged[typeURL]
	if e == nil {
		e = &Exchange{Type: kindOf(typeURL)}
		s.exchanged[typeURL] = e
	}
	return e
}
