package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/fluxcd/pkg/ssa"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// rawWorkers is how many requests the raw peer has in flight; fluxWorkers is what kustomize-controller sets by default.
const (
	rawWorkers  = 32
	fluxWorkers = 4
)

// full applies the same ConfigMaps by three ways, and then again with nothing changed.
func (b *bench) full(ctx context.Context) error {
	raw, err := b.raw(ctx)
	if err != nil {
		return err
	}
	if err := b.flux(ctx, raw); err != nil {
		return err
	}
	r, err := newRepo(ctx, b.dir+"/few")
	if err != nil {
		return err
	}
	if _, _, err := r.push(ctx, map[string]string{"first.yaml": configMaps("first", 1, "1")["first-00000.yaml"]}); err != nil {
		return err
	}
	d, err := b.daemon(ctx, "few", r)
	if err != nil {
		return err
	}
	// The daemon is up and has its first commit: what is measured is a push.
	head, err := r.git(ctx, "rev-parse", "HEAD")
	if err != nil {
		return err
	}
	if _, err := d.live(ctx, head); err != nil {
		return err
	}
	b.gate.take()
	commit, begin, err := r.push(ctx, configMaps("ours", b.few, "1"))
	if err != nil {
		return err
	}
	end, err := d.live(ctx, commit)
	if err != nil {
		return err
	}
	b.add(row{fmt.Sprintf("%d ConfigMaps, push to Ready", b.few), round(end.Sub(begin)), b.gate.take().String(), times(end.Sub(begin), raw) + " of raw"})
	if err := d.stop(); err != nil {
		return err
	}
	return b.destroy(ctx, "few")
}

// raw is bare parallel server-side apply: the limit of what the API server takes.
func (b *bench) raw(ctx context.Context) (time.Duration, error) {
	cl, err := b.peer()
	if err != nil {
		return 0, err
	}
	objects := b.objects("raw")
	b.gate.take()
	begin := time.Now()
	g, applying := errgroup.WithContext(ctx)
	g.SetLimit(rawWorkers)
	for _, o := range objects {
		g.Go(func() error {
			return cl.Apply(applying, client.ApplyConfigurationFromUnstructured(o), client.FieldOwner("raw"), client.ForceOwnership)
		})
	}
	if err := g.Wait(); err != nil {
		return 0, fmt.Errorf("apply by raw requests: %w", err)
	}
	took := time.Since(begin)
	b.add(row{fmt.Sprintf("%d ConfigMaps, raw server-side apply, %d at once", b.few, rawWorkers), round(took), b.gate.take().String(), ""})
	return took, b.remove(ctx, objects)
}

// flux applies by the library of Flux's kustomize-controller, with its default of objects in flight.
func (b *bench) flux(ctx context.Context, raw time.Duration) error {
	cl, err := b.peer()
	if err != nil {
		return err
	}
	objects := b.objects("flux")
	m := ssa.NewResourceManager(cl, nil, ssa.Owner{Field: "flux", Group: "bench.example.com"})
	m.SetConcurrency(fluxWorkers)
	b.gate.take()
	for _, what := range []string{"flux ssa, first apply", "flux ssa, nothing changed"} {
		begin := time.Now()
		if _, err := m.ApplyAllStaged(ctx, objects, ssa.DefaultApplyOptions()); err != nil {
			return fmt.Errorf("apply by flux's library: %w", err)
		}
		took := time.Since(begin)
		b.add(row{fmt.Sprintf("%d ConfigMaps, %s", b.few, what), round(took), b.gate.take().String(), times(took, raw) + " of raw"})
	}
	return b.remove(ctx, objects)
}

// peer is a client through the gate.
func (b *bench) peer() (client.Client, error) {
	cfg, err := b.gate.config()
	if err != nil {
		return nil, err
	}
	cl, err := client.New(cfg, client.Options{Scheme: scheme()})
	if err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	return cl, nil
}

func (b *bench) objects(prefix string) []*unstructured.Unstructured {
	var out []*unstructured.Unstructured
	for i := range b.few {
		out = append(out, &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap",
			"metadata": map[string]any{"name": prefix + "-" + strconv.Itoa(i), "namespace": namespace},
			"data":     map[string]any{"value": "1", "text": strings.Repeat("x", 400)},
		}})
	}
	return out
}

func (b *bench) remove(ctx context.Context, objects []*unstructured.Unstructured) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(rawWorkers)
	for _, o := range objects {
		g.Go(func() error { return b.plane.admin.Delete(ctx, o) })
	}
	if err := g.Wait(); err != nil {
		return fmt.Errorf("clear away: %w", err)
	}
	return nil
}
