package apply

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tidelock/tidelock/internal/desired"
)

// percentFrom is how many deletes a commit may make before their share of what is owned counts.
const percentFrom = 10

// ErrHeld is wrapped by what Check returns: the commit would delete more than is likely meant.
var ErrHeld = errors.New("held back by the prune brakes of tidelock.yaml")

// Deletes returns the objects that the plan deletes, sorted.
func (p Plan) Deletes() []desired.ID {
	var out []desired.ID
	for _, c := range p.Prunes {
		if c.Action == Delete {
			out = append(out, c.ID)
		}
	}
	slices.SortFunc(out, desired.ID.Compare)
	return out
}

// DeletesDigest names exactly the set of deletes of the plan; `prune.approve` lets it through. It is a function of the
// objects' names alone, so that a review without a cluster shows the same.
func (p Plan) DeletesDigest() string {
	var b strings.Builder
	for _, id := range p.Deletes() {
		fmt.Fprintf(&b, "%s|%s|%s|%s\n", id.Group, id.Kind, id.Namespace, id.Name)
	}
	return shortHash([]byte(b.String()))
}

// Check stops a plan that deletes more than the brakes allow; the error names the digest that lets it through.
func (p Plan) Check(b desired.Brakes) error {
	deletes := len(p.Deletes())
	if p.Declared == 0 && p.Owned > 0 {
		if b.AllowEmpty {
			return nil
		}
		return fmt.Errorf("%w: the commit declares nothing and would remove all %d objects; if it is meant, set "+
			"prune.allowEmpty: true in tidelock.yaml", ErrHeld, p.Owned)
	}
	limit := ""
	switch {
	case deletes > b.MaxDeletes:
		limit = fmt.Sprintf("maxDeletes is %d", b.MaxDeletes)
	case deletes > percentFrom && deletes*100 > b.MaxPercent*p.Owned:
		limit = fmt.Sprintf("maxPercent is %d", b.MaxPercent)
	}
	if limit == "" || b.Approve == p.DeletesDigest() {
		return nil
	}
	return fmt.Errorf("%w: the commit would delete %d of %d objects (%s), and %s; if exactly these deletes are meant, set "+
		"prune.approve: %s in tidelock.yaml", ErrHeld, deletes, p.Owned, firstOf(p.Deletes()), limit, p.DeletesDigest())
}

func firstOf(ids []desired.ID) string {
	const shown = 5
	var names []string
	for _, id := range ids[:min(shown, len(ids))] {
		names = append(names, id.String())
	}
	if len(ids) > shown {
		names = append(names, "…")
	}
	return strings.Join(names, ", ")
}

// Digest names what the plan would write, so that a preflight that went well need not be done again.
func (p Plan) Digest() string {
	var b strings.Builder
	for _, c := range p.Writes {
		live := ""
		if c.Live != nil {
			live = string(c.Live.UID)
		}
		fmt.Fprintf(&b, "%s|%s|%s|%s|%s|%s|%s\n", c.Group, c.Kind, c.Namespace, c.Name, c.Action, c.digest, live)
	}
	return shortHash([]byte(b.String()))
}
