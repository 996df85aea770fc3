package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tidelock/tidelock/api/v1alpha1"
)

// showAt moves an At of the example to a moment from now, pushes that, and shows what its pod printed.
func (d *demo) showAt(ctx context.Context) error {
	const name, soon = "price-update", 5 * time.Second
	if d.noNode != "" {
		return nil
	}
	instant := time.Now().Add(soon).UTC().Truncate(time.Second).Format(time.RFC3339)
	if err := d.edit("base/price-update.yaml", "2031-01-01T00:00:00+01:00", instant); err != nil {
		return err
	}
	if err := d.showCommit(ctx, "The new prices come sooner"); err != nil {
		return err
	}
	if err := d.git(ctx, []string{"push", "-q"}); err != nil {
		return err
	}
	var last v1alpha1.AtStatus
	err := d.until(ctx, 20*time.Millisecond, func(ctx context.Context) error {
		var at v1alpha1.At
		err := d.cluster.Get(ctx, client.ObjectKey{Namespace: "shop", Name: name}, &at)
		if last = at.Status; err == nil && last.Phase != v1alpha1.AtDone {
			err = fmt.Errorf("At %s is %s", name, last.Phase)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("%w%s", err, d.tails())
	}
	logs := d.kubectl() + " logs -n shop job/" + name
	said, err := d.run(ctx, d.root, strings.Fields(logs)...)
	if err != nil {
		return err
	}
	d.printf("\n %s At %s ran at its instant, once, in a pod\n\n   %s\n     %s", d.green("✓"), name, logs, said)
	return nil
}
