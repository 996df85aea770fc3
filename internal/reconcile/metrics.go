package reconcile

import (
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tidelock/tidelock/internal/apply"
	"github.com/tidelock/tidelock/internal/desired"
	"github.com/tidelock/tidelock/internal/schedule"
	"github.com/tidelock/tidelock/internal/xds"
)

// Metrics turns what passes return into metrics of Prometheus. No label has more values than this code names.
type Metrics struct {
	leading, ready, stalled   prometheus.Gauge
	passes                    *prometheus.CounterVec
	pass                      prometheus.Histogram
	steps                     [steps]prometheus.Observer
	succeeded                 prometheus.Gauge
	verdicts, writes          *prometheus.CounterVec
	commits                   *prometheus.GaugeVec
	rejected, owned, failed   prometheus.Gauge
	contested, waits, overdue prometheus.Gauge
	corrected                 prometheus.Counter
}

// NewMetrics registers the metrics of one instance, those of its proxies among them, and of its schedules where they fire.
func NewMetrics(reg prometheus.Registerer, proxies *xds.Server, runs *schedule.Runner) *Metrics {
	gauge := func(name, help string) prometheus.Gauge {
		g := prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
		reg.MustRegister(g)
		return g
	}
	counters := func(name, help, label string, values ...string) *prometheus.CounterVec {
		c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{label})
		for _, v := range values {
			c.WithLabelValues(v) // what has not happened yet is 0, and not missing
		}
		reg.MustRegister(c)
		return c
	}
	m := &Metrics{
		leading:   gauge("tidelock_leader", "1 while this process has the instance's Lease and makes passes."),
		ready:     gauge("tidelock_ready", "1 where the newest commit is accepted, all of it is in and no proxy is behind."),
		stalled:   gauge("tidelock_stalled", "1 where the instance goes on only if somebody mends something."),
		succeeded: gauge("tidelock_last_successful_pass_timestamp_seconds", "When the last pass without trouble ended. A pass needs a reason: without news there is none."),
		rejected:  gauge("tidelock_rejected_commit", "1 where the newest commit is refused and an older one stays live."),
		owned:     gauge("tidelock_objects_owned", "Objects in the inventory."),
		failed:    gauge("tidelock_objects_failed", "Objects of the accepted commit that could not be written."),
		contested: gauge("tidelock_objects_contested", "Objects that somebody keeps changing back."),
		waits:     gauge("tidelock_waits", "What the accepted commit waits for."),
		overdue:   gauge("tidelock_waits_overdue", "Waits that have gone on for longer than they may."),
		passes:    counters("tidelock_passes_total", "Passes by how they ended.", "outcome", "ok", "waiting", "trouble"),
		verdicts:  counters("tidelock_commits_total", "Commits by verdict.", "verdict", "accepted", "rejected"),
		writes:    counters("tidelock_object_writes_total", "Writes to objects by what they did.", "action", "create", "change", "prune", "release"),
		commits: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "tidelock_commit_timestamp_seconds",
			Help: "When a commit was made: the newest that is known, the accepted one, and the one that was live in full last.",
		}, []string{"commit"}),
		corrected: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "tidelock_drift_corrections_total", Help: "Objects that were put back after somebody had changed or deleted them.",
		}),
	}
	m.timers(reg)
	reg.MustRegister(m.commits, m.corrected, proxyMetrics(proxies))
	if runs != nil {
		registerRuns(reg, runs)
	}
	return m
}

// timers registers how long passes take. A pass with nothing to do takes microseconds, a first apply of much takes minutes.
func (m *Metrics) timers(reg prometheus.Registerer) {
	const smallest, factor, count = 100e-6, 4, 12
	buckets := prometheus.ExponentialBuckets(smallest, factor, count)
	m.pass = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "tidelock_pass_duration_seconds", Help: "How long a pass took.", Buckets: buckets,
	})
	byStep := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "tidelock_pass_step_duration_seconds", Help: "How long a step of a pass took.", Buckets: buckets,
	}, []string{"step"})
	for s := range m.steps {
		m.steps[s] = byStep.WithLabelValues(passStep(s).String())
	}
	reg.MustRegister(m.pass, byStep)
}

// leads notes whether passes are made; a nil Metrics takes no notes.
func (m *Metrics) leads(yes bool) {
	if m != nil {
		m.leading.Set(number(yes))
	}
}

// note takes in what a pass has come to.
func (m *Metrics) note(was, now standing, owned int, watch stopwatch, at time.Time) {
	if m == nil {
		return
	}
	m.pass.Observe(at.Sub(watch.began).Seconds())
	for s, d := range watch.took {
		m.steps[s].Observe(d.Seconds())
	}
	switch {
	case now.trouble != nil || now.unknown != nil:
		m.passes.WithLabelValues("trouble").Inc()
	case now.settled():
		m.passes.WithLabelValues("ok").Inc()
		m.succeeded.Set(seconds(at))
	default:
		m.passes.WithLabelValues("waiting").Inc()
		m.succeeded.Set(seconds(at))
	}
	m.noteCommits(was, now)
	m.noteObjects(now.result)
	m.owned.Set(float64(owned))
	m.waits.Set(float64(len(now.waits)))
	m.overdue.Set(float64(len(now.overdue(at))))
	m.ready.Set(number(now.settled()))
	m.stalled.Set(number(now.stalled(at)))
}

func (m *Metrics) noteCommits(was, now standing) {
	if !now.accepted.is(was.accepted) {
		m.verdicts.WithLabelValues("accepted").Inc()
	}
	if newlyRefused(was, now) {
		m.verdicts.WithLabelValues("rejected").Inc()
	}
	m.rejected.Set(number(now.refused != nil))
	newest := now.accepted.rev
	switch {
	case now.refused != nil:
		newest = now.refused.rev
	case now.unchecked != nil:
		newest = now.checking.commit.rev
	}
	m.time("newest", newest)
	m.time("accepted", now.accepted.rev)
	if now.settled() {
		m.time("live", now.accepted.rev)
	}
}

// time sets when a commit was made; a folder without git has no such time.
func (m *Metrics) time(commit string, rev desired.Revision) {
	if !rev.Time.IsZero() {
		m.commits.WithLabelValues(commit).Set(seconds(rev.Time))
	}
}

func (m *Metrics) noteObjects(r apply.Result) {
	m.writes.WithLabelValues("create").Add(float64(len(r.Created)))
	m.writes.WithLabelValues("change").Add(float64(len(r.Changed)))
	m.writes.WithLabelValues("prune").Add(float64(len(r.Pruned)))
	m.writes.WithLabelValues("release").Add(float64(len(r.Released)))
	m.corrected.Add(float64(len(r.Corrected)))
	m.failed.Set(float64(len(r.Failed)))
	m.contested.Set(float64(len(r.Contested)))
}

func number(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

func seconds(t time.Time) float64 {
	return float64(t.UnixMilli()) / float64(time.Second/time.Millisecond)
}

// registerRuns has the tally of schedules asked when it is scraped.
func registerRuns(reg prometheus.Registerer, runs *schedule.Runner) {
	counter := func(name, help string, labels prometheus.Labels, of func(schedule.Tally) uint64) {
		reg.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help, ConstLabels: labels},
			func() float64 { return float64(of(runs.Tally())) }))
	}
	const ended = "tidelock_schedule_firings_total"
	counter("tidelock_schedule_starts_total", "Runs of schedules that were let go.", nil, func(t schedule.Tally) uint64 { return t.Started })
	counter("tidelock_schedule_misses_total", "Instants that did not run and were reported.", nil, func(t schedule.Tally) uint64 { return t.Missed })
	for outcome, of := range map[string]func(schedule.Tally) uint64{
		"succeeded": func(t schedule.Tally) uint64 { return t.Succeeded },
		"failed":    func(t schedule.Tally) uint64 { return t.Failed },
		"deleted":   func(t schedule.Tally) uint64 { return t.Deleted },
	} {
		counter(ended, "Runs of schedules that ended, by outcome.", prometheus.Labels{"outcome": outcome}, of)
	}
}

// proxyCollector asks the xDS server when it is scraped.
type proxyCollector struct {
	server                              *xds.Server
	proxies, answers, bytes, acks, nack *prometheus.Desc
}

func proxyMetrics(server *xds.Server) prometheus.Collector {
	describe := func(name, help, label string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, []string{label}, nil)
	}
	return proxyCollector{
		server:  server,
		proxies: describe("tidelock_xds_proxies", "Connected proxies by state.", "state"),
		answers: describe("tidelock_xds_answers_total", "Answers sent to proxies.", "type"),
		bytes:   describe("tidelock_xds_sent_bytes_total", "Bytes of resources sent to proxies.", "type"),
		acks:    describe("tidelock_xds_acks_total", "Answers that proxies took.", "type"),
		nack:    describe("tidelock_xds_nacks_total", "Answers that proxies refused.", "type"),
	}
}

// Describe implements prometheus.Collector.
func (c proxyCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.proxies, c.answers, c.bytes, c.acks, c.nack} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (c proxyCollector) Collect(ch chan<- prometheus.Metric) {
	states := map[xds.ProxyState]int{xds.Current: 0, xds.Updating: 0, xds.Lagging: 0, xds.Rejected: 0}
	for _, p := range c.server.Proxies() {
		states[p.State]++
	}
	for state, n := range states {
		label := strings.ToLower(string(state))
		ch <- prometheus.MustNewConstMetric(c.proxies, prometheus.GaugeValue, float64(n), label)
	}
	for _, e := range c.server.Exchanges() {
		count := func(d *prometheus.Desc, n uint64) {
			ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), e.Type)
		}
		count(c.answers, e.Answers)
		count(c.bytes, e.Bytes)
		count(c.acks, e.ACKs)
		count(c.nack, e.NACKs)
	}
}
