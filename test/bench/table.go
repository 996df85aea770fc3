package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// bench is one run: what it works with, and the rows that it has so far.
type bench struct {
	options

	dir   string
	plane *plane
	gate  *gate
	out   io.Writer
	rows  []row
}

// row is one line of the table.
type row struct {
	what, took, requests, note string
}

// add appends a row, and prints it at once: a run takes minutes.
func (b *bench) add(r row) {
	b.rows = append(b.rows, r)
	_, _ = fmt.Fprintf(b.out, "  %s: %s\n", r.what, strings.Join(slices.DeleteFunc([]string{r.took, r.requests, r.note},
		func(s string) bool { return s == "" }), "; "))
}

func (b *bench) print() error {
	w := tabwriter.NewWriter(b.out, 0, 0, 3, ' ', 0)
	_, _ = fmt.Fprint(w, "\nwhat\ttook\trequests\t\n")
	for _, r := range b.rows {
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", r.what, r.took, r.requests, r.note)
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("print the table: %w", err)
	}
	return nil
}

// times writes how often b fits into a: "2.4 x".
func times(a, b time.Duration) string { return fmt.Sprintf("%.2f x", a.Seconds()/b.Seconds()) }

// percentile returns the p-th percentile of durations, which it sorts.
func percentile(d []time.Duration, p int) time.Duration {
	slices.Sort(d)
	return d[min(len(d)-1, len(d)*p/100)]
}

func round(d time.Duration) string {
	const three = 1000
	if d > time.Second {
		return d.Round(time.Second / 100).String()
	}
	return d.Round(max(d/three, time.Microsecond)).String()
}
