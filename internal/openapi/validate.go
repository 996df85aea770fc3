package openapi

import (
	"context"
	"fmt"
)

// validate checks a bundled document: its structure, then that no schema applies to itself, then its servers, and every
// example against its schema. A later check relies on what an earlier one has shown. What it returns beside the error is
// odd, but no reason to refuse the document.
func validate(ctx context.Context, name string, root *Node) (Errors, error) {
	errs, warnings := checkStructure(root)
	if err := errs.err(); err != nil {
		return nil, err
	}
	if err := checkCycles(root).err(); err != nil {
		return nil, err
	}
	errs, odd := checkExamples(ctx, root)
	errs = append(errs, checkServers(root)...)
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("validate %s: %w", name, err)
	}
	return append(warnings, odd...).sorted(), errs.err()
}
