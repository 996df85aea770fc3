package xds

import (
	"maps"
	"time"
)

// retries is how long after each refusal the same content is offered once more: a proxy may refuse for a reason that passes,
// a port in use. After the last one, only other content or a proxy that starts anew brings another try.
func retries() []time.Duration {
	return []time.Duration{time.Minute, 5 * time.Minute, 15 * time.Minute}
}

// content is one version of a type, whoever refused it.
type content struct{ typeURL, version string }

// retry is how often a refused content was offered again, and the timer of the next time.
type retry struct {
	tries int
	timer *time.Timer
}

// retryLater has refused content offered again after a while. One timer serves all proxies that refuse it.
func (s *Server) retryLater(g *group, c content) {
	r := g.retries[c]
	if r == nil {
		r = &retry{}
		g.retries[c] = r
	}
	if r.timer != nil || r.tries == len(retries()) {
		return
	}
	r.timer = time.AfterFunc(retries()[r.tries], func() { s.again(g, c, r) })
	r.tries++
}

// again forgets that content was refused, so that the next look offers it.
func (s *Server) again(g *group, c content, r *retry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || g.retries[c] != r {
		return
	}
	r.timer = nil
	maps.DeleteFunc(g.refused, func(_ refuser, x Rejection) bool { return c == content{x.TypeURL, x.Version} })
	g.goal, g.against = g.target, nil
	s.tell(g)
}

// endRetries forgets the retries of content that nobody refuses any more, or all.
func (g *group) endRetries(all bool) {
	refused := map[content]bool{}
	for _, r := range g.refused {
		refused[content{r.TypeURL, r.Version}] = true
	}
	for c, r := range g.retries {
		if refused[c] && !all {
			continue
		}
		if r.timer != nil {
			r.timer.Stop()
		}
		delete(g.retries, c)
	}
}
