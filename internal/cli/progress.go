package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"
)

const (
	// meterTick is how often the line is drawn anew; meterPatience is how long something takes before it is worth a line.
	meterTick     = 200 * time.Millisecond
	meterPatience = 500 * time.Millisecond
)

// What a terminal understands: to clear the line, and to cut one that is too long instead of going on in the next.
const (
	eraseLine = "\r\x1b[K"
	cutLines  = "\x1b[?7l"
	wrapLines = "\x1b[?7h"
)

// meter shows what takes long, in one line of a terminal that rewrites itself and is gone at the end. What is written
// through the meter, the log, stands above that line. Where no terminal shows it there is no line.
type meter struct {
	out  io.Writer
	live bool // a terminal shows out

	mu    sync.Mutex
	jobs  []*job
	shown string // what stands on the terminal now
}

// job is what one part does.
type job struct {
	doing string
	since time.Time
}

func newMeter(w io.Writer) *meter {
	return &meter{out: w, live: isTerminal(w) && os.Getenv("TERM") != "dumb"}
}

// part returns what a part tells its work to, "" when it is done; nil where nobody would see it. Of several that are at
// work the one that was added last shows.
func (m *meter) part() func(doing string) {
	if !m.live {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	j := &job{}
	m.jobs = append(m.jobs, j)
	return func(doing string) {
		m.mu.Lock()
		defer m.mu.Unlock()
		if j.doing == "" {
			j.since = time.Now()
		}
		j.doing = doing
	}
}

// Run draws the line until ctx ends.
func (m *meter) Run(ctx context.Context) error {
	if !m.live {
		return nil
	}
	tick := time.NewTicker(meterTick)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			m.show("")
			return nil
		case <-tick.C:
			m.show(m.line(time.Now()))
		}
	}
}

// line is what there is to say.
func (m *meter) line(now time.Time) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, j := range slices.Backward(m.jobs) {
		if j.doing != "" && now.Sub(j.since) >= meterPatience {
			return fmt.Sprintf("[%s] %s", now.Sub(j.since).Truncate(time.Second), clean(j.doing))
		}
	}
	return ""
}

func (m *meter) show(line string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if line != m.shown {
		m.shown = line
		_, _ = io.WriteString(m.out, eraseLine+m.drawn())
	}
}

// drawn is the line as a terminal is told it.
func (m *meter) drawn() string {
	if m.shown == "" {
		return ""
	}
	return cutLines + m.shown + wrapLines
}

// Write passes whole lines on, above the line that is shown.
func (m *meter) Write(p []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.shown == "" {
		return m.out.Write(p) //nolint:wrapcheck // as the writer has it
	}
	_, _ = io.WriteString(m.out, eraseLine)
	n, err := m.out.Write(p)
	_, _ = io.WriteString(m.out, m.drawn())
	return n, err //nolint:wrapcheck // as the writer has it
}
