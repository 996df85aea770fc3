//go:build e2e

package e2e

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"
)

// ask makes one request and returns what came back; redirects are not followed.
func ask(ctx context.Context, method, url, host string) (status int, body string, err error) {
	req, err := http.NewRequestWithContext(ctx, method, url, http.NoBody)
	if err != nil {
		return 0, "", err
	}
	req.Host = host
	client := http.Client{Timeout: 10 * time.Second, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
	resp, err := client.Do(req)
	if err != nil {
		return 0, "", err
	}
	b, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b), errors.Join(err, resp.Body.Close())
}

// whoHost is the host of the routes that split makes.
const whoHost = "who.example.com"

// spread makes n requests to it, a few at a time, and counts the answers; every one must be status 200.
func spread(t *testing.T, n int, url string) map[string]int {
	t.Helper()
	const workers = 4
	var mu sync.Mutex
	counts, work := map[string]int{}, make(chan struct{}, n)
	for range n {
		work <- struct{}{}
	}
	close(work)
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for range work {
				body, err := get(t.Context(), url, whoHost)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				counts[body]++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return counts
}
