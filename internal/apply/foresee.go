package apply

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/tidelock/tidelock/internal/desired"
)

// Uninstalled returns those definitions among the YAML files of fsys that Install would write; nothing is written. version
// is that of the running program.
func (c *Cluster) Uninstalled(ctx context.Context, fsys fs.FS, version string) ([]desired.Object, error) {
	names, err := fs.Glob(fsys, "*.yaml")
	if err != nil {
		return nil, err
	}
	var out []desired.Object
	for _, name := range names {
		u, due, err := c.definition(ctx, fsys, name, version)
		switch {
		case errors.Is(err, ErrForeignDefinition):
		case err != nil:
			return nil, fmt.Errorf("compare %s with the cluster: %w", name, err)
		case due:
			out = append(out, desired.Object{ID: identify(u), Version: u.GroupVersionKind().Version, Content: u})
		}
	}
	return out, nil
}

// Foresee returns a plan with its Prunes as Prune will find them: what is gone already is left out, what another instance
// claims is a Release, and what has to happen first is told. Nothing is written.
func (c *Cluster) Foresee(ctx context.Context, p Plan) (Plan, error) {
	if len(p.Prunes) == 0 {
		return p, nil
	}
	claimed, err := c.claimed(ctx)
	if err != nil {
		return p, err
	}
	x := &pruning{c: c, claimed: claimed}
	refused := slices.IndexFunc(p.Writes, func(ch Change) bool { return ch.Action == Refuse })
	kept := make([]Change, 0, len(p.Prunes))
	for _, ch := range p.Prunes {
		found, err := x.resolve(ctx, &ch)
		if err != nil {
			return p, fmt.Errorf("look at %s: %w", ch.ID, err)
		}
		if !found {
			continue
		}
		if h, held := x.held(ch); held {
			ch.WaitsFor = h.String()
		}
		if refused >= 0 { // nothing is pruned while a write fails
			ch.WaitsFor = fmt.Sprintf("%s to be in, which is refused", p.Writes[refused].ID)
		}
		kept = append(kept, ch)
	}
	p.Prunes = kept
	return p, nil
}

// Sight is one object before and after a write.
type Sight struct {
	// Before is the object as it lives, and After as the API server would have it; both nil where it cannot tell.
	Before, After *unstructured.Unstructured
}

// Sights asks the API server what the writes of a plan change on the objects that are there, by a dry run. It returns one
// for each write; nothing is written.
func (c *Cluster) Sights(ctx context.Context, p Plan) ([]Sight, error) {
	out := make([]Sight, len(p.Writes))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(c.cfg.Parallel)
	for i, ch := range p.Writes {
		if ch.Live == nil || ch.Action == Recreate || ch.Action == Refuse {
			continue
		}
		g.Go(func() error {
			var err error
			if out[i], err = c.sight(ctx, ch); err != nil {
				err = fmt.Errorf("look at %s: %w", ch.ID, err)
			}
			return err
		})
	}
	return out, g.Wait()
}

func (c *Cluster) sight(ctx context.Context, ch Change) (Sight, error) {
	before, err := c.read(ctx, ch)
	if apierrors.IsNotFound(err) {
		return Sight{}, nil
	}
	if err != nil {
		return Sight{}, err
	}
	after, err := c.body(ctx, ch)
	if err == nil {
		err = c.apply(ctx, after, manager, asDryRun, asForced)
	}
	if err != nil {
		return Sight{}, ctx.Err() // what the server has against it is for Preflight to tell
	}
	if takesOver(ch) {
		if err := dropUndeclared(after, before, ch); err != nil {
			return Sight{}, err
		}
	}
	if n, found, _ := unstructured.NestedFieldNoCopy(before.Object, "spec", "replicas"); found && ch.keepsReplicas {
		if err := unstructured.SetNestedField(after.Object, n, "spec", "replicas"); err != nil {
			return Sight{}, err
		}
	}
	return Sight{Before: before, After: after}, nil
}
