package cli

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/tidelock/tidelock/api/v1alpha1"
	"github.com/tidelock/tidelock/internal/mock"
)

func newMock() *cobra.Command {
	var cfg mock.Config
	var logs logFlags
	var server mockFlags
	cmd := &cobra.Command{
		Use:   "mock [FILE]",
		Short: "Answer an OpenAPI document",
		Long: text(`
			Answers the operations of FILE, an OpenAPI 3.0 or 3.1 document, with their examples, or with values made of their
			schemas, and refuses requests that do not fit the document. The file is read again when it, or a file that it
			refers to, changes; a bad edit keeps the last good document.

			Clients choose with the header Prefer: code=404, example=<name>, dynamic=true. Documentation for people is at
			--listen-docs, with the document, health and metrics.

			This is what the pods of an APIMock run.`),
		Example: text(`
			tidelock mock openapi.yaml
			curl http://127.0.0.1:8000/products
			curl -H 'Prefer: code=404' http://127.0.0.1:8000/products/1`),
		Args: maxOneArg,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) == 1 && cfg.Definition != "":
				return usageError{errors.New("FILE and --definition name the same: give one")}
			case len(args) == 1:
				cfg.Definition = args[0]
			case cfg.Definition == "":
				return usageError{errors.New("name the OpenAPI document: tidelock mock FILE")}
			}
			var err error
			if cfg.Logger, err = logs.logger(cmd.ErrOrStderr(), nil); err != nil {
				return err
			}
			if cfg.Server, err = server.settings(cmd); err != nil {
				return err
			}
			srv, err := mock.NewServer(cmd.Context(), cfg)
			if err != nil {
				return err
			}
			lendHeap()
			return interrupted(cmd.Context(), srv.Run(cmd.Context()))
		},
	}
	cmd.Flags().StringVar(&cfg.Definition, "definition", "", "the document, instead of FILE: YAML or JSON, also gzipped")
	cmd.Flags().StringVar(&cfg.Listen, "listen", ":8000", "address that answers the API")
	cmd.Flags().StringVar(&cfg.ListenDocs, "listen-docs", ":8080", "address of documentation, health and metrics")
	cmd.Flags().DurationVar(&cfg.ShutdownDelay, "shutdown-delay", 0,
		"how long requests are still taken after SIGTERM, while /readyz says that no more should come")
	server.add(cmd)
	logs.add(cmd)
	return cmd
}

// mockFlags are the settings of a mock: those of a file, and over them those of flags that are given.
type mockFlags struct {
	file      string
	validate  bool
	accessLog bool
	delay     string
	errorRate string
	seed      int64
	origins   []string
}

func (f *mockFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.file, "server", "", "file of settings: JSON of an APIMock's spec.server; flags go over it")
	flags.BoolVar(&f.validate, "validate-requests", true, "refuse requests that do not fit the document")
	flags.BoolVar(&f.accessLog, "access-log", true, "log a line for every request")
	flags.StringVar(&f.delay, "delay", "", "delay of every answer, or a range: 200ms, 100ms-300ms")
	flags.StringVar(&f.errorRate, "error-rate", "", "share of requests that get status 500, 0 to 1")
	flags.Int64Var(&f.seed, "seed", 0, "seed of values, delays and errors that are made up")
	flags.StringSliceVar(&f.origins, "allow-origin", nil, "origin that browsers may ask from; all by default")
}

func (f *mockFlags) settings(cmd *cobra.Command) (v1alpha1.MockServer, error) {
	var out v1alpha1.MockServer
	if f.file != "" {
		text, err := os.ReadFile(f.file)
		if err != nil {
			return out, err
		}
		if out, err = mock.ParseServer(text); err != nil {
			return out, fmt.Errorf("--server %s: %w", f.file, err)
		}
	}
	given := cmd.Flags().Changed
	if given("validate-requests") {
		out.ValidateRequests = &f.validate
	}
	if given("access-log") {
		out.AccessLog = &f.accessLog
	}
	if given("delay") {
		out.Delay = f.delay
	}
	if given("error-rate") {
		if err := out.ErrorRate.UnmarshalJSON([]byte(f.errorRate)); err != nil {
			return out, fmt.Errorf("--error-rate: %w", err)
		}
	}
	if given("seed") {
		out.Seed = f.seed
	}
	if given("allow-origin") {
		out.CORS.AllowOrigins = f.origins
	}
	return out, nil
}
