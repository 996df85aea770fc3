package openapi

import (
	"context"
	"fmt"
)

// validate checks a bundled document: its structure by kin-openapi, then that no schema applies to itself, then its
// servers, and every example against its schema. A later check relies on what an earlier one has shown.
func validate(ctx context.Context, name string, root *Node, text []byte) error {
	if err := checkStructure(ctx, name, root, text).err(); err != nil {
		return err
	}
	if err := checkCycles(root).err(); err != nil {
		return err
	}
	errs := append(checkServers(root), checkExamples(ctx, root)...)
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("validate %s: %w", name, err)
	}
	return errs.err()
}
