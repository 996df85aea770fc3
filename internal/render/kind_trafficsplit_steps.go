package render

import (
	"maps"
	"slices"

	"github.com/tidelock/tidelock/internal/desired"
)

// steps reads the steps of a split. Each names every target: one that is left out could keep its weight or lose it.
func (c *commit) steps(s *split) {
	for i, step := range s.spec.Steps {
		at := field("spec", "steps", i)
		instants, err := desired.ParseSchedule(step.At, step.TimeZone)
		switch {
		case err != nil:
			wrong := at.child("at")
			if _, zoneErr := desired.ParseSchedule("@daily", step.TimeZone); zoneErr != nil {
				wrong = at.child("timeZone")
			}
			c.refuse(s.problem(wrong, "%v", err))
		case !instants.Repeats() && step.TimeZone != "":
			c.refuse(s.problem(at.child("timeZone"), "goes with a cron expression: an instant has an offset of its own"))
		}
		out := desired.Step{Instants: instants, Weights: make([]uint32, len(s.Targets))}
		for _, name := range slices.Sorted(maps.Keys(step.Weights)) {
			target := slices.Index(s.Targets, name)
			if target < 0 {
				c.refuse(s.problem(at.child("weights", name), "no target %q in this split%s", name, didYouMean(name, s.Targets)))
				continue
			}
			out.Weights[target] = uint32(step.Weights[name]) //nolint:gosec // not negative by the schema
		}
		for _, name := range s.Targets {
			if _, ok := step.Weights[name]; !ok {
				c.refuse(s.problem(at.child("weights"), "target %q is left out: a step names the weight of every target, "+
					"0 for one that gets no request", name))
			}
		}
		c.warnNone(s, at.child("weights"), out.Weights, " from "+step.At+" on")
		s.Steps = append(s.Steps, out)
	}
}

// generateStepped adds an object whose content depends on the weights in force.
func (c *commit) generateStepped(s *split, id desired.ID, content func(weights []uint32) map[string]any) {
	c.generateUnstructured(s.place, s.source(), id, content(s.Own))
	if len(s.Steps) == 0 {
		return
	}
	o := &c.out.objects[len(c.out.objects)-1]
	o.Steps = append(o.Steps, o.Content)
	for _, step := range s.Steps {
		o.Steps = append(o.Steps, unstructuredOf(content(step.Weights)))
	}
}
