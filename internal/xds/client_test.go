package xds_test

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/tidelock/tidelock/internal/xds"
)

const (
	// soon bounds what must come; quiet is how long nothing may come. Tests run in a bubble, so waiting costs nothing.
	soon  = 10 * time.Second
	quiet = 2 * time.Second
)

// plane is a running server and a loop that publishes the newest snapshots again at every news, as the daemon's does.
type plane struct {
	*xds.Server
	lis *bufconn.Listener

	mu     sync.Mutex
	newest map[string]xds.Snapshot
	last   map[string]xds.Progress
	passes chan struct{}
}

// servePlane runs a server until the test ends or stop is called.
func servePlane(t *testing.T) (p *plane, stop func()) {
	t.Helper()
	return servePlaneOf(t, xds.Config{})
}

func servePlaneOf(t *testing.T, cfg xds.Config) (p *plane, stop func()) {
	t.Helper()
	const buffer = 1 << 20
	p = &plane{
		lis: bufconn.Listen(buffer), newest: map[string]xds.Snapshot{}, last: map[string]xds.Progress{},
		passes: make(chan struct{}, 1),
	}
	cfg.Listener = p.lis
	p.Server = xds.NewServer(cfg)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := p.Run(ctx); err != nil {
			t.Errorf("the server ended: %v", err)
		}
	})
	running.Go(func() { p.loop(ctx) })
	stop = sync.OnceFunc(func() {
		cancel()
		running.Wait()
	})
	t.Cleanup(stop)
	return p, stop
}

func (p *plane) loop(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.Changed():
			p.mu.Lock()
			for _, snap := range p.newest {
				p.last[snap.Group] = p.Publish(snap)
			}
			p.mu.Unlock()
			select {
			case p.passes <- struct{}{}:
			default:
			}
		}
	}
}

// sync takes a snapshot, as one pass of the loop does.
func (p *plane) sync(snap xds.Snapshot) xds.Progress {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.newest[snap.Group] = snap
	p.last[snap.Group] = p.Publish(snap)
	return p.last[snap.Group]
}

// until waits for the progress of a group to be as wanted.
func (p *plane) until(t *testing.T, group, what string, ok func(xds.Progress) bool) xds.Progress {
	t.Helper()
	deadline := time.NewTimer(soon)
	defer deadline.Stop()
	for {
		p.mu.Lock()
		progress := p.last[group]
		p.mu.Unlock()
		if ok(progress) {
			return progress
		}
		select {
		case <-p.passes:
		case <-deadline.C:
			t.Fatalf("not %s: %+v", what, progress)
		}
	}
}

func settled(p xds.Progress) bool { return p.Settled }

// client is a bare ADS client that acknowledges what it gets, unless told otherwise.
type client struct {
	t      *testing.T
	conn   *grpc.ClientConn
	stream discoveryv3.AggregatedDiscoveryService_StreamAggregatedResourcesClient
	node   *corev3.Node
	in     chan *discoveryv3.DiscoveryResponse
	names  map[string][]string
	last   map[string]*discoveryv3.DiscoveryResponse
	acked  map[string]string
	held   map[string]bool // types that are not acknowledged for now
	close  func()
	// log is all that came, in order.
	log []*discoveryv3.DiscoveryResponse
}

// connect opens a stream as the proxy node of group.
func (p *plane) connect(t *testing.T, group, node string) *client {
	t.Helper()
	return p.connectAs(t, insecure.NewCredentials(), group, node)
}

// dial returns a connection that is made when it is needed.
func (p *plane) dial(t *testing.T, creds credentials.TransportCredentials) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient("passthrough:///plane", grpc.WithTransportCredentials(creds),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return p.lis.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

func (p *plane) connectAs(t *testing.T, creds credentials.TransportCredentials, group, node string) *client {
	t.Helper()
	conn := p.dial(t, creds)
	ctx, cancel := context.WithCancel(t.Context())
	stream, err := discoveryv3.NewAggregatedDiscoveryServiceClient(conn).StreamAggregatedResources(ctx)
	if err != nil {
		t.Fatal(err)
	}
	c := &client{
		t: t, conn: conn, stream: stream, node: &corev3.Node{Id: node, Cluster: group},
		in:    make(chan *discoveryv3.DiscoveryResponse, 100),
		names: map[string][]string{}, last: map[string]*discoveryv3.DiscoveryResponse{},
		acked: map[string]string{}, held: map[string]bool{},
	}
	var reading sync.WaitGroup
	reading.Go(c.read)
	c.close = sync.OnceFunc(func() {
		cancel()
		reading.Wait()
		if err := conn.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	t.Cleanup(c.close)
	return c
}

func (c *client) read() {
	defer close(c.in)
	for {
		resp, err := c.stream.Recv()
		if err != nil {
			code := status.Code(err)
			if !errors.Is(err, io.EOF) && code != codes.Canceled && code != codes.Unavailable {
				c.t.Errorf("receive: %v", err)
			}
			return
		}
		c.in <- resp
	}
}

func (c *client) send(req *discoveryv3.DiscoveryRequest) {
	c.t.Helper()
	req.Node = c.node
	if err := c.stream.Send(req); err != nil {
		c.t.Fatalf("send: %v", err)
	}
}

// subscribe asks for a type, saying that the client holds the version, if any.
func (c *client) subscribe(typeURL, version string, names ...string) {
	c.t.Helper()
	c.names[typeURL] = names
	c.acked[typeURL] = version
	c.send(&discoveryv3.DiscoveryRequest{TypeUrl: typeURL, VersionInfo: version, ResourceNames: names})
}

// ask changes the names that are asked for, as Envoy does: with what it acknowledged last.
func (c *client) ask(typeURL string, names ...string) {
	c.t.Helper()
	c.names[typeURL] = names
	c.ack(typeURL)
}

func (c *client) ack(typeURL string) {
	c.t.Helper()
	last := c.last[typeURL]
	c.acked[typeURL] = last.GetVersionInfo()
	c.send(&discoveryv3.DiscoveryRequest{
		TypeUrl: typeURL, VersionInfo: last.GetVersionInfo(), ResponseNonce: last.GetNonce(), ResourceNames: c.names[typeURL],
	})
}

func (c *client) nack(typeURL string) {
	c.t.Helper()
	c.send(&discoveryv3.DiscoveryRequest{
		TypeUrl: typeURL, VersionInfo: c.acked[typeURL], ResponseNonce: c.last[typeURL].GetNonce(), ResourceNames: c.names[typeURL],
		ErrorDetail: &rpcstatus.Status{Code: int32(codes.InvalidArgument), Message: reason},
	})
}

// next waits for the next answer, which must be of the type.
func (c *client) next(typeURL string) *discoveryv3.DiscoveryResponse {
	c.t.Helper()
	timer := time.NewTimer(soon)
	defer timer.Stop()
	select {
	case resp, ok := <-c.in:
		if !ok {
			c.t.Fatalf("the stream ended while waiting for %s", kind(typeURL))
		}
		c.take(resp)
		if resp.TypeUrl != typeURL {
			c.t.Fatalf("got %s, want %s", describe(resp), kind(typeURL))
		}
		return resp
	case <-timer.C:
		c.t.Fatalf("no answer of %s", kind(typeURL))
		return nil
	}
}

func (c *client) take(resp *discoveryv3.DiscoveryResponse) {
	c.t.Helper()
	c.log = append(c.log, resp)
	c.last[resp.TypeUrl] = resp
	if !c.held[resp.TypeUrl] {
		c.ack(resp.TypeUrl)
	}
}

// none makes sure that nothing comes.
func (c *client) none() {
	c.t.Helper()
	timer := time.NewTimer(quiet)
	defer timer.Stop()
	select {
	case resp, ok := <-c.in:
		if !ok {
			c.t.Fatal("the stream ended")
		}
		c.t.Fatalf("got %s, want nothing", describe(resp))
	case <-timer.C:
	}
}
