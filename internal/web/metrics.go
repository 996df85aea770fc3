package web

import (
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// NewRegistry returns a registry with what every process shows: its version, the Go runtime, memory and descriptors.
func NewRegistry(version string) *prometheus.Registry {
	reg := prometheus.NewRegistry()
	build := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "tidelock_build_info", Help: "1; the labels say what runs.",
	}, []string{"version", "go_version"})
	build.WithLabelValues(version, runtime.Version()).Set(1)
	reg.MustRegister(build, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return reg
}

// MetricsHandler answers with what a registry holds, in the formats of Prometheus.
func MetricsHandler(reg *prometheus.Registry) http.Handler {
	const atOnce = 4
	return promhttp.HandlerFor(reg, promhttp.HandlerOpts{MaxRequestsInFlight: atOnce})
}

// CountRequests returns what wraps the transport to the API server, so that its requests are counted by verb, as the API
// server names them, and by code.
func CountRequests(reg prometheus.Registerer) func(http.RoundTripper) http.RoundTripper {
	t := &requestCounter{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tidelock_api_requests_total",
			Help: "Requests to the API server. The code is 0 where there was no answer.",
		}, []string{"verb", "code", "dry_run"}),
		durations: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "tidelock_api_request_duration_seconds", Help: "How long the API server took to answer; watches are left out.",
			Buckets: prometheus.ExponentialBuckets(1e-3, 3, 10),
		}, []string{"verb"}),
	}
	reg.MustRegister(t.requests, t.durations)
	return func(base http.RoundTripper) http.RoundTripper {
		c := *t
		c.base = base
		return &c
	}
}

type requestCounter struct {
	base      http.RoundTripper
	requests  *prometheus.CounterVec
	durations *prometheus.HistogramVec
}

// RoundTrip counts a request once its answer has begun.
func (c *requestCounter) RoundTrip(req *http.Request) (*http.Response, error) {
	began := time.Now()
	resp, err := c.base.RoundTrip(req)
	verb, code := verbOf(req), "0"
	if err == nil {
		code = strconv.Itoa(resp.StatusCode)
	}
	c.requests.WithLabelValues(verb, code, strconv.FormatBool(req.URL.Query().Get("dryRun") != "")).Inc()
	if verb != "watch" {
		c.durations.WithLabelValues(verb).Observe(time.Since(began).Seconds())
	}
	return resp, err
}

// verbOf names a request as the API server's own rules do; discovery and health are "get" of no resource: "discover".
func verbOf(req *http.Request) string {
	name, isResource := resourceName(req.URL.Path)
	switch req.Method {
	case http.MethodPost:
		return "create"
	case http.MethodPut:
		return "update"
	case http.MethodDelete:
		if name == "" {
			return "deletecollection"
		}
		return "delete"
	case http.MethodPatch:
		if strings.HasPrefix(req.Header.Get("Content-Type"), "application/apply-patch") {
			return "apply"
		}
		return "patch"
	}
	switch watch := req.URL.Query().Get("watch"); {
	case !isResource:
		return "discover"
	case watch == "true" || watch == "1":
		return "watch"
	case name == "":
		return "list"
	default:
		return "get"
	}
}

// resourceName returns the name in a path of the API, which a list does not have; false where it names no resource.
func resourceName(path string) (string, bool) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	switch {
	case parts[0] == "api" && len(parts) > 2:
		parts = parts[2:]
	case parts[0] == "apis" && len(parts) > 3:
		parts = parts[3:]
	default:
		return "", false
	}
	const inNamespace = 3 // namespaces/<name>/<resource>, which is a subresource of the Namespace where it is one of these
	if parts[0] == "namespaces" && len(parts) >= inNamespace && parts[2] != "status" && parts[2] != "finalize" {
		parts = parts[2:]
	}
	if len(parts) == 1 {
		return "", true
	}
	return parts[1], true
}
