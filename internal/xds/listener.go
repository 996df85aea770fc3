package xds

import (
	"fmt"
	"regexp"
	"strings"

	accesslogv3 "github.com/envoyproxy/go-control-plane/envoy/config/accesslog/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	filelogv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/access_loggers/file/v3"
	routerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/tidelock/tidelock/internal/desired"
)

// buildListener returns an HTTP listener whose routes come by RDS under the listener's own name.
func buildListener(l desired.Listener) (*listenerv3.Listener, error) {
	manager, err := connectionManager(l)
	if err != nil {
		return nil, err
	}
	config, err := pack(manager)
	if err != nil {
		return nil, err
	}
	chain := &listenerv3.FilterChain{Filters: []*listenerv3.Filter{{
		Name:       "envoy.filters.network.http_connection_manager",
		ConfigType: &listenerv3.Filter_TypedConfig{TypedConfig: config},
	}}}
	if l.TLSSecret != (desired.Key{}) {
		if chain.TransportSocket, err = downstreamTLS(l.TLSSecret); err != nil {
			return nil, err
		}
	}
	return &listenerv3.Listener{
		Name:         l.Name,
		Address:      socketAddress(l.Address, l.Port),
		FilterChains: []*listenerv3.FilterChain{chain},
	}, nil
}

// connectionManager reads paths as RFC 3986 does ("/a/../b" is "/b", so that no prefix can be stepped out of) and leaves them
// as they are otherwise: slashes are neither merged nor unescaped, because they may mean something to the backend.
func connectionManager(l desired.Listener) (*hcmv3.HttpConnectionManager, error) {
	router, err := pack(&routerv3.Router{})
	if err != nil {
		return nil, err
	}
	// Without an end: a listener that opens before its routes are there would answer 404.
	source := adsSource()
	source.InitialFetchTimeout = &durationpb.Duration{}
	out := &hcmv3.HttpConnectionManager{
		StatPrefix: l.Name,
		RouteSpecifier: &hcmv3.HttpConnectionManager_Rds{Rds: &hcmv3.Rds{
			ConfigSource: source, RouteConfigName: l.Name,
		}},
		HttpFilters: []*hcmv3.HttpFilter{{
			Name:       "envoy.filters.http.router",
			ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: router},
		}},
		UseRemoteAddress: wrapperspb.Bool(true),
		NormalizePath:    wrapperspb.Bool(true),
	}
	if l.AccessLog != "" {
		log, err := accessLog(l)
		if err != nil {
			return nil, err
		}
		out.AccessLog = []*accesslogv3.AccessLog{log}
	}
	return out, nil
}

// accessLog writes one line a request; a format that does not end its line gets the end.
func accessLog(l desired.Listener) (*accesslogv3.AccessLog, error) {
	file := &filelogv3.FileAccessLog{Path: l.AccessLog}
	if l.AccessLogFormat != "" {
		if !isFormat(l.AccessLogFormat) {
			return nil, fmt.Errorf("accessLog.format: a %% stands alone; a command is %%NAME%%, %%NAME(ARGUMENT):LENGTH%%, a percent sign %%%%")
		}
		file.AccessLogFormat = &filelogv3.FileAccessLog_LogFormat{LogFormat: &corev3.SubstitutionFormatString{
			Format: &corev3.SubstitutionFormatString_TextFormatSource{TextFormatSource: &corev3.DataSource{
				Specifier: &corev3.DataSource_InlineString{InlineString: strings.TrimSuffix(l.AccessLogFormat, "\n") + "\n"},
			}},
		}}
	}
	config, err := pack(file)
	if err != nil {
		return nil, err
	}
	return &accesslogv3.AccessLog{
		Name:       "envoy.access_loggers.file",
		ConfigType: &accesslogv3.AccessLog_TypedConfig{TypedConfig: config},
	}, nil
}

// isFormat reports whether every percent sign of an access log's format is part of a command; else Envoy refuses the listener.
func isFormat(format string) bool {
	return regexp.MustCompile(`^(?s:[^%]|%%|%[A-Z][A-Z0-9_]*(?:\([^)]*\))?(?::[0-9]+)?%)*$`).MatchString(format)
}
