package mock

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// What a client may take of a server.
const (
	readTimeout  = 30 * time.Second // for header and body together: two deadlines would cost each request a timer more
	writeTimeout = time.Minute
	idleTimeout  = 2 * time.Minute
	maxHeader    = 64 << 10
	// drain is how long requests in flight may take once a server is to end.
	drain = 10 * time.Second
)

// listen opens a TCP listener.
func listen(ctx context.Context, address string) (net.Listener, error) {
	var cfg net.ListenConfig
	ln, err := cfg.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", address, err)
	}
	return ln, nil
}

// newHTTPServer speaks HTTP/1 and, with those who know it beforehand (gRPC, Envoy's http2 upstreams), HTTP/2 without TLS.
func newHTTPServer(h http.Handler, log *slog.Logger) *http.Server {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	return &http.Server{
		Protocols:         &protocols,
		Handler:           h,
		ReadHeaderTimeout: readTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}

// serve answers on ln until ctx ends, then lets requests in flight end.
func serve(ctx context.Context, srv *http.Server, ln net.Listener) error {
	var failure error
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		failure = srv.Serve(ln)
	}()
	select {
	case <-ended:
		return fmt.Errorf("serve on %s: %w", ln.Addr(), failure)
	case <-ctx.Done():
	}
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), drain)
	defer cancel()
	err := srv.Shutdown(late)
	if errors.Is(err, context.DeadlineExceeded) {
		err = srv.Close() // what has not ended by now is cut off
	}
	<-ended
	if err != nil {
		return fmt.Errorf("close the server on %s: %w", ln.Addr(), err)
	}
	return nil
}
