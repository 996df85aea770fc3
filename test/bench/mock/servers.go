package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"
)

// server is one that is measured: a process of its own.
type server struct {
	name   string
	share  int // it gets one of so many requests
	url    string
	client *http.Client
	cmd    *exec.Cmd

	costs []time.Duration // CPU a request, by turn
	rates []float64       // requests a second, by turn
}

func newServer(ctx context.Context, name string, command []string) *server {
	s := &server{name: name, share: 1, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}}
	s.cmd = exec.CommandContext(ctx, command[0], command[1:]...)
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return s
}

// startLogging starts a mock, and learns its address from its log. All that it logs is read, as a cluster would.
func startLogging(ctx context.Context, name string, command []string) (*server, error) {
	s := newServer(ctx, name, append(command, "--log-format", "json"))
	out, err := s.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		var line struct{ Msg, Address string }
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Msg == "mock ready" {
			s.url = "http://" + line.Address
			go func() { _, _ = io.Copy(io.Discard, out) }()
			return s, nil
		}
	}
	return s, fmt.Errorf("%s ended: %s", name, lines.Text())
}

// startBare starts this program as the bare server.
func startBare(ctx context.Context, answers []answer) (*server, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	s := newServer(ctx, "bare net/http", []string{self, "-bare"})
	in, err := json.Marshal(answers)
	if err != nil {
		return nil, err
	}
	s.cmd.Stdin = bytes.NewReader(in)
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	address, err := bufio.NewReader(out).ReadString('\n')
	s.url = "http://" + string(bytes.TrimSpace([]byte(address)))
	return s, err
}

// serveBare answers with what standard input says, by method and path, and looks at nothing else.
func serveBare() error {
	var answers []answer
	if err := json.NewDecoder(os.Stdin).Decode(&answers); err != nil {
		return err
	}
	mux := http.NewServeMux()
	for i, pattern := range []string{"GET /pets", "GET /pets/{id}", "POST /pets"} {
		a := answers[i]
		contentType, length, body := []string{a.ContentType}, []string{strconv.Itoa(len(a.Body))}, []byte(a.Body)
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if r.ContentLength != 0 {
				_, _ = io.Copy(io.Discard, r.Body)
			}
			w.Header()["Content-Type"], w.Header()["Content-Length"] = contentType, length
			w.WriteHeader(a.Status)
			_, _ = w.Write(body)
		})
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(ln.Addr())
	srv := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	return srv.Serve(ln)
}

// startPrism starts Prism on a port that was free, and waits until it answers.
func startPrism(ctx context.Context, prism, definition string) (*server, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	if err := ln.Close(); err != nil {
		return nil, err
	}
	// Without --multiprocess it is one process, and --verboseLevel keeps it from writing a line a request.
	s := newServer(ctx, "Prism", []string{prism, "mock", "-h", "127.0.0.1", "-p", port, "-v", "error", definition})
	s.share, s.url = 20, "http://127.0.0.1:"+port
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("%w: run make bench-mock", err)
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		_, err := s.answers(ctx)
		var refused *net.OpError
		if !errors.As(err, &refused) {
			return s, err
		}
		select { // another process: it can only be asked again and again
		case <-ctx.Done():
			return s, err
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// end stops all servers.
func end(servers []*server) error {
	var errs []error
	for _, s := range servers {
		s.client.CloseIdleConnections()
		errs = append(errs, s.cmd.Process.Kill())
		_ = s.cmd.Wait() // it was killed
	}
	return errors.Join(errs...)
}
