package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tidelock/tidelock/internal/xds"
)

// proxyFlags say how proxies are served.
type proxyFlags struct {
	address string
	tls     xds.ServerTLS
}

func (f *proxyFlags) add(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&f.address, "xds-address", defaultXDSAddress, "address that serves xDS: host:port, or unix: and a path")
	fl.StringVar(&f.tls.CertFile, "xds-tls-cert", "", "file with the certificate of the xDS port; read again when it changes")
	fl.StringVar(&f.tls.KeyFile, "xds-tls-key", "", "file with its private key")
	fl.StringVar(&f.tls.ClientCAFile, "xds-tls-client-ca", "", "file with what the certificates of proxies must chain to")
}

// config returns the settings of the server without a listener, and what is wrong with them before anything listens.
func (f *proxyFlags) config() (xds.Config, error) {
	if f.tls == (xds.ServerTLS{}) {
		return xds.Config{}, nil
	}
	var missing []string
	for _, flag := range []struct{ name, value string }{
		{"--xds-tls-cert", f.tls.CertFile}, {"--xds-tls-key", f.tls.KeyFile}, {"--xds-tls-client-ca", f.tls.ClientCAFile},
	} {
		if flag.value == "" {
			missing = append(missing, flag.name)
		}
	}
	if len(missing) > 0 {
		return xds.Config{}, usageError{fmt.Errorf("xDS is served with mutual TLS or none: %s missing", strings.Join(missing, " and "))}
	}
	return xds.Config{TLS: &f.tls}, f.tls.Validate()
}
