package cli

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/tidelock/tidelock/api/v1alpha1"
	"github.com/tidelock/tidelock/internal/desired"
)

// statusPrinter writes where instances stand for a person.
type statusPrinter struct {
	painter
	now time.Time
}

// instances writes a table of many, or all that is known of each.
func (p statusPrinter) instances(list []instanceStatus, short bool) string {
	var b strings.Builder
	if short {
		rows := [][]cell{head("NAMESPACE", "NAME", "READY", "COMMIT", "SINCE", "MESSAGE")}
		for _, i := range list {
			row := cells(i.Namespace, i.Name, yesNo(i.Ready), shortCommit(i.Status.Commit), p.age(i.Since), i.Message)
			row[2].style = i.style()
			rows = append(rows, row)
		}
		p.table(&b, "", rows)
		return b.String()
	}
	for n, i := range list {
		if n > 0 {
			b.WriteString("\n")
		}
		p.instance(&b, i)
	}
	return b.String()
}

// instance writes all that is known of one: first where it stands, then what asks for a person, then the rest.
func (p statusPrinter) instance(b *strings.Builder, i instanceStatus) {
	s := i.Status
	fmt.Fprintf(b, "%s  %s  %s\n", p.paint(bold, i.Namespace+"/"+i.Name), p.paint(i.style(), i.word()), clean(i.Message))
	p.table(b, "  ", p.facts(i))
	if r := s.Rejected; r != nil {
		p.section(b, red, strings.TrimSpace("rejected "+shortCommit(r.Commit)+" "+clean(r.Subject)), r.Errors)
	}
	p.waits(b, s.Waiting, int(s.Counts.Waiting))
	p.section(b, red, "contested: somebody keeps changing these back", s.Contested)
	p.section(b, yellow, "warnings", s.Warnings)
	p.section(b, bold, "next", s.NextRuns)
	p.proxies(b, s.Proxies)
	p.kinds(b, s.Kinds)
	p.section(b, bold, "released: left the repository, and kept", s.Released)
}

// facts are the lines that every instance has.
func (p statusPrinter) facts(i instanceStatus) [][]cell {
	s := i.Status
	var rows [][]cell
	add := func(name, value string) {
		if value != "" {
			rows = append(rows, []cell{{name, faint}, {text: value}})
		}
	}
	add("repository", s.Repository)
	add("follows", strings.TrimPrefix(fmt.Sprintf("%s, path %s", cmp.Or(s.Ref, "HEAD"), cmp.Or(s.Path, ".")), ", "))
	if i.Spec.Pin != "" {
		add("pinned", "at "+shortCommit(i.Spec.Pin)+" by spec.pin")
	}
	if i.Spec.Suspend {
		add("suspended", "by spec.suspend: newer commits are not followed")
	}
	if s.Commit != "" {
		add("commit", strings.TrimSpace(shortCommit(s.Commit)+"  "+s.Subject)+p.ago("  (", s.CommitTime, ")"))
	}
	add("behind", behind(s))
	add("objects", objects(s.Counts))
	if d := s.Drift; d != nil {
		add("drift", fmt.Sprintf("%d put back, last %s ago: %s", d.Corrected, p.age(&d.Last), strings.Join(d.Objects, ", ")))
	}
	switch d := i.Daemon; {
	case d == nil:
	case d.Expired:
		rows = append(rows, []cell{{"daemon", faint}, {"none: " + d.Holder + " was last heard of " + p.age(&d.Renewed) + " ago", yellow}})
	default:
		add("daemon", d.Holder)
	}
	return rows
}

// behind names the proxy groups that do not serve the accepted commit in full.
func behind(s v1alpha1.SyncStatus) string {
	var out []string
	for _, group := range slices.Sorted(maps.Keys(s.LiveCommit)) {
		if commit := s.LiveCommit[group]; commit != s.Commit {
			out = append(out, fmt.Sprintf("proxies %s serve %s", group, shortCommit(commit)))
		}
	}
	return strings.Join(out, ", ")
}

// objects says what was done for the commit, without what was not.
func objects(c v1alpha1.Counts) string {
	var out []string
	for _, n := range []struct {
		count int32
		word  string
	}{{c.Created, "created"}, {c.Changed, "changed"}, {c.Unchanged, "unchanged"}, {c.Failed, "failed"}, {c.Pruned, "pruned"}} {
		if n.count > 0 {
			out = append(out, fmt.Sprintf("%d %s", n.count, n.word))
		}
	}
	return strings.Join(out, ", ")
}

func (p statusPrinter) waits(b *strings.Builder, waits []v1alpha1.Wait, all int) {
	if len(waits) == 0 {
		return
	}
	p.title(b, yellow, "waits")
	var rows [][]cell
	for _, w := range waits {
		rows = append(rows, cells(w.For, "for "+w.Until, p.age(&w.Since)))
	}
	p.table(b, "  ", rows)
	if n := all - len(waits); n > 0 {
		fmt.Fprintf(b, "  and %d more\n", n)
	}
}

func (p statusPrinter) proxies(b *strings.Builder, list []v1alpha1.ProxyStatus) {
	if len(list) == 0 {
		return
	}
	b.WriteString("\n")
	rows := [][]cell{head("PROXY", "GROUP", "STATE", "MESSAGE")}
	for _, x := range list {
		row := cells(x.Node, x.Group, x.State, x.Message)
		row[2].style = map[string]style{"Current": green, "Updating": yellow, "Lagging": yellow, "Rejected": red}[x.State]
		rows = append(rows, row)
	}
	p.table(b, "  ", rows)
}

func (p statusPrinter) kinds(b *strings.Builder, list []v1alpha1.KindCounts) {
	if len(list) == 0 {
		return
	}
	b.WriteString("\n")
	rows := [][]cell{head("KIND", "CREATED", "CHANGED", "UNCHANGED", "FAILED", "WAITING", "PRUNED")}
	for _, k := range list {
		row := []cell{{text: k.Kind}}
		for n, count := range []int32{k.Created, k.Changed, k.Unchanged, k.Failed, k.Waiting, k.Pruned} {
			c := cell{fmt.Sprint(count), plain}
			switch {
			case count == 0:
				c = cell{"-", faint}
			case n == 3:
				c.style = red
			case n == 4:
				c.style = yellow
			}
			row = append(row, c)
		}
		rows = append(rows, row)
	}
	p.table(b, "  ", rows)
}

func (p statusPrinter) section(b *strings.Builder, s style, title string, lines []string) {
	if len(lines) == 0 {
		return
	}
	p.title(b, s, title)
	for _, l := range lines {
		fmt.Fprintf(b, "  %s\n", clean(l))
	}
}

func (p statusPrinter) title(b *strings.Builder, s style, text string) {
	fmt.Fprintf(b, "\n%s\n", p.paint(s, text))
}

// age is how long ago something was, as kubectl writes it.
func (p statusPrinter) age(t *metav1.Time) string {
	if t == nil || t.IsZero() {
		return ""
	}
	return duration.HumanDuration(max(0, p.now.Sub(t.Time)))
}

func (p statusPrinter) ago(before string, t *metav1.Time, after string) string {
	if t == nil {
		return ""
	}
	return before + p.age(t) + " ago" + after
}

func (i instanceStatus) word() string {
	switch {
	case i.Ready:
		return "Ready"
	case i.Reason != "":
		return i.Reason
	default:
		return "Unknown"
	}
}

func (i instanceStatus) style() style {
	switch {
	case i.Ready:
		return green
	case i.Stalled:
		return red
	default:
		return yellow
	}
}

func yesNo(yes bool) string {
	if yes {
		return "True"
	}
	return "False"
}

func shortCommit(hash string) string { return desired.Revision{Commit: hash}.Short() }
