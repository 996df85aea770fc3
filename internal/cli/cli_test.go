package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"tidelock": func() {
			ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt) //nolint:forbidigo // this is a program
			err := Run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
			stop()
			if err != nil && !errors.Is(err, ErrNo) {
				fmt.Fprintln(os.Stderr, "tidelock:", err)
			}
			os.Exit(ExitCode(err)) //nolint:forbidigo // the end of a program
		},
		"gh": tool(fakeGH),
		"jq": tool(jq),
	})
}

// The commands, as a person types them.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{Dir: "testdata/script"})
}

// Every command says what it does and, where it takes flags, shows how it is used.
func TestEveryCommandHasHelpWithExamples(t *testing.T) {
	t.Parallel()
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		if c.Short == "" {
			t.Errorf("%s has no short help", c.CommandPath())
		}
		if c.Runnable() && c.HasLocalFlags() && c.Name() != "help" && !strings.HasPrefix(c.CommandPath(), "tidelock completion") &&
			c.Example == "" {
			t.Errorf("%s has no example", c.CommandPath())
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(newRoot())
}
