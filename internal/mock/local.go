package mock

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"

	"github.com/tidelock/tidelock/internal/desired"
	"github.com/tidelock/tidelock/internal/openapi"
)

// LocalConfig says where local mocks listen.
type LocalConfig struct {
	// Host is the address to listen on; 127.0.0.1 by default. Ports are free ones.
	Host string
	// Logger takes what happens; nothing is logged where it is nil.
	Logger *slog.Logger
}

// LocalMock is one mock of the repository.
type LocalMock struct {
	// Packed is the document, as openapi.Pack made it.
	Packed []byte
	// Server is the JSON of the v1alpha1.MockServer that says how it is answered; the defaults where it is empty.
	Server string
	// Replicas is how many pods the repository asks for; 0 turns the mock off.
	Replicas int32
}

// Local answers the mocks of a repository by itself, each on a loopback port of its own. Set may be called before Run: a
// listener is there at once, and what connects to it waits until Run serves it.
type Local struct {
	cfg  LocalConfig
	log  *slog.Logger
	wake chan struct{} // one element: there is something in fresh or gone, or there was

	mu      sync.Mutex
	mocks   map[desired.Key]*localMock
	refused map[desired.Key]refusal
	fresh   []*localMock // to be served
	gone    []*localMock // to be closed
}

// refusal is what was wrong with a document, so that it is looked at only once.
type refusal struct {
	is  LocalMock
	err error
}

// localMock is one mock that listens.
type localMock struct {
	key     desired.Key
	is      LocalMock
	handler *Handler
	ln      net.Listener
	srv     *http.Server
}

// NewLocal returns local mocks, none at first.
func NewLocal(cfg LocalConfig) *Local {
	cfg.Host = cmp.Or(cfg.Host, "127.0.0.1")
	return &Local{
		cfg:   cfg,
		log:   cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler)),
		wake:  make(chan struct{}, 1),
		mocks: map[desired.Key]*localMock{}, refused: map[desired.Key]refusal{},
	}
}

// Set makes the mocks those given: new ones get a listener, changed ones another document on the port that they have,
// those gone are closed once requests in flight have ended. A mock that cannot be served is named in the error, keeps the
// document that it had, and stops no other. With nothing changed nothing is done.
func (l *Local) Set(ctx context.Context, mocks map[desired.Key]LocalMock) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var errs []error
	for _, key := range slices.SortedFunc(maps.Keys(mocks), desired.Key.Compare) {
		if mocks[key].Replicas == 0 {
			continue
		}
		if err := l.set(ctx, key, mocks[key]); err != nil {
			errs = append(errs, fmt.Errorf("mock %s: %w", key, err))
		}
	}
	maps.DeleteFunc(l.refused, func(key desired.Key, _ refusal) bool { _, ok := mocks[key]; return !ok })
	for key, m := range l.mocks {
		if want, ok := mocks[key]; !ok || want.Replicas == 0 {
			delete(l.mocks, key)
			l.gone = append(l.gone, m)
		}
	}
	if len(l.fresh)+len(l.gone) > 0 {
		select {
		case l.wake <- struct{}{}:
		default: // it is awake already
		}
	}
	return errors.Join(errs...)
}

func (l *Local) set(ctx context.Context, key desired.Key, want LocalMock) error {
	have := l.mocks[key]
	if have != nil && have.is.answersAs(want) {
		return nil
	}
	if no, ok := l.refused[key]; ok && no.is.answersAs(want) {
		return no.err
	}
	delete(l.refused, key)
	h, err := want.handler()
	if err != nil {
		l.refused[key] = refusal{is: want, err: err}
		return err
	}
	if have != nil {
		have.handler.take(h)
		have.is = want
		return nil
	}
	ln, err := listen(ctx, net.JoinHostPort(l.cfg.Host, "0"))
	if err != nil {
		return err
	}
	m := &localMock{key: key, is: want, handler: h, ln: ln, srv: newHTTPServer(h, l.log)}
	l.mocks[key] = m
	l.fresh = append(l.fresh, m)
	return nil
}

// Equal reports whether two mocks are the same.
func (m LocalMock) Equal(o LocalMock) bool { return m.Replicas == o.Replicas && m.answersAs(o) }

func (m LocalMock) answersAs(o LocalMock) bool {
	return bytes.Equal(m.Packed, o.Packed) && m.Server == o.Server
}

func (m LocalMock) handler() (*Handler, error) {
	doc, err := openapi.Unpack(m.Packed)
	if err != nil {
		return nil, err
	}
	server, err := ParseServer([]byte(m.Server))
	if err != nil {
		return nil, err
	}
	return NewHandler(doc, server)
}

// Addresses returns where the mocks answer. A mock that is turned off, or was never valid, has none.
func (l *Local) Addresses() map[desired.Key]netip.AddrPort {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make(map[desired.Key]netip.AddrPort, len(l.mocks))
	for key, m := range l.mocks {
		out[key] = addrPort(m.ln)
	}
	return out
}

// Run serves what Set asks for until ctx ends, then closes all of them.
func (l *Local) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	stops := map[*localMock]context.CancelFunc{}
	for {
		fresh, gone := l.take()
		for _, m := range fresh {
			own, stop := context.WithCancel(ctx)
			stops[m] = stop
			wg.Go(func() { l.serve(own, m) })
		}
		for _, m := range gone {
			stops[m]()
			delete(stops, m)
		}
		select {
		case <-l.wake:
		case <-ctx.Done():
			for _, stop := range stops {
				stop()
			}
			fresh, _ := l.take()
			return closeAll(fresh)
		}
	}
}

func closeAll(mocks []*localMock) error {
	var errs []error
	for _, m := range mocks {
		errs = append(errs, m.ln.Close())
	}
	return errors.Join(errs...)
}

// take returns what Set has left to do.
func (l *Local) take() (fresh, gone []*localMock) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fresh, gone = l.fresh, l.gone
	l.fresh, l.gone = nil, nil
	return fresh, gone
}

func (l *Local) serve(ctx context.Context, m *localMock) {
	if err := serve(ctx, m.srv, m.ln); err != nil {
		l.log.ErrorContext(ctx, "local mock ended", slog.String("mock", m.key.String()), slog.Any("error", err))
	}
}
