package cli

import (
	"github.com/spf13/cobra"

	"github.com/tidelock/tidelock/internal/mock"
)

func newMock() *cobra.Command {
	var cfg mock.Config
	var logs logFlags
	cmd := &cobra.Command{
		Use:   "mock --definition FILE",
		Short: "Answer an OpenAPI document",
		Long: text(`
			Answers the operations of an OpenAPI 3.0 or 3.1 document with their examples. The file is read again when it
			changes; a bad edit keeps the last good document.

			This is what the pods of an APIMock run.`),
		Example: text(`
			tidelock mock --definition openapi.yaml --listen :8000
			curl http://127.0.0.1:8000/products`),
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			if cfg.Logger, err = logs.logger(cmd.ErrOrStderr()); err != nil {
				return err
			}
			srv, err := mock.NewServer(cmd.Context(), cfg)
			if err != nil {
				return err
			}
			return interrupted(cmd.Context(), srv.Run(cmd.Context()))
		},
	}
	cmd.Flags().StringVar(&cfg.Definition, "definition", "", "OpenAPI document: YAML or JSON, also gzipped (required)")
	cmd.Flags().StringVar(&cfg.Listen, "listen", ":8000", "address that answers the API")
	cmd.Flags().StringVar(&cfg.ListenDocs, "listen-docs", ":8080", "address that answers /healthz and /readyz")
	cmd.Flags().BoolVar(&cfg.AccessLog, "access-log", false, "log a line for every request")
	_ = cmd.MarkFlagRequired("definition")
	logs.add(cmd)
	return cmd
}
