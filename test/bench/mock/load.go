package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// question is one request of the mix.
type question struct{ method, path, body string }

func mix() []question {
	return []question{
		{http.MethodGet, "/pets?limit=10&status=sold", ""},
		{http.MethodGet, "/pets/7", ""},
		{http.MethodPost, "/pets", `{"id":7,"name":"Rex","category":{"id":1,"name":"Dogs"},"photoUrls":["https://example.com/a"],"tags":[{"id":1,"name":"big"}],"status":"sold"}`},
		{http.MethodGet, "/pets/12345", ""},
	}
}

// answer is what a request of the mix is answered with.
type answer struct {
	Status            int
	ContentType, Body string
}

func (s *server) ask(ctx context.Context, q question) (answer, error) {
	r, err := http.NewRequestWithContext(ctx, q.method, s.url+q.path, strings.NewReader(q.body))
	if err != nil {
		return answer{}, err
	}
	if q.body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	res, err := s.client.Do(r)
	if err != nil {
		return answer{}, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode >= http.StatusMultipleChoices {
		err = fmt.Errorf("%s %s: status %d: %.300s", q.method, q.path, res.StatusCode, body)
	}
	return answer{Status: res.StatusCode, ContentType: res.Header.Get("Content-Type"), Body: string(body)}, err
}

// answers returns what the mix is answered with.
func (s *server) answers(ctx context.Context) ([]answer, error) {
	var out []answer
	for _, q := range mix() {
		a, err := s.ask(ctx, q)
		if err != nil {
			return nil, err
		}
		out = append(out, a)
	}
	return out, nil
}

// turn sends n requests, several at once, and notes what they cost the server.
func (s *server) turn(ctx context.Context, n int) error {
	const clients = 8
	questions := mix()
	before, err := s.cpu()
	if err != nil {
		return err
	}
	start := time.Now()
	var next atomic.Int64
	var wg sync.WaitGroup
	errs := make([]error, clients)
	for i := range errs {
		wg.Go(func() {
			for k := next.Add(1); k <= int64(n) && errs[i] == nil; k = next.Add(1) {
				_, errs[i] = s.ask(ctx, questions[int(k)%len(questions)])
			}
		})
	}
	wg.Wait()
	took := time.Since(start)
	after, err := s.cpu()
	if err := errors.Join(append(errs, err)...); err != nil {
		return err
	}
	s.costs = append(s.costs, (after-before)/time.Duration(n))
	s.rates = append(s.rates, float64(n)/took.Seconds())
	return nil
}

// cpu returns the time that the server's process has run so far, user and system (proc(5), in ticks of 10 ms).
func (s *server) cpu() (time.Duration, error) {
	const tick, user, system = 10 * time.Millisecond, 11, 12 // fields behind the name in parentheses
	text, err := os.ReadFile("/proc/" + strconv.Itoa(s.cmd.Process.Pid) + "/stat")
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	u, err1 := strconv.Atoi(fields[user])
	k, err2 := strconv.Atoi(fields[system])
	return time.Duration(u+k) * tick, errors.Join(err1, err2)
}
