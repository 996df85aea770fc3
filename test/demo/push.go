package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
)

// showPush makes one commit (the split goes from 90/10 to 50/50, an answer changes), pushes it and shows the effect.
func (d *demo) showPush(ctx context.Context) error {
	before, err := d.shares(ctx)
	if err != nil {
		return err
	}
	err = errors.Join(
		d.edit("base/catalog.yaml", "mock: catalog-v1, weight: 90", "mock: catalog-v1, weight: 50"),
		d.edit("base/catalog.yaml", "mock: catalog-v2, weight: 10", "mock: catalog-v2, weight: 50"),
		d.edit("base/catalog-v2.yaml", "name: Tide clock,", "name: \""+marker+"\","),
	)
	if err != nil {
		return err
	}
	if err := d.showCommit(ctx, "Half of the traffic to v2, and its new clock"); err != nil {
		return err
	}
	applied, live, err := d.push(ctx)
	if err != nil {
		return fmt.Errorf("%w%s", err, d.tails())
	}
	after, err := d.shares(ctx)
	if err != nil {
		return err
	}
	d.printf("\n %s push to applied %8s   the cluster holds the commit\n", d.green("✓"), round(applied))
	d.printf(" %s push to live    %8s   Envoy answers with it\n\n", d.green("✓"), round(live))
	d.printf("   %d requests before the push: %s\n", requests, before)
	d.printf("   %d requests after it:        %s\n", requests, after)
	return nil
}

// push pushes and measures until the cluster is at the commit, and until the new answer comes through Envoy.
func (d *demo) push(ctx context.Context) (applied, live time.Duration, err error) {
	head, err := d.run(ctx, d.work(), "git", "rev-parse", "HEAD")
	if err != nil {
		return 0, 0, err
	}
	begin := time.Now()
	if err := d.git(ctx, []string{"push", "-q"}); err != nil {
		return 0, 0, err
	}
	var wg sync.WaitGroup
	var errApplied, errLive error
	wg.Go(func() {
		errApplied = d.until(ctx, 20*time.Millisecond, func(ctx context.Context) error {
			commit, ready, err := d.commit(ctx)
			if err == nil && (commit != string(bytes.TrimSpace(head)) || !ready) {
				err = fmt.Errorf("the instance is at %q", commit)
			}
			return err
		})
		applied = time.Since(begin)
	})
	wg.Go(func() {
		errLive = d.until(ctx, 2*time.Millisecond, func(ctx context.Context) error {
			var body []byte
			err := d.get(ctx, d.url(), host, &body)
			if err == nil && !bytes.Contains(body, []byte(marker)) {
				err = errors.New("the old answer still comes")
			}
			return errors.Join(err, d.newWeights(ctx))
		})
		live = time.Since(begin)
	})
	wg.Wait()
	return applied, live, errors.Join(errApplied, errLive)
}

// newWeights asks Envoy itself which weights it routes by.
func (d *demo) newWeights(ctx context.Context) error {
	var dump []byte
	url := fmt.Sprintf("http://127.0.0.1:%d/config_dump?resource=dynamic_route_configs", d.adminPort)
	if err := d.get(ctx, url, "", &dump); err != nil {
		return err
	}
	if !bytes.Contains(dump, []byte(`"weight": 50`)) {
		return errors.New("Envoy still routes by the old weights")
	}
	return nil
}

const requests = 1000

// shares asks through Envoy many times and counts who answered.
func (d *demo) shares(ctx context.Context) (string, error) {
	v1, v2 := 0, 0
	for range requests {
		var body []byte
		if err := d.get(ctx, d.url(), host, &body); err != nil {
			return "", err
		}
		if ofV2(body) {
			v2++
		} else {
			v1++
		}
	}
	return fmt.Sprintf("%3d to v1, %3d to v2", v1, v2), nil
}

// showCommit commits what was edited, and shows it.
func (d *demo) showCommit(ctx context.Context, message string) error {
	if err := d.git(ctx, []string{"commit", "-q", "-a", "-m", message}); err != nil {
		return err
	}
	diff, err := d.run(ctx, d.work(), "git", "show", "--format=%h %s", "--unified=0", "HEAD")
	if err != nil {
		return err
	}
	d.printf("\n%s\n%s\n", d.bold("git push"), d.showDiff(string(diff)))
	return nil
}

// showDiff keeps what a person reads of a patch: the files, and the lines that changed.
func (d *demo) showDiff(patch string) string {
	var b strings.Builder
	for i, line := range strings.Split(strings.TrimSpace(patch), "\n") {
		switch {
		case i == 0:
			fmt.Fprintf(&b, "   %s\n", line)
		case strings.HasPrefix(line, "+++ b/"):
			fmt.Fprintf(&b, "   %s\n", strings.TrimPrefix(line, "+++ b/"))
		case strings.HasPrefix(line, "---"):
		case strings.HasPrefix(line, "-"):
			fmt.Fprintf(&b, "     %s\n", d.red(line))
		case strings.HasPrefix(line, "+"):
			fmt.Fprintf(&b, "     %s\n", d.green(line))
		}
	}
	return b.String()
}
