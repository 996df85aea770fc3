package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	drifts    = 100
	quietTime = 10 * time.Second
)

// large measures what an instance with many objects costs when little happens.
func (b *bench) large(ctx context.Context) error {
	r, err := newRepo(ctx, b.dir+"/many")
	if err != nil {
		return err
	}
	first, _, err := r.push(ctx, configMaps("many", 1, "0"))
	if err != nil {
		return err
	}
	d, err := b.daemon(ctx, "many", r)
	if err != nil {
		return err
	}
	if _, err := d.live(ctx, first); err != nil {
		return err
	}
	before, err := memory(d.cmd.Process.Pid)
	if err != nil {
		return err
	}
	b.gate.take()
	commit, begin, err := r.push(ctx, configMaps("many", b.many, "1"))
	if err != nil {
		return err
	}
	end, err := d.live(ctx, commit)
	if err != nil {
		return err
	}
	b.add(row{fmt.Sprintf("%d ConfigMaps, push to Ready", b.many), round(end.Sub(begin)), b.gate.take().String(), ""})
	for _, step := range []func(context.Context, *daemon, *repo) error{b.quiet, b.oneChanged, b.drift} {
		if err := step(ctx, d, r); err != nil {
			return err
		}
	}
	return b.restart(ctx, d, r, before)
}

// quiet counts what is asked for while nothing happens.
func (b *bench) quiet(ctx context.Context, _ *daemon, _ *repo) error {
	if err := b.gate.calm(ctx); err != nil {
		return err
	}
	b.gate.take()
	if err := wait(ctx, quietTime); err != nil {
		return err
	}
	b.add(row{fmt.Sprintf("nothing happens, %d objects", b.many), round(quietTime), b.gate.take().String(), ""})
	return nil
}

// oneChanged pushes a change of one object.
func (b *bench) oneChanged(ctx context.Context, d *daemon, r *repo) error {
	var took []time.Duration
	var requests counts
	for _, value := range []string{"2", "3", "4", "5", "6"} {
		changed := configMaps("many", perFile, value)
		if err := b.gate.calm(ctx); err != nil {
			return err
		}
		b.gate.take()
		commit, begin, err := r.push(ctx, changed)
		if err != nil {
			return err
		}
		end, err := d.live(ctx, commit)
		if err != nil {
			return err
		}
		took, requests = append(took, end.Sub(begin)), b.gate.take()
	}
	b.add(row{fmt.Sprintf("1 of %d objects changed, push to Ready, median of %d", b.many, len(took)), round(percentile(took, 50)), requests.String(), ""})
	return nil
}

// drift edits objects by hand, one after the other, and waits for each to be put right.
func (b *bench) drift(ctx context.Context, _ *daemon, _ *repo) error {
	var took []time.Duration
	b.gate.take()
	for i := range drifts {
		name := fmt.Sprintf("many-%d", i+1)
		w, err := b.plane.admin.Watch(ctx, &corev1.ConfigMapList{}, client.InNamespace(namespace), client.MatchingFields{"metadata.name": name})
		if err != nil {
			return fmt.Errorf("watch %s: %w", name, err)
		}
		edit := client.RawPatch("application/merge-patch+json", []byte(`{"data":{"value":"edited"}}`))
		cm := &corev1.ConfigMap{}
		cm.Name, cm.Namespace = name, namespace
		begin := time.Now()
		if err := b.plane.admin.Patch(ctx, cm, edit); err != nil {
			return fmt.Errorf("edit %s: %w", name, err)
		}
		took = append(took, repaired(w).Sub(begin))
		w.Stop()
	}
	requests := b.gate.take().sum()
	b.add(row{
		fmt.Sprintf("an object edited by hand is put right, %d times", drifts),
		"p50 " + round(percentile(took, 50)) + ", p99 " + round(percentile(took, 99)),
		fmt.Sprintf("%.1f for each", float64(requests)/drifts), "",
	})
	return nil
}

// repaired returns when the edit of an object was undone.
func repaired(w watch.Interface) time.Time {
	edited := false
	for e := range w.ResultChan() {
		cm, ok := e.Object.(*corev1.ConfigMap)
		switch {
		case ok && cm.Data["value"] == "edited":
			edited = true
		case ok && edited:
			return time.Now()
		}
	}
	return time.Time{}
}

// restart stops the daemon and starts it over the same objects.
func (b *bench) restart(ctx context.Context, d *daemon, r *repo, small int64) error {
	if err := d.stop(); err != nil {
		return err
	}
	b.gate.take()
	begin := time.Now()
	d, err := b.daemon(ctx, "many", r)
	if err != nil {
		return err
	}
	ready, err := d.ready(ctx)
	if err != nil {
		return err
	}
	b.add(row{
		fmt.Sprintf("restart with %d unchanged objects, start to first pass through", b.many),
		round(ready.Sub(begin)), b.gate.take().String(), "",
	})
	now, err := memory(d.cmd.Process.Pid)
	if err != nil {
		return err
	}
	const mib, kib = 1 << 20, 1 << 10
	b.add(row{
		fmt.Sprintf("memory with %d objects", b.many), fmt.Sprintf("%d MiB", now/mib), "",
		fmt.Sprintf("%.1f KiB an object over %d MiB", float64(now-small)/float64(b.many)/kib, small/mib),
	})
	if err := d.stop(); err != nil {
		return err
	}
	return b.destroy(ctx, "many")
}

func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return fmt.Errorf("measure: %w", ctx.Err())
	case <-timer.C:
		return nil
	}
}
