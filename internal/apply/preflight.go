package apply

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tidelock/tidelock/api/v1alpha1"
	"github.com/tidelock/tidelock/internal/desired"
)

// Preflight asks the API server what it would say to the writes of a plan; nothing is written. It returns the plan as
// Execute must have it: what turned out to be there already is an Adopt or a Refuse, what must be made anew a Recreate.
//
// The error is desired.Problems, and rejects the commit: the server's own words about its content. What is no verdict
// (time-outs, overload, a server out of reach, an object that changed meanwhile) comes back as waits; such an object is
// checked again by the next Preflight.
func (c *Cluster) Preflight(ctx context.Context, p Plan) (Plan, []desired.Wait, error) {
	p, out := c.inspect(ctx, p)
	var problems desired.Problems
	var waits []desired.Wait
	p.Warnings = slices.Clip(p.Warnings)
	kept := make([]Change, 0, len(p.Writes))
	for i, ch := range p.Writes {
		problems = append(problems, out[i].problems...)
		p.Warnings = append(p.Warnings, out[i].warnings...)
		waits = append(waits, out[i].waits...)
		if !out[i].paused {
			kept = append(kept, ch)
		}
	}
	p.Writes = kept
	return p, waits, problems.Err()
}

// inspect checks those writes of a plan that are not checked yet. The outcomes are those of the writes of the plan that it
// returns, one by one.
func (c *Cluster) inspect(ctx context.Context, p Plan) (Plan, []outcome) {
	p.Writes = slices.Clone(p.Writes)
	p.Paused = slices.Clone(p.Paused)
	n := slices.IndexFunc(p.Writes, func(ch Change) bool { return stageOf(ch.GroupKind()) > stageDefinitions })
	if n < 0 {
		n = len(p.Writes)
	}
	f := &preflight{c: c, crds: p.crds}
	// Whether a Namespace or a CRD is new decides how the objects in it are checked.
	out := f.checkAll(ctx, p.Writes[:n])
	f.learn(p.Writes[:n])
	out = append(out, f.checkAll(ctx, p.Writes[n:])...)
	f.c.keepReplicas(ctx, p.Writes)
	for i, ch := range p.Writes {
		if out[i].paused {
			p.Paused = append(p.Paused, ch.ID)
		}
	}
	return p, out
}

// preflight is one run of Preflight.
type preflight struct {
	c    *Cluster
	crds map[schema.GroupKind]definition
	// newNamespaces and newKinds do not exist before the commit; changedKinds get another schema by it.
	newNamespaces, newKinds, changedKinds map[string]bool
}

type outcome struct {
	problems []desired.Problem
	warnings []desired.Problem
	waits    []desired.Wait
	paused   bool
}

func (f *preflight) checkAll(ctx context.Context, changes []Change) []outcome {
	out := make([]outcome, len(changes))
	one := f.c.count("checking with the API server", len(changes))
	defer f.c.cfg.Progress("")
	var g errgroup.Group
	g.SetLimit(f.c.cfg.Parallel)
	for i := range changes {
		g.Go(func() error {
			ctx, heard := listen(ctx)
			out[i] = f.check(ctx, &changes[i])
			out[i].warnings = heard.warnings(changes[i])
			changes[i].checked = len(out[i].waits)+len(out[i].problems) == 0
			one()
			return nil
		})
	}
	_ = g.Wait() // what came of each is in out
	return out
}

func (f *preflight) learn(changes []Change) {
	f.newNamespaces, f.newKinds, f.changedKinds = map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, ch := range changes {
		switch {
		case isNamespace(ch.GroupKind()):
			f.newNamespaces[ch.Name] = ch.Action == Create
		case ch.Action == Create:
			f.newKinds[ch.Name] = true
		case ch.Action != Correct && ch.Action != Refuse:
			f.changedKinds[ch.Name] = true
		}
	}
}

// check asks about one change, and corrects its action by what it finds.
func (f *preflight) check(ctx context.Context, ch *Change) outcome {
	if ch.checked {
		return outcome{}
	}
	if _, err := parseIgnored(ch.Object.Content.GetAnnotations()[v1alpha1.AnnotationIgnore]); err != nil {
		return problem(*ch, "metadata.annotations["+v1alpha1.AnnotationIgnore+"]", err.Error())
	}
	gvk := ch.Object.GVK()
	def, declared := f.crds[gvk.GroupKind()]
	if declared && f.newKinds[def.object.Name] {
		return checkSchema(*ch, def)
	}
	if _, err := f.c.mapper.RESTMapping(gvk.GroupKind(), gvk.Version); err != nil {
		switch {
		case !meta.IsNoMatchError(err):
			return f.verdict(*ch, err)
		case declared:
			return checkSchema(*ch, def)
		}
		return unknownKind(*ch)
	}
	switch {
	case declared && (def.assumed || f.changedKinds[def.object.Name]):
		out := checkSchema(*ch, def)
		return f.meet(ctx, ch, out)
	case f.newNamespaces[ch.Namespace]:
		return f.checkElsewhere(ctx, *ch)
	case ch.Live != nil:
		return f.checkKnown(ctx, ch)
	}
	return f.checkUnknown(ctx, ch)
}

// checkKnown asks about an object of ours.
func (f *preflight) checkKnown(ctx context.Context, ch *Change) outcome {
	u, err := f.c.body(ctx, *ch)
	if err != nil {
		return f.verdict(*ch, err)
	}
	if u.GetResourceVersion() == "" {
		pin(u, ch.Live.UID, "")
	}
	if err = f.c.apply(ctx, u, manager, asDryRun, asForced); err == nil {
		return outcome{}
	}
	return f.refused(ctx, ch, err)
}

// checkUnknown asks about an object that we have not met. The dry run goes without our labels and in another name, so
// that the answer shows whose the object is if there is one: one request tells both.
func (f *preflight) checkUnknown(ctx context.Context, ch *Change) outcome {
	u, err := f.c.unlabelled(ctx, *ch)
	if err != nil {
		return f.verdict(*ch, err)
	}
	err = f.c.apply(ctx, u, probeManager, asDryRun, asForced)
	switch {
	case err == nil && u.GetResourceVersion() == "":
		return outcome{}
	case err == nil:
		return f.met(ch, observe(u))
	case apierrors.IsInvalid(err), isNoDryRun(err):
		// The server refuses before it shows what is there.
		if out := f.meet(ctx, ch, outcome{}); ch.Action == Refuse || out.paused || len(out.waits) > 0 {
			return out
		}
	}
	return f.refused(ctx, ch, err)
}

// meet looks at what is there, and adds to what is known already.
func (f *preflight) meet(ctx context.Context, ch *Change, known outcome) outcome {
	if ch.Live != nil {
		return known
	}
	u, err := f.c.read(ctx, *ch)
	switch {
	case apierrors.IsNotFound(err):
		return known
	case err != nil:
		known.waits = append(known.waits, desired.Wait{For: ch.String(), Until: short(err)})
		return known
	}
	met := f.met(ch, observe(u))
	return outcome{
		problems: append(known.problems, met.problems...), waits: append(known.waits, met.waits...), paused: met.paused,
	}
}

// met decides who may touch an object that is there and not in our view.
func (f *preflight) met(ch *Change, live Live) outcome {
	if live.Deleting { // it is not adopted: what is written to it would go with it
		return outcome{waits: []desired.Wait{{For: ch.String(), Until: live.ending()}}}
	}
	ch.Live, ch.Action = &live, Adopt
	adoptable := live.Annotations[v1alpha1.AnnotationAdopt] == "true"
	switch {
	case live.Annotations[v1alpha1.AnnotationReconcile] == v1alpha1.Disabled:
		return outcome{paused: true}
	case live.Owner == f.c.cfg.Owner:
		ch.Reason = "carries our label"
	case live.Owner == "" && live.Foreign == "":
		ch.Reason = "there without an owner"
	case adoptable:
		ch.Reason = "taken from " + ownerOf(live) + " by its annotation " + v1alpha1.AnnotationAdopt
	default:
		ch.Action, ch.claimant, ch.Reason = Refuse, live.Owner, "owned by "+ownerOf(live)
	}
	return outcome{}
}

func ownerOf(live Live) string {
	if live.Owner != "" {
		return fmt.Sprintf("Tidelock instance %q", live.Owner)
	}
	return live.Foreign
}

// checkElsewhere asks about an object whose Namespace does not exist yet: as if it were made in the daemon's own. What
// the other Namespace's policies say of it is not known, so only the server's word on the content counts.
func (f *preflight) checkElsewhere(ctx context.Context, ch Change) outcome {
	err := f.c.tryCreate(ctx, ch, f.c.cfg.Namespace)
	if apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) && !isNoDryRun(err) || isTypeMismatch(err) {
		return outcome{problems: problemsOf(ch, err)}
	}
	return outcome{}
}

// refused decides what a refusal of the dry run means: an immutable field may ask for a Recreate.
func (f *preflight) refused(ctx context.Context, ch *Change, err error) outcome {
	if ch.Live == nil || !isImmutable(err) {
		return f.verdict(*ch, err)
	}
	if ch.Object.Content.GetAnnotations()[v1alpha1.AnnotationRecreate] != v1alpha1.Enabled {
		problems := problemsOf(*ch, err)
		lost := ""
		if isPrecious(ch.GroupKind()) {
			lost = ", and lose what it holds"
		}
		for i := range problems {
			problems[i].Text += fmt.Sprintf("; to let Tidelock delete and create the object%s, annotate it %s: %s", lost,
				v1alpha1.AnnotationRecreate, v1alpha1.Enabled)
		}
		return outcome{problems: problems}
	}
	// The object is deleted only if the server would take the new one.
	if err := f.c.tryCreate(ctx, *ch, ch.Namespace); err != nil && !isNoDryRun(err) {
		return f.verdict(*ch, err)
	}
	ch.Action = Recreate
	ch.Reason = "an immutable field changed, and the object is annotated " + v1alpha1.AnnotationRecreate
	return outcome{}
}

// verdict turns an error of the server into problems, or into a wait where it says nothing about the content.
func (f *preflight) verdict(ch Change, err error) outcome {
	switch {
	case isNoDryRun(err):
		return outcome{} // only the write will tell
	case apierrors.IsNotFound(err) && f.defines(ch):
		// The kind is Established, and not served yet.
	case isVersionMissing(err):
		return unknownKind(ch)
	case isDefinite(err):
		return outcome{problems: problemsOf(ch, err)}
	}
	return outcome{waits: []desired.Wait{{For: ch.String(), Until: "the API server to take it: " + short(err)}}}
}

func (f *preflight) defines(ch Change) bool {
	_, ok := f.crds[ch.GroupKind()]
	return ok
}

func unknownKind(ch Change) outcome {
	gvk := ch.Object.GVK()
	return problem(ch, "kind", fmt.Sprintf("the cluster has no kind %s in %s: add its CustomResourceDefinition to the "+
		"repository, or install it first", gvk.Kind, gvk.GroupVersion()))
}

func problem(ch Change, field, text string) outcome {
	return outcome{problems: []desired.Problem{{
		Origin: ch.Object.Origin, Object: ch.String(), Field: field, Text: text,
	}}}
}

// tryCreate asks whether the server would create the object in a namespace, under a name that is free.
func (c *Cluster) tryCreate(ctx context.Context, ch Change, namespace string) error {
	const room = 40 // a CronJob's name has at most 52 characters, and the server adds some
	u, err := content(*ch.Object)
	if err != nil {
		return err
	}
	if ch.Namespace != "" {
		u.SetNamespace(namespace)
	}
	unstructured.RemoveNestedField(u.Object, "metadata", "name")
	u.SetGenerateName(strings.TrimRight(ch.Name[:min(room, len(ch.Name))], ".") + "-")
	return guard(ch.GroupKind(), c.client.Create(ctx, u, probeManager, client.DryRunAll, strict))
}
