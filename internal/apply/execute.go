package apply

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"github.com/tidelock/tidelock/api/v1alpha1"
	"github.com/tidelock/tidelock/internal/desired"
)

// ErrOwned is wrapped by the failure of an object that another owner has.
var ErrOwned = errors.New("not ours to write")

// Execute makes the writes of a plan, stage by stage. What Preflight has not checked is checked first, so that a plan for
// a commit that is accepted can go without it; a refusal then is that object's failure. One object's failure stops only
// what lives in it (a Namespace) or is made of it (a CustomResourceDefinition).
//
// The error is about the inventory alone, which is written before the first object and after the last; where it cannot be
// written before, nothing is. An empty plan makes no request.
func (c *Cluster) Execute(ctx context.Context, p Plan) (Result, error) {
	p, out := c.inspect(ctx, p)
	x := &execution{c: c, plan: p, failedNamespaces: map[string]bool{}, pendingKinds: map[string]bool{}}
	x.res.Waits = append(x.res.Waits, p.Waits...)
	x.sift(out)
	c.ahead(x.plan)
	if err := c.save(ctx); err != nil {
		return Result{}, err
	}
	one := c.count("applying", len(x.plan.Writes))
	defer c.cfg.Progress("")
	for _, changes := range byStage(x.plan.Writes) {
		var g errgroup.Group
		g.SetLimit(c.cfg.Parallel)
		for _, ch := range changes {
			g.Go(func() error {
				x.write(ctx, ch)
				one()
				return nil
			})
		}
		_ = g.Wait() // what came of each is in x
	}
	x.sort()
	return x.res, c.save(ctx)
}

// count returns what tells that one more of so many objects is done.
func (c *Cluster) count(doing string, total int) (one func()) {
	var done atomic.Int64
	return func() { c.cfg.Progress(fmt.Sprintf("%s: %d of %d objects", doing, done.Add(1), total)) }
}

// sift leaves those writes in the plan that the check has found no fault with, and that nobody fights over.
func (x *execution) sift(out []outcome) {
	kept := make([]Change, 0, len(x.plan.Writes))
	for i, ch := range x.plan.Writes {
		switch {
		case len(out[i].problems) > 0:
			x.fail(ch, desired.Problems(out[i].problems).Err())
		case len(out[i].waits) > 0:
			x.block(ch)
			x.res.Waits = append(x.res.Waits, out[i].waits...)
		case out[i].paused:
		case ch.PutsBack() && !x.c.fights.take(ch.ID):
			x.contested(ch)
		default:
			kept = append(kept, ch)
		}
	}
	x.plan.Writes = kept
}

// ahead notes in the inventory what is about to be made, and what others keep from us. After a crash the entry, our
// field manager and the digest on the object prove that it is ours.
func (c *Cluster) ahead(p Plan) {
	claims := map[desired.ID]string{}
	c.ledger.rolledOut(p.rolledOut)
	for _, ch := range p.Writes {
		entry, owned := c.ledger.entries[ch.ID]
		next := Entry{
			Version: ch.Object.Version, Digest: ch.digest, Origin: ch.Object.Origin, Commit: p.Commit,
			Earlier: c.ledger.earlier(ch),
		}
		switch ch.Action {
		case Refuse:
			if ch.claimant != "" {
				claims[ch.ID] = ch.claimant
			}
			continue
		case Create:
		case Recreate:
			next.UID = entry.UID // until it is deleted
		case Adopt:
			next.UID = ch.Live.UID
		case Update, Correct, Delete, Release:
			if owned && (entry.UID != "" || entry.Digest == ch.digest) {
				entry.Earlier = next.Earlier
				next = entry
			}
		}
		c.ledger.set(ch.ID, next)
	}
	c.ledger.claim(claims)
	c.noteFinished()
}

// execution is one run of Execute. mu guards what its writes have come to.
type execution struct {
	c    *Cluster
	plan Plan

	mu               sync.Mutex
	res              Result
	failedNamespaces map[string]bool
	pendingKinds     map[string]bool // names of CRDs that are not Established yet
}

// write makes one change and notes what came of it.
func (x *execution) write(ctx context.Context, ch Change) {
	if until := x.holds(ch); until != "" {
		x.wait(ch, until)
		return
	}
	if ch.Action == Refuse {
		x.fail(ch, fmt.Errorf("%w: %s; annotate it %s: \"true\" to take it over", ErrOwned, ch.Reason, v1alpha1.AnnotationAdopt))
		return
	}
	live, err := x.c.write(ctx, ch)
	switch {
	case err == nil:
		x.c.fights.wrote(ch.ID, false)
		x.done(ch, live)
	case isConflict(err):
		x.wait(ch, "the next look: it changed meanwhile: "+short(err))
	case errors.Is(err, errDeleting):
		x.wait(ch, ch.Live.ending())
	case meta.IsNoMatchError(err) && x.defined(ch.GroupKind()):
		x.wait(ch, "the API server to offer the kind")
	default:
		x.c.fights.wrote(ch.ID, true)
		x.fail(ch, err)
	}
}

// holds says what a change has to wait for before it is tried, or "".
func (x *execution) holds(ch Change) string {
	x.mu.Lock()
	defer x.mu.Unlock()
	if ch.Namespace != "" && x.failedNamespaces[ch.Namespace] {
		return "Namespace " + ch.Namespace
	}
	if def, ok := x.plan.crds[ch.GroupKind()]; ok && x.pendingKinds[def.object.Name] {
		return "CustomResourceDefinition " + def.object.Name + " Established"
	}
	return ""
}

func (x *execution) defined(gk schema.GroupKind) bool {
	_, ok := x.plan.crds[gk]
	return ok
}

// done notes a write that went well, in the inventory too.
func (x *execution) done(ch Change, live Live) {
	x.mu.Lock()
	defer x.mu.Unlock()
	entry := Entry{
		Version: ch.Object.Version, UID: live.UID, Digest: ch.digest, Live: live.Fields,
		Origin: ch.Object.Origin, Commit: x.plan.Commit, Finished: live.Finished,
	}
	if isSecret(ch.GroupKind()) {
		entry.ResourceVersion = live.ResourceVersion
	}
	old, ok := x.c.ledger.entries[ch.ID]
	if entry.Earlier = old.Earlier; ok && ch.Action == Correct {
		entry.Commit = old.Commit
	}
	x.c.ledger.set(ch.ID, entry)
	if isDefinition(ch.GroupKind()) && live.Health != status.CurrentStatus.String() {
		x.pendingKinds[ch.Name] = true
	}
	if ch.PutsBack() {
		x.res.Corrected = append(x.res.Corrected, ch.ID)
	}
	if ch.Action == Create {
		x.res.Created = append(x.res.Created, ch.ID)
		return
	}
	x.res.Changed = append(x.res.Changed, ch.ID)
}

func (x *execution) wait(ch Change, until string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.block(ch)
	x.res.Waits = append(x.res.Waits, desired.Wait{For: ch.String(), Until: until})
}

func (x *execution) fail(ch Change, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.block(ch)
	x.res.Failed = append(x.res.Failed, Failure{ID: ch.ID, Origin: ch.Object.Origin, Err: err})
}

// block holds back what needs an object that did not get in.
func (x *execution) block(ch Change) {
	if ch.Live != nil {
		return // what is there serves as it is
	}
	switch {
	case isNamespace(ch.GroupKind()):
		x.failedNamespaces[ch.Name] = true
	case isDefinition(ch.GroupKind()):
		x.pendingKinds[ch.Name] = true
	}
}

func (x *execution) contested(ch Change) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.res.Contested = append(x.res.Contested, ch.ID)
	x.res.Waits = append(x.res.Waits, desired.Wait{
		For: ch.String(),
		Until: "the end of a fight: contested, " + ch.Reason + " again and again (" + v1alpha1.AnnotationIgnore +
			" leaves a field to others)",
	})
}

func (x *execution) sort() {
	sortIDs(x.res.Created, x.res.Changed, x.res.Corrected, x.res.Contested)
	sortFailures(x.res.Failed)
	sortWaits(x.res.Waits)
}
