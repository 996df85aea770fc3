package render

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/tidelock/tidelock/api/v1alpha1"
	"github.com/tidelock/tidelock/internal/desired"
)

// Options say what of a tree is rendered. The zero value renders all of it.
type Options struct {
	// Path of the folder to render, slash-separated from the root of the tree; "" and "." mean the root.
	Path string
	// Namespace is the only one that objects may be in; "" for no limit.
	Namespace string
	// MockImage runs the mock server of APIMocks that name no image, unless tidelock.yaml names one.
	MockImage string
	// Cache keeps what earlier renders made of files that did not change; nil for none.
	Cache *Cache
}

// Render returns what the folder opts.Path of tree declares. An error is desired.Problems, sorted, where the content is
// wrong; any other error (ctx ended, the tree cannot be read) says nothing about the content.
//
// Links are followed inside tree where it is an fs.ReadLinkFS, and refused where they lead out. Where the Sys method of a
// file's info returns a string, it is taken for the hash of its content.
func Render(ctx context.Context, rev desired.Revision, tree fs.FS, opts Options) (desired.State, error) {
	r := &run{tree: newTree(tree), cache: opts.Cache}
	if r.cache == nil {
		r.cache = NewCache()
	}
	r.cache.begin()
	state, err := r.render(ctx, opts)
	if err != nil {
		return desired.State{}, fmt.Errorf("render %s: %w", rev, err)
	}
	if len(r.problems) > 0 {
		problems := hidden(hidden(r.problems, r.secretsOfFiles()), secretsIn(state.Objects))
		return desired.State{}, desired.Problems(problems).Err()
	}
	if len(state.Warnings) > 0 {
		state.Warnings = hidden(state.Warnings, secretsIn(state.Objects))
	}
	r.cache.sweep()
	return state, nil
}

// run is one render: what it found wrong is collected in it.
type run struct {
	tree     *tree
	cache    *Cache
	problems desired.Problems
	warnings []desired.Problem
	// lost is set where a whole kustomization could not be built: what refers into it cannot be judged.
	lost bool
}

func (r *run) render(ctx context.Context, opts Options) (desired.State, error) {
	root := path.Clean(strings.TrimSuffix(opts.Path, "/"))
	cfg, err := r.config(root)
	if err != nil {
		return desired.State{}, err
	}
	if cfg.Kind == "" && len(r.problems) > 0 {
		return desired.State{}, nil // which folders are meant is not known: what is found in others would mislead
	}
	units, err := r.units(root, cfg)
	if err != nil {
		return desired.State{}, err
	}
	var items []item
	for _, u := range units {
		got, err := r.unit(ctx, root, u)
		if err != nil {
			return desired.State{}, err
		}
		items = append(items, got...)
	}
	items = r.check(items, opts.Namespace)
	before := len(r.problems)
	low, err := r.lower(ctx, items, cfg.Mocks, opts.MockImage)
	if err != nil {
		return desired.State{}, err
	}
	if len(r.problems) > before {
		r.hintAtOverlays(root, items)
	}
	return r.assemble(items, low, brakes(cfg.Prune)), nil
}

// hintAtOverlays tells who renders overlays beside each other by mistake, where what they make is in each other's way.
func (r *run) hintAtOverlays(root string, items []item) {
	made := map[desired.Origin]*built{} // who makes something of a document
	for _, it := range items {
		other := made[it.origin]
		if it.from != nil && other != nil && other != it.from {
			r.problem(desired.Origin{Path: root}, fmt.Sprintf("the kustomizations %s and %s make their own of the same files: "+
				"choose one with --path, or name those to render under units in %s", other.dir, it.from.dir, v1alpha1.ConfigFile))
			return
		}
		made[it.origin] = it.from
	}
}

// lower hands the manifests to the kinds of ours.
func (r *run) lower(ctx context.Context, items []item, mocks v1alpha1.MockDefaults, image string) (lowered, error) {
	if err := ctx.Err(); err != nil {
		return lowered{}, fmt.Errorf("lower: %w", err)
	}
	if r.lost {
		return lowered{}, nil
	}
	if mocks.Image == "" {
		mocks.Image = image
	}
	in := lowering{tree: r.tree, cache: r.cache, defaults: mocks}
	for _, it := range items {
		if it.Group == v1alpha1.Group {
			in.ours = append(in.ours, it.manifest)
			continue
		}
		in.others = append(in.others, it.manifest)
	}
	low, problems := lower(ctx, in)
	r.problems = append(r.problems, problems...)
	if err := ctx.Err(); err != nil {
		return lowered{}, fmt.Errorf("lower: %w", err)
	}
	return low, nil
}

const noSuchFile = "no such file or folder"

// refuse notes err as a problem of the content where it is one: a path that is refused or missing. Any other error is
// returned, wrapped.
func (r *run) refuse(at desired.Origin, err error) error {
	bad, refused := errors.AsType[*badPath](err)
	switch {
	case refused:
		text := bad.Error()
		if bad.path == at.Path {
			text = bad.why
		}
		r.problem(at, text)
	case errors.Is(err, fs.ErrNotExist):
		r.problem(at, noSuchFile)
	default:
		return fmt.Errorf("%s: %w", at, err)
	}
	return nil
}

func (r *run) problem(at desired.Origin, text string) {
	r.problems = append(r.problems, desired.Problem{Origin: at, Text: text})
}

func (r *run) warn(at desired.Origin, text string) {
	r.warnings = append(r.warnings, desired.Problem{Origin: at, Text: text})
}
