package xds

import (
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/tidelock/tidelock/internal/desired"
)

const (
	tlsSocket = "envoy.transport_sockets.tls"
	// systemRoots is where Envoy's own images, Debian and Alpine keep them.
	systemRoots = "/etc/ssl/certs/ca-certificates.crt"
	// secretWait is how long a listener or cluster that starts waits for its Secret, in seconds. It must end: while a
	// starting Envoy waits for one it opens no listener at all. After it the port is open and handshakes fail until the
	// Secret comes.
	secretWait = 2
)

// serverName returns the name that u's certificate must be for: the one set, else the address, else the Service's own.
func serverName(u desired.Upstream) string {
	switch {
	case u.TLS.SNI != "":
		return u.TLS.SNI
	case isService(u):
		return u.Service.Name + "." + u.Service.Namespace + ".svc"
	default:
		return u.Address
	}
}

// upstreamTLS verifies the upstream's certificate, by u's own CA or by the system's, and its name.
func upstreamTLS(u desired.Upstream) (*corev3.TransportSocket, error) {
	out, validation := clientTLS(serverName(u))
	common := out.CommonTlsContext
	if speaksHTTP2(u) {
		common.AlpnProtocols = []string{"h2"}
	}
	if u.TLS.CASecret == (desired.Key{}) {
		validation.TrustedCa = file(systemRoots)
		common.ValidationContextType = &tlsv3.CommonTlsContext_ValidationContext{ValidationContext: validation}
		return transportSocket(out)
	}
	common.ValidationContextType = &tlsv3.CommonTlsContext_CombinedValidationContext{
		CombinedValidationContext: &tlsv3.CommonTlsContext_CombinedCertificateValidationContext{
			DefaultValidationContext:         validation,
			ValidationContextSdsSecretConfig: secretSource(caName(u.TLS.CASecret)),
		},
	}
	return transportSocket(out)
}

// clientTLS asks for a server by its name and verifies that its certificate is for it; what it must chain to is to be put
// into the validation context.
func clientTLS(name string) (*tlsv3.UpstreamTlsContext, *tlsv3.CertificateValidationContext) {
	validation := &tlsv3.CertificateValidationContext{}
	out := &tlsv3.UpstreamTlsContext{
		CommonTlsContext: &tlsv3.CommonTlsContext{
			// Envoy's default for clients ends at 1.2.
			TlsParams: &tlsv3.TlsParameters{TlsMaximumProtocolVersion: tlsv3.TlsParameters_TLSv1_3},
		},
	}
	if !isIP(name) {
		out.Sni, out.AutoSniSanValidation = name, true
		return out, validation
	}
	// An IP address is no server name (RFC 6066, section 3).
	validation.MatchTypedSubjectAltNames = []*tlsv3.SubjectAltNameMatcher{{
		SanType: tlsv3.SubjectAltNameMatcher_IP_ADDRESS,
		Matcher: &matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_Exact{Exact: name}},
	}}
	return out, validation
}

// downstreamTLS ends TLS with the certificate of a Secret, which comes by SDS and so is rotated without a new listener.
func downstreamTLS(secret desired.Key) (*corev3.TransportSocket, error) {
	return transportSocket(&tlsv3.DownstreamTlsContext{
		CommonTlsContext: &tlsv3.CommonTlsContext{
			AlpnProtocols:                  []string{"h2", "http/1.1"},
			TlsCertificateSdsSecretConfigs: []*tlsv3.SdsSecretConfig{secretSource(secret.String())},
		},
	})
}

func secretSource(name string) *tlsv3.SdsSecretConfig {
	source := adsSource()
	source.InitialFetchTimeout = &durationpb.Duration{Seconds: secretWait}
	return &tlsv3.SdsSecretConfig{Name: name, SdsConfig: source}
}

func transportSocket(m message) (*corev3.TransportSocket, error) {
	config, err := pack(m)
	if err != nil {
		return nil, err
	}
	return &corev3.TransportSocket{
		Name:       tlsSocket,
		ConfigType: &corev3.TransportSocket_TypedConfig{TypedConfig: config},
	}, nil
}

func file(path string) *corev3.DataSource {
	return &corev3.DataSource{Specifier: &corev3.DataSource_Filename{Filename: path}}
}
