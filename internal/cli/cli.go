// Package cli is the tidelock command: what a person types goes in, text and an error come out. It reads flags, the
// environment and a file, and hands plain values to the stages.
package cli

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// The exit codes of every command.
const (
	exitNo      = 1
	exitFailure = 2
	exitUsage   = 64
)

// Run executes the command line args (without the program's name) and returns its error; all output goes to stdout and
// stderr, and ctx ends what runs long.
func Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	root := newRoot() //nolint:contextcheck // cobra hands ctx to each command
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	return root.ExecuteContext(ctx)
}

// ErrNo is how a command answers no to what a script asks it: not Ready, say. It is no failure, and needs no message.
var ErrNo = errors.New("no")

// ExitCode returns what the process should exit with: 0 for nil, 1 for ErrNo, 64 where the command line is wrong, else 2.
func ExitCode(err error) int {
	var usage usageError
	switch {
	case err == nil:
		return 0
	case errors.Is(err, ErrNo):
		return exitNo
	case errors.As(err, &usage):
		return exitUsage
	default:
		return exitFailure
	}
}

// usageError is a command line that cannot be understood.
type usageError struct{ error }

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "tidelock",
		Short: "Keep a cluster and its proxies at one git commit",
		Long: text(`
			Tidelock follows one git repository of API mocks, schedules, traffic splits, proxy routes and plain
			Kubernetes manifests, and keeps a cluster and a fleet of Envoy proxies at its newest good commit.

			Every flag can also be set in the environment (--log-level is TIDELOCK_LOG_LEVEL) and in a YAML file that
			--config or TIDELOCK_CONFIG names (log-level: debug). A flag wins over the environment, the environment
			over the file.`),
		Example: text(`
			tidelock validate examples/repo/overlays/production
			tidelock run --repo https://git.example.com/shop.git --path overlays/production
			tidelock status`),
		SilenceErrors:     true,
		SilenceUsage:      true,
		PersistentPreRunE: fillFlags,
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.PersistentFlags().String("config", "", "YAML file with values for flags")
	root.AddCommand(
		newRun(), newRender(), newValidate(), newDiff(), newApply(), newDestroy(), newStatus(), newTree(), newSchedule(), newMock(),
		newXDS(), newVersion(),
	)
	complete(root)
	return root
}

// text takes the common indentation of a raw string away.
func text(s string) string {
	lines := strings.Split(strings.Trim(s, "\n"), "\n")
	indent := len(lines[0]) - len(strings.TrimLeft(lines[0], "\t"))
	for i, l := range lines {
		lines[i] = strings.TrimPrefix(l, strings.Repeat("\t", indent))
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n\t ")
}

// noArgs and maxOneArg are cobra's own checks as usage errors.
func noArgs(cmd *cobra.Command, args []string) error { return usage(cobra.NoArgs(cmd, args)) }

func maxOneArg(cmd *cobra.Command, args []string) error {
	return usage(cobra.MaximumNArgs(1)(cmd, args))
}

func usage(err error) error {
	if err == nil {
		return nil
	}
	return usageError{err}
}
