package xds

import (
	"slices"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	cachev3 "github.com/envoyproxy/go-control-plane/pkg/cache/v3"
)

// stream is one open connection of a proxy; with ADS a proxy has one, otherwise one a type.
type stream struct {
	id   int64
	node string
	// group is nil until the first request, which says who the proxy is.
	group *group
	// aggregated is set where all types come over it.
	aggregated bool
	// silentUntil is how long a proxy that comes back is given to ask for its clusters first; zero where it did.
	silentUntil time.Time
	// identity of whoever is at the other end.
	identity identity
	// request is the one that the library is working on: its cache interface does not say which stream a watch is for.
	request *discoveryv3.DiscoveryRequest
	subs    map[string]*subscription
	// again holds the types whose resources must be sent once more on request, also where the client holds them: the
	// cluster or listener that uses them was added or changed, and Envoy waits for them anew; or a name came back.
	again map[string]bool
}

// silence is how long a proxy that comes back may take for the requests that it sends at once.
const silence = 250 * time.Millisecond

// warms reports whether a proxy that came back has clusters that wait for endpoints, or may have.
func (st *stream) warms() bool {
	endpoints := st.subs[TypeEndpoint]
	return time.Now().Before(st.silentUntil) || !st.silentUntil.IsZero() && endpoints != nil && endpoints.owes()
}

// subscription is what one stream asked for within one type, what it was sent, and what it acknowledged.
type subscription struct {
	typeURL string
	question
	// watch is where the next answer goes; nil while the client owes an ACK for the last one.
	watch *watch

	// queued was handed to the library, which may still drop it in favour of a newer request.
	queued *answer
	// sent went out last, under nonce; pending until the client answers to it.
	sent    *answer
	nonce   string
	pending bool
	// commit that the last answer was made from.
	commit string
	// acked is what the client holds.
	acked *answer
	// presented is the version that a reconnecting client says it holds.
	presented string

	// since is when the client fell behind; zero where it owes nothing.
	since time.Time
	timer *time.Timer

	// last is the answer to question made of from.
	last *answer
	from *set
}

type watch struct {
	request *discoveryv3.DiscoveryRequest
	out     chan<- cachev3.Response
}

// ask replaces what the client wants, and reports whether that has a name which was not asked for before.
func (sub *subscription) ask(q question) bool {
	if slices.Equal(q.names, sub.names) && q.wildcard == sub.wildcard {
		return false
	}
	old := sub.names
	q.public = sub.public
	sub.question = q
	sub.from, sub.last = nil, nil
	return slices.ContainsFunc(q.names, func(name string) bool {
		_, known := slices.BinarySearch(old, name)
		return !known
	})
}

// answer returns what s holds for the client.
func (sub *subscription) answer(s *set) *answer {
	if sub.from != s {
		sub.from, sub.last = s, s.answer(sub.question)
	}
	return sub.last
}

// nothing reports whether a says nothing to this client: names that are not there are withheld until they are.
func (sub *subscription) nothing(a *answer) bool { return !sub.wildcard && len(a.hashes) == 0 }

// holds reports whether the client acknowledged all of a.
func (sub *subscription) holds(a *answer) bool {
	if sub.acked == nil {
		return false
	}
	return sub.acked.version == a.version || !sub.wildcard && a.within(sub.acked)
}

// given returns what is on its way to the client, or else what it holds.
func (sub *subscription) given() *answer {
	switch {
	case sub.queued != nil:
		return sub.queued
	case sub.pending:
		return sub.sent
	default:
		return sub.acked
	}
}

// owes reports whether the client has yet to answer to something.
func (sub *subscription) owes() bool { return sub.pending || sub.queued != nil }

// lags reports whether it has owed that for too long.
func (sub *subscription) lags(now time.Time, after time.Duration) bool {
	return sub.owes() && now.Sub(sub.since) >= after
}

// settle notes that the client owes nothing.
func (sub *subscription) settle() {
	sub.pending, sub.since = false, time.Time{}
	if sub.timer != nil {
		sub.timer.Stop()
		sub.timer = nil
	}
}
