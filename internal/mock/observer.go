package mock

import (
	"context"
	"log/slog"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// observer counts what was asked and answered, and logs it. Labels are the document's operations, so what clients send
// makes no new ones.
type observer struct {
	registry   *prometheus.Registry
	requests   *prometheus.CounterVec
	latency    *prometheus.HistogramVec
	violations *prometheus.CounterVec
	reloads    *prometheus.CounterVec
	nowhere    operation    // counts the requests that no operation answers
	log        *slog.Logger // nil where requests are not logged
}

// counts are the metrics of one operation, each made when it is needed first.
type counts struct {
	latency atomic.Pointer[prometheus.Observer]
	codes   [countedCodes]atomic.Pointer[codeCount]
}

// countedCodes is how many statuses of an operation are kept at hand.
const countedCodes = 8

type codeCount struct {
	status int
	total  prometheus.Counter
}

func newObserver(log *slog.Logger) *observer {
	o := &observer{
		registry: prometheus.NewRegistry(), log: log,
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tidelock_mock_requests_total", Help: "Requests answered, by operation (METHOD path) and status.",
		}, []string{"operation", "code"}),
		latency: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "tidelock_mock_request_duration_seconds", Help: "Time from a request's header to its answer, by operation.",
			Buckets: []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 5, 30},
		}, []string{"operation"}),
		violations: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tidelock_mock_violations_total", Help: "Ways in which requests did not fit the document, by operation and part.",
		}, []string{"operation", "in"}),
		reloads: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tidelock_mock_reloads_total", Help: "Edits of the definition, by what became of them.",
		}, []string{"result"}),
	}
	for _, result := range []string{"accepted", "refused"} {
		o.reloads.WithLabelValues(result)
	}
	o.registry.MustRegister(o.requests, o.latency, o.violations, o.reloads,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return o
}

// saw counts one request.
func (o *observer) saw(ctx context.Context, c *call, took time.Duration) {
	op := c.op
	if op == nil {
		op = &o.nowhere
	}
	o.timer(op).Observe(took.Seconds())
	o.counter(op, c.status).Inc()
	for i := range c.violations {
		o.violations.WithLabelValues(op.name, c.violations[i].In).Inc()
	}
	if o.log != nil {
		o.logged(ctx, c, op, took)
	}
}

func (o *observer) timer(op *operation) prometheus.Observer {
	if t := op.counts.latency.Load(); t != nil {
		return *t
	}
	t := o.latency.WithLabelValues(op.name)
	op.counts.latency.Store(&t)
	return t
}

func (o *observer) counter(op *operation, status int) prometheus.Counter {
	for i := range op.counts.codes {
		slot := &op.counts.codes[i]
		have := slot.Load()
		if have == nil {
			have = &codeCount{status: status, total: o.requests.WithLabelValues(op.name, strconv.Itoa(status))}
			slot.Store(have) // of two that come together one is made again: the counter is the same
		}
		if have.status == status {
			return have.total
		}
	}
	return o.requests.WithLabelValues(op.name, strconv.Itoa(status))
}

// logged writes one line. Values of headers, of the query and of bodies are not in it: they may be secret.
func (o *observer) logged(ctx context.Context, c *call, op *operation, took time.Duration) {
	attrs := make([]slog.Attr, 0, 8)
	attrs = append(attrs,
		slog.String("method", short(c.r.Method, 16)), slog.String("path", short(c.r.URL.EscapedPath(), 512)),
		slog.String("operation", op.name), slog.Int("status", c.status), slog.Int("bytes", c.bytes),
		slog.Duration("took", took))
	if len(c.violations) > 0 {
		attrs = append(attrs, slog.String("violation", short(c.violations[0].String(), 512)))
	}
	o.log.LogAttrs(ctx, slog.LevelInfo, "request", attrs...)
}

// short bounds what a client sent.
func short(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return s[:most] + "…"
}
