package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/tidelock/tidelock/internal/xds"
)

const (
	defaultXDSAddress = "127.0.0.1:18000"
	defaultWebAddress = "127.0.0.1:18080"
)

func newXDS() *cobra.Command {
	cmd := &cobra.Command{
		Use: "xds", Short: "What proxies are served, and how they are started",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newBootstrap(), newShow(), newCertificates())
	return cmd
}

func newBootstrap() *cobra.Command {
	var cfg xds.BootstrapConfig
	var tls xds.BootstrapTLS
	var address string
	cmd := &cobra.Command{
		Use:   "bootstrap",
		Short: "Print the configuration that an Envoy is started with",
		Long: text(`
			Prints a bootstrap for Envoy 1.40: it connects to the daemon and takes everything else from there. Proxies of one
			group receive the same configuration; a route may name the groups that it is for.

			The files of --tls-ca, --tls-cert and --tls-key are those of the proxy's machine. The certificate must be for the
			group: it is among its DNS names.`),
		Example: text(`
			tidelock xds bootstrap --node edge-1 --group edge > envoy.yaml
			envoy -c envoy.yaml
			tidelock xds bootstrap --group edge --xds-address tidelock.example.com:18000 \
			  --tls-ca /etc/tidelock/ca.crt --tls-cert /etc/tidelock/tls.crt --tls-key /etc/tidelock/tls.key`),
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			if cfg.XDSHost, cfg.XDSPort, err = splitXDSAddress(address); err != nil {
				return usageError{err}
			}
			if tls != (xds.BootstrapTLS{}) {
				cfg.TLS = &tls
			}
			b, err := xds.Bootstrap(cfg)
			if err != nil {
				return usageError{err}
			}
			_, err = cmd.OutOrStdout().Write(b)
			return err
		},
	}
	cmd.Flags().StringVar(&address, "xds-address", defaultXDSAddress, "where the daemon serves xDS: host:port, or unix: and a path")
	cmd.Flags().StringVar(&tls.CAFile, "tls-ca", "", "file with what the daemon's certificate must chain to; turns TLS on")
	cmd.Flags().StringVar(&tls.CertFile, "tls-cert", "", "file with the proxy's certificate")
	cmd.Flags().StringVar(&tls.KeyFile, "tls-key", "", "file with its private key")
	cmd.Flags().StringVar(&tls.ServerName, "tls-server-name", "", "name that the daemon's certificate is for (default: the host)")
	cmd.Flags().StringVar(&cfg.NodeID, "node", "", "id of the proxy; without it, start Envoy with --service-node")
	cmd.Flags().StringVar(&cfg.Group, "group", "default", "group of the proxy (Envoy's node.cluster)")
	cmd.Flags().StringVar(&cfg.AdminAddress, "admin-address", "127.0.0.1", "address of Envoy's admin interface")
	cmd.Flags().Uint32Var(&cfg.AdminPort, "admin-port", 19000, "port of Envoy's admin interface")
	return cmd
}

// splitXDSAddress returns the host and port of an address; a socket is all host.
func splitXDSAddress(address string) (host string, port uint32, err error) {
	if strings.HasPrefix(address, "unix:") {
		return address, 0, nil
	}
	host, service, err := net.SplitHostPort(address)
	if err != nil {
		return "", 0, fmt.Errorf("--xds-address: %w", err)
	}
	n, err := strconv.ParseUint(service, 10, 16)
	if err != nil || n == 0 {
		return "", 0, fmt.Errorf("--xds-address: port %q: want a number from 1 to 65535", service)
	}
	return host, uint32(n), nil
}

// shown is what the daemon answers to GET /xds.
type shown struct {
	Proxies []shownProxy `json:"proxies"`
	Groups  []shownGroup `json:"groups"`
}

type shownProxy struct {
	Node    string            `json:"node"`
	Group   string            `json:"group"`
	State   string            `json:"state"`
	Message string            `json:"message,omitempty"`
	Acked   map[string]string `json:"acked,omitempty"`
}

type shownGroup struct {
	Name      string              `json:"name"`
	Commit    string              `json:"commit"`
	Resources map[string][]string `json:"resources"`
}

// show returns what srv serves: names and versions, and never a value.
func show(srv *xds.Server) shown {
	var out shown
	for _, p := range srv.Proxies() {
		out.Proxies = append(out.Proxies, shownProxy{p.Node, p.Group, string(p.State), strings.TrimSpace(p.Message), p.Acked})
	}
	for _, name := range srv.Groups() {
		snap, ok := srv.Served(name)
		if !ok || name == "" {
			continue
		}
		g := shownGroup{Name: name, Commit: snap.Commit, Resources: map[string][]string{}}
		for typeURL, list := range snap.Resources {
			for _, r := range list {
				kind := typeURL[strings.LastIndexByte(typeURL, '.')+1:]
				g.Resources[kind] = append(g.Resources[kind], r.Name+" "+r.Hash[:min(len(r.Hash), 12)])
			}
		}
		out.Groups = append(out.Groups, g)
	}
	return out
}

func newShow() *cobra.Command {
	var address, output string
	cmd := &cobra.Command{
		Use:   "show [NODE]",
		Short: "Print what the proxies are served and who has acknowledged it",
		Long: text(`
			Prints the connected proxies and, for each group, the resources that it is served. NODE shows one proxy and its
			group alone.`),
		Example: text(`
			tidelock xds show
			tidelock xds show -o json | jq .proxies`),
		Args: maxOneArg,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := fetch(cmd.Context(), showURL(address))
			if err != nil {
				return err
			}
			if len(args) == 1 {
				if s = s.of(args[0]); len(s.Proxies) == 0 {
					return fmt.Errorf("no proxy %q is connected", args[0])
				}
			}
			switch output {
			case "text":
				return s.print(cmd.OutOrStdout())
			case "json":
				enc := json.NewEncoder(cmd.OutOrStdout())
				enc.SetIndent("", "  ")
				return enc.Encode(s)
			default:
				return usageError{fmt.Errorf("--output %q: want text or json", output)}
			}
		},
	}
	cmd.Flags().StringVar(&address, "address", "http://"+defaultWebAddress, "URL or host:port of the daemon's web port")
	cmd.Flags().StringVarP(&output, "output", "o", "text", "text or json")
	return cmd
}

func fetch(ctx context.Context, url string) (s shown, err error) {
	const timeout, limit = 10 * time.Second, 64 << 20
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return s, usageError{err}
	}
	resp, err := (&http.Client{Timeout: timeout}).Do(req)
	if err != nil {
		return s, fmt.Errorf("ask the daemon (is it running, and is --address its --web-address?): %w", err)
	}
	defer func() { err = errors.Join(err, resp.Body.Close()) }()
	if resp.StatusCode != http.StatusOK {
		return s, fmt.Errorf("the daemon answered %s", resp.Status)
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, limit)).Decode(&s); err != nil {
		return s, fmt.Errorf("read the daemon's answer: %w", err)
	}
	return s, nil
}

// showURL is where a daemon's web address shows what it serves.
func showURL(address string) string {
	if !strings.Contains(address, "://") {
		address = "http://" + address
	}
	return strings.TrimSuffix(address, "/") + "/xds"
}

// of returns what is shown of one proxy and its group.
func (s shown) of(node string) shown {
	var out shown
	for _, p := range s.Proxies {
		if p.Node != node {
			continue
		}
		out.Proxies = append(out.Proxies, p)
		for _, g := range s.Groups {
			if g.Name == p.Group {
				out.Groups = append(out.Groups, g)
			}
		}
	}
	return out
}

func (s shown) print(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	_, _ = fmt.Fprintln(tw, "PROXY\tGROUP\tSTATE\tMESSAGE")
	for _, p := range s.Proxies {
		_, _ = fmt.Fprintf(tw, "%s\t%s\t%s\t%s\n", p.Node, p.Group, p.State, p.Message)
	}
	for _, g := range s.Groups {
		_, _ = fmt.Fprintf(tw, "\ngroup %s at %s\n", g.Name, g.Commit)
		for _, kind := range []string{"Listener", "RouteConfiguration", "Cluster", "ClusterLoadAssignment", "Secret"} {
			for _, r := range g.Resources[kind] {
				_, _ = fmt.Fprintf(tw, "  %s\t%s\n", kind, strings.Replace(r, " ", "\t", 1))
			}
		}
	}
	return tw.Flush()
}
