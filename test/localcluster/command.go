package main

import (
	"bufio"
	"context"
	"io"
	"strings"
)

// command is a line of standard input: what to do with which component.
type command struct {
	verb, component string
}

// readCommands sends the lines of r until it ends, then calls ended. The kernel closes a pipe when the process
// at its other end dies, however it dies, so no control plane outlives a killed test.
func readCommands(ctx context.Context, r io.Reader, ended func()) <-chan command {
	commands := make(chan command)
	go func() {
		defer ended()
		lines := bufio.NewScanner(r)
		for lines.Scan() {
			verb, component, _ := strings.Cut(strings.TrimSpace(lines.Text()), " ")
			select {
			case commands <- command{verb: verb, component: component}:
			case <-ctx.Done():
				return
			}
		}
	}()
	return commands
}
