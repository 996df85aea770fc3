package render

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/tidelock/tidelock/api/v1alpha1"
	"github.com/tidelock/tidelock/internal/desired"
)

// envoysTimeout is that of a request where a rule sets none.
const envoysTimeout = 15 * time.Second

// rewrite returns how the request is changed before it is sent on.
func (rl ruler) rewrite(in *v1alpha1.Rewrite) desired.Rewrite {
	if in == nil {
		return desired.Rewrite{}
	}
	at := rl.at.child("rewrite")
	if in.Host != "" && !isHostOrHostPort(in.Host) {
		rl.wrong(at.child("host"), "want a host name, or host:port")
	}
	rl.newPath(at, in.Path, in.Prefix)
	return desired.Rewrite{Host: in.Host, Path: in.Path, Prefix: in.Prefix}
}

// newPath checks a path or a prefix that takes the place of the request's.
func (rl ruler) newPath(at fieldPath, path string, prefix *string) {
	if path != "" && !strings.HasPrefix(path, "/") {
		rl.wrong(at.child("path"), `want a path that begins with "/"`)
	}
	if isUnsent(path) {
		rl.wrong(at.child("path"), "%s", escapeHint(path))
	}
	if prefix == nil {
		return
	}
	if isUnsent(*prefix) {
		rl.wrong(at.child("prefix"), "%s", escapeHint(*prefix))
	}
	switch m := rl.rule.Match.Path; {
	case path != "":
		rl.wrong(at, "set one of path and prefix")
	case *prefix != "" && !strings.HasPrefix(*prefix, "/"):
		rl.wrong(at.child("prefix"), `want a path that begins with "/"`)
	case m != nil && m.Type != "" && m.Type != v1alpha1.PathPrefix:
		rl.wrong(at.child("prefix"), "goes with a path of type Prefix only; this rule's is %s", m.Type)
	}
}

func isHostOrHostPort(text string) bool {
	if _, _, wrong := hostPort(text); wrong == "" {
		return true
	}
	return isHostName(strings.ToLower(text)) || isIP(text)
}

// retries returns how failed requests are tried again; nil for not at all.
func (rl ruler) retries(in *v1alpha1.Retries) *desired.Retries {
	if in == nil {
		return nil
	}
	at := rl.at.child("retries")
	out := &desired.Retries{
		Attempts: uint32(cmp.Or(in.Attempts, 1)), //nolint:gosec // 1 to 10 by the schema
		On:       []string{"connect-failure", "refused-stream", "unavailable", "reset"},
	}
	if len(in.RetryOn) > 0 {
		out.On = in.RetryOn
	}
	for i, condition := range in.RetryOn {
		if !slices.Contains(retryConditions(), condition) {
			rl.wrong(at.child("retryOn", i), "want one of %s%s", strings.Join(retryConditions(), ", "),
				didYouMean(condition, retryConditions()))
		}
	}
	if d := rl.timeout(at.child("perTryTimeout"), in.PerTryTimeout, time.Millisecond); d != nil {
		out.PerTryTimeout = *d
		whole := envoysTimeout
		if rl.rule.Timeout != nil {
			whole = rl.rule.Timeout.Duration
		}
		if whole > 0 && *d > whole {
			rl.wrong(at.child("perTryTimeout"), "%s is longer than the timeout of the whole request, %s", *d, whole)
		}
	}
	return out
}

// retryConditions are those of Envoy's x-envoy-retry-on and x-envoy-retry-grpc-on that need no further setting.
func retryConditions() []string {
	return []string{
		"5xx", "gateway-error", "reset", "reset-before-request", "connect-failure", "envoy-ratelimited", "retriable-4xx",
		"refused-stream", "http3-post-connect-failure",
		"cancelled", "deadline-exceeded", "internal", "resource-exhausted", "unavailable",
	}
}

// redirect returns where the client is sent.
func (rl ruler) redirect(in v1alpha1.Redirect) *desired.Redirect {
	at := rl.at.child("redirect")
	if in.Scheme == "" && in.Host == "" && in.Port == 0 && in.Path == "" && in.Prefix == nil {
		rl.wrong(at, "leads to where the request came from: set scheme, host, port, path or prefix")
	}
	if in.Host != "" && !isHostName(strings.ToLower(in.Host)) && !isIP(in.Host) {
		rl.wrong(at.child("host"), "want a host name; the port has a field of its own")
	}
	rl.newPath(at, in.Path, in.Prefix)
	const found = 302
	return &desired.Redirect{
		Scheme: in.Scheme, Host: in.Host, Path: in.Path, Prefix: in.Prefix,
		Port: uint32(in.Port), Code: uint32(cmp.Or(in.Code, found)), //nolint:gosec // positive by the schema
	}
}

// direct returns what the proxy answers itself.
func (rl ruler) direct(in v1alpha1.DirectResponse) *desired.DirectResponse {
	const most = 4096 // bytes, Envoy's own limit
	if len(in.Body) > most {
		rl.wrong(rl.at.child("directResponse", "body"), "want at most %d bytes, got %d", most, len(in.Body))
	}
	return &desired.DirectResponse{Status: uint32(in.Status), Body: in.Body} //nolint:gosec // positive by the schema
}

// headers returns the changes of headers on both ways.
func (rl ruler) headers(in *v1alpha1.Headers) desired.Headers {
	if in == nil {
		return desired.Headers{}
	}
	at := rl.at.child("headers")
	return desired.Headers{
		Request:  rl.headerChange(at.child("request"), in.Request),
		Response: rl.headerChange(at.child("response"), in.Response),
	}
}

func (rl ruler) headerChange(at fieldPath, in v1alpha1.HeaderChange) desired.HeaderChange {
	out := desired.HeaderChange{Set: rl.changedHeaders(at.child("set"), in.Set), Add: rl.changedHeaders(at.child("add"), in.Add)}
	for i, name := range in.Remove {
		name = rl.changedHeader(at.child("remove", i), name)
		same := func(h desired.Header) bool { return h.Name == name }
		if slices.ContainsFunc(out.Set, same) || slices.ContainsFunc(out.Add, same) {
			rl.wrong(at.child("remove", i), "%q is set here too", name)
		}
		out.Remove = append(out.Remove, name)
	}
	slices.Sort(out.Remove)
	return out
}

// changedHeaders returns headers by name.
func (rl ruler) changedHeaders(at fieldPath, in map[string]string) []desired.Header {
	var out []desired.Header
	for name, value := range in {
		at := at.child(name)
		h := desired.Header{Name: rl.changedHeader(at, name), Value: value}
		if strings.ContainsAny(value, "\r\n\x00") {
			rl.wrong(at, "a value cannot hold a line break")
		}
		out = append(out, h)
	}
	slices.SortFunc(out, func(a, b desired.Header) int { return strings.Compare(a.Name, b.Name) })
	for i := 1; i < len(out); i++ {
		if out[i].Name == out[i-1].Name {
			rl.wrong(at, "%q stands twice: names are compared without case", out[i].Name)
		}
	}
	return out
}

// changedHeader returns the name of a header that may be changed.
func (rl ruler) changedHeader(at fieldPath, name string) string {
	name = strings.ToLower(name)
	switch {
	case strings.HasPrefix(name, ":"):
		rl.wrong(at, "a pseudo header cannot be changed: use rewrite")
	case name == "host":
		rl.wrong(at, "the host is changed by rewrite.host")
	case !isToken(name):
		rl.wrong(at, "no name of a header")
	}
	return name
}
