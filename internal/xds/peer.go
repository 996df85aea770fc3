package xds

import (
	"context"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"net"
	"net/netip"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

// identity is what is known of a peer beside its own word.
type identity struct {
	// tls is set where the peer had to prove who it is, and groups are those that its certificate is for.
	tls    bool
	groups []string
	// local is set where nothing but this machine lies between us.
	local bool
}

func identify(ctx context.Context) identity {
	p, found := peer.FromContext(ctx)
	if !found {
		return identity{}
	}
	id := identity{local: isLocal(p.Addr)}
	if info, ok := p.AuthInfo.(credentials.TLSInfo); ok {
		id.tls = true
		if len(info.State.VerifiedChains) > 0 {
			id.groups = groupsOf(info.State.PeerCertificates[0])
		}
	}
	return id
}

// isConfidential reports whether private keys may be sent to the peer: over mutual TLS, a Unix socket or loopback.
func (id identity) isConfidential() bool { return id.tls || id.local }

// admit returns the error of a stream that asks for a group which its certificate is not for. It tells the peer nothing
// that the peer has not said itself.
func (id identity) admit(group string) error {
	if !id.tls || slices.Contains(id.groups, group) {
		return nil
	}
	return status.Errorf(codes.PermissionDenied, "the client certificate is not for the group %q (node.cluster): "+
		"want it among the DNS names, or as the common name of a certificate without alternative names", group)
}

// groupsOf returns the names of a certificate that may be groups.
func groupsOf(cert *x509.Certificate) []string {
	names := slices.Clone(cert.DNSNames)
	subjectAltName := asn1.ObjectIdentifier{2, 5, 29, 17}
	if !slices.ContainsFunc(cert.Extensions, func(e pkix.Extension) bool { return e.Id.Equal(subjectAltName) }) {
		names = append(names, cert.Subject.CommonName)
	}
	// A node that names no group is of no certificate.
	return slices.DeleteFunc(names, func(name string) bool { return name == "" })
}

// isLocal reports whether an address is a Unix socket or of the loopback interface.
func isLocal(addr net.Addr) bool {
	if addr.Network() == "unix" {
		return true
	}
	parsed, err := netip.ParseAddrPort(addr.String())
	return err == nil && parsed.Addr().Unmap().IsLoopback()
}
