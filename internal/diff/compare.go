package diff

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/tidelock/tidelock/internal/desired"
	"github.com/tidelock/tidelock/internal/redact"
)

// Input is what is compared.
type Input struct {
	Base, Head Side
	// Path of the folder that was rendered.
	Path string
	// Changes are the objects that differ, as the plan has them; all others are equal.
	Changes []Change
	// Checked says that the API server was asked about each of them.
	Checked bool
	// Brake is what the brakes say, with its Text where it holds the commit.
	Brake *Brake
	// Refused is what was found wrong with the head beyond its own problems: by the server, by a proxy's rules.
	Refused []desired.Problem
	// Unknown is what could not be found out.
	Unknown []string
	// Now is the moment that the next instants are counted from.
	Now time.Time
	// Secrets hides the values of Secrets on both sides.
	Secrets *redact.Redactor
}

// Side is one of the two.
type Side struct {
	Revision Revision
	// State is what it declares; the zero value where it is refused.
	State desired.State
	// Problems is why it cannot be rendered.
	Problems []desired.Problem
}

// Change is one object of the plan.
type Change struct {
	desired.ID
	Action Action
	Reason string
	// WaitsFor is what a delete waits for, where that can be known.
	WaitsFor string
	// Before and After are the object on both sides; nil where it is absent. They are shared and are not changed.
	Before, After *unstructured.Unstructured
	// Origin and Source are those of the head where it has the object, else of the base.
	Origin desired.Origin
	Source desired.Source
}

// Of compares. It is a pure function of its input, and its cost grows with what differs, but for one look at every route.
func Of(in Input) Diff {
	d := Diff{
		Base: in.Base.Revision, Head: in.Head.Revision, Path: in.Path, Brake: in.Brake, Unknown: in.Unknown,
		BaseRefused: problems(in.Base.Problems),
		Refused:     problems(append(slices.Clone(in.Head.Problems), in.Refused...)),
		Counts:      map[Action]int{},
	}
	if len(in.Head.Problems) == 0 {
		d.Warnings, d.OldWarnings = newWarnings(in.Base.State.Warnings, in.Head.State.Warnings)
		o := objects(slices.Clone(in.Changes), in.Checked)
		d.Objects, d.Prunes = o.all, o.prunes
		d.Refused, d.Warnings = append(d.Refused, o.refused...), append(d.Warnings, o.warned...)
		d.steps(o.changes)
		t := traffic(in.Base.State, in.Head.State)
		d.Traffic = t.entries()
		d.Time = append(timings(in.Base.State.Schedules, in.Head.State.Schedules, in.Now),
			stepsAhead(in.Base.State, in.Head.State, in.Now)...)
		d.Reach = reach(in.Changes, t)
	}
	d.fill()
	d.Changed = len(d.Plan)+len(d.Traffic)+len(d.Time) > 0
	hide(&d, in.Secrets, in.Changes)
	d.cut()
	return d
}

// steps fills the plan and its counts.
func (d *Diff) steps(changes []Change) {
	for _, c := range changes {
		d.Plan = append(d.Plan, Step{Action: c.Action, Group: c.Group, Kind: c.Kind, Namespace: c.Namespace, Name: c.Name})
		d.Counts[c.Action]++
	}
}

func problems(ps []desired.Problem) []Problem {
	out := make([]Problem, 0, len(ps))
	for _, p := range desired.Problems(ps).Sorted() {
		out = append(out, Problem{File: p.Path, Line: p.Line, Object: p.Object, Field: p.Field, Text: p.Text})
	}
	return out
}

// newWarnings returns what the head warns of and the base did not, and how many it warns of as before. Lines may move.
func newWarnings(base, head []desired.Problem) ([]Problem, int) {
	known := map[desired.Problem]bool{}
	for _, p := range base {
		p.Line = 0
		known[p] = true
	}
	var fresh []desired.Problem
	for _, p := range head {
		at := p
		at.Line = 0
		if !known[at] {
			fresh = append(fresh, p)
		}
	}
	return problems(fresh), len(head) - len(fresh)
}

// fill makes every list of the JSON a list, also where it is empty.
func (d *Diff) fill() {
	d.Refused, d.Warnings = filled(d.Refused), filled(d.Warnings)
	d.Traffic, d.Time, d.Prunes = filled(d.Traffic), filled(d.Time), filled(d.Prunes)
	d.Objects, d.Plan = filled(d.Objects), filled(d.Plan)
	d.Reach.Namespaces, d.Reach.Hosts = filled(d.Reach.Namespaces), filled(d.Reach.Hosts)
	d.Reach.Proxies = filled(d.Reach.Proxies)
	for i := range d.Traffic {
		d.Traffic[i].Where = filled(d.Traffic[i].Where)
	}
}

func filled[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
