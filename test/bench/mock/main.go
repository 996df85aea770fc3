// Command mock measures what a request costs the mock server: CPU of a process of its own, beside bare net/http that answers
// the same bytes, and beside Prism. All are asked by one client in turns, over loopback.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench mock:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	root := flag.String("root", "../..", "the repository, with bin/tidelock and .cache/prism")
	bare := flag.Bool("bare", false, "be the bare server: answers on standard input")
	n := flag.Int("requests", 60_000, "requests a turn; Prism gets a twentieth")
	flag.Parse()
	if *bare {
		return serveBare()
	}
	const turns = 3
	servers, err := start(ctx, *root)
	defer func() { err = errors.Join(err, end(servers)) }()
	if err != nil {
		return err
	}
	for range turns {
		for _, s := range servers {
			if err := s.turn(ctx, *n/s.share); err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
		}
	}
	report(servers)
	return nil
}

// start starts all servers. The bare one is told what the mock answers.
func start(ctx context.Context, root string) (servers []*server, err error) {
	definition := filepath.Join(root, "test/bench/mock/petstore.yaml")
	mock := []string{
		filepath.Join(root, "bin/tidelock"), "mock", "--definition", definition, "--listen", "127.0.0.1:0", "--listen-docs", "127.0.0.1:0",
	}
	add := func(s *server, err error) error {
		if s != nil {
			servers = append(servers, s)
		}
		return err
	}
	if err := add(startLogging(ctx, "tidelock mock", append(mock, "--access-log=false"))); err != nil {
		return servers, err
	}
	answers, err := servers[0].answers(ctx)
	if err != nil {
		return servers, err
	}
	if err := add(startLogging(ctx, "tidelock mock, access log", mock)); err != nil {
		return servers, err
	}
	if err := add(startBare(ctx, answers)); err != nil {
		return servers, err
	}
	return servers, add(startPrism(ctx, filepath.Join(root, ".cache/prism/node_modules/.bin/prism"), definition))
}

// report prints the cheapest turn of each server: what else the machine did only adds.
func report(servers []*server) {
	least := func(s *server) time.Duration { return slices.Min(s.costs) }
	mock, bare := least(servers[0]), least(servers[2])
	fmt.Printf("%-26s %14s %12s %14s\n", "", "CPU a request", "to net/http", "requests/s")
	for _, s := range servers {
		fmt.Printf("%-26s %14v %11.2fx %14.0f\n", s.name, least(s), float64(least(s))/float64(bare), slices.Max(s.rates))
	}
	fmt.Printf("\ntidelock mock: %.2f times bare net/http (goal: at most 1.4), Prism %.0f times tidelock mock (goal: at least 15)\n",
		float64(mock)/float64(bare), float64(least(servers[3]))/float64(mock))
}
