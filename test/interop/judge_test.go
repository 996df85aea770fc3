//go:build interop

package interop_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
)

// judge is the independent validator, a child process.
type judge struct {
	in  io.Writer
	out *bufio.Reader
}

// verdict is what the judge says about a body. Both are empty where it fits.
type verdict struct {
	Errors  []string `json:"errors"`
	Formats []string `json:"formats"` // what only a format is to blame for
	Unable  string   `json:"unable"`  // why it cannot read the schema
}

func newJudge(t *testing.T) *judge {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cmd := exec.CommandContext(ctx, "python3", "validate.py")
	cmd.Env = append(os.Environ(), "PYTHONPATH="+cache("python"))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("python3: %v: run make test-interop", err)
	}
	t.Cleanup(func() {
		cancel()
		_ = cmd.Wait() // it was told to end
	})
	return &judge{in: in, out: bufio.NewReader(out)}
}

// about names the document that the next bodies belong to, as JSON.
func (j *judge) about(document []byte) error {
	_, err := j.ask(map[string]any{"document": json.RawMessage(document)})
	return err
}

// judge holds a body against a schema, as a "request" or a "response".
func (j *judge) judge(schema, body []byte, use string) (verdict, error) {
	return j.ask(map[string]any{"schema": json.RawMessage(schema), "body": string(body), "use": use})
}

func (j *judge) ask(command map[string]any) (verdict, error) {
	var v verdict
	if err := json.NewEncoder(j.in).Encode(command); err != nil {
		return v, fmt.Errorf("ask the validator: %w", err)
	}
	line, err := j.out.ReadBytes('\n')
	if err != nil {
		return v, fmt.Errorf("hear the validator: %w", err)
	}
	return v, json.Unmarshal(line, &v)
}
