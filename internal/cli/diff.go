package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/tidelock/tidelock/internal/diff"
	"github.com/tidelock/tidelock/internal/reconcile"
	"github.com/tidelock/tidelock/internal/render"
	"github.com/tidelock/tidelock/internal/source"
)

// diffFlags are the flags of diff.
type diffFlags struct {
	againstFlags
	base, head string
	exact      bool
	output     string
	mockImage  string
}

// workingTree is how the files are called as they are now.
const workingTree = "working tree"

func newDiff() *cobra.Command {
	var f diffFlags
	cmd := &cobra.Command{
		Use:   "diff [PATH]",
		Short: "Say what a change does to cluster, traffic and time",
		Long: text(`
			Renders two commits as the daemon would and says what one changes: what is refused, where requests go, when
			schedules fire, what is deleted, each object field by field, and how far it reaches. It needs no cluster and no
			credentials.

			PATH is the folder to render ("." by default). The head is the working tree, or the commit of --head. The base is
			where the head began: the commit that it and --base have in common, as in git diff base...head. --base is the
			remote's default branch if left out (origin/HEAD, else main or master). --exact compares with --base itself.

			--against cluster compares with what an instance holds in its cluster, by a server-side dry run: what the daemon
			would do if the head were pushed now, drift and owners included. Nothing is written. It needs an account that may
			read and patch what the instance keeps (a dry run is authorized like a write).

			The exit code is 0 where nothing changes, 1 where something does, 2 where the daemon would refuse the head or
			the comparison failed.`),
		Example: text(`
			tidelock diff
			tidelock diff --base origin/main --head HEAD overlays/production
			tidelock diff --base v1.4.0 --exact -o markdown
			tidelock diff --against cluster --name shop overlays/production`),
		Args: maxOneArg,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !slices.Contains(outputs(), f.output) {
				return usageError{fmt.Errorf("-o %s: want one of %s", f.output, strings.Join(outputs(), ", "))}
			}
			if err := f.check(); err != nil {
				return err
			}
			path := "."
			if len(args) == 1 {
				path = args[0]
			}
			compare := f.compare
			if f.against != "" {
				compare = f.preview
			}
			d, err := compare(cmd.Context(), path)
			if err != nil {
				return err
			}
			if err := f.write(cmd.OutOrStdout(), d); err != nil {
				return err
			}
			return outcome(d)
		},
	}
	f.add(cmd)
	fl := cmd.Flags()
	fl.StringVar(&f.base, "base", "", "branch, tag or commit to compare with (default: the remote's default branch)")
	fl.StringVar(&f.head, "head", "", "branch, tag or commit to look at (default: the working tree)")
	fl.BoolVar(&f.exact, "exact", false, "compare with --base itself, not with where the head began")
	fl.StringVarP(&f.output, "output", "o", "text", "text, markdown (one comment on a pull request) or json")
	fl.StringVar(&f.mockImage, "mock-image", "", "image that runs mocks, where the repository names none")
	return cmd
}

func outputs() []string { return []string{"text", "markdown", "json"} }

// compare reads both sides and compares them.
func (f *diffFlags) compare(ctx context.Context, path string) (diff.Diff, error) {
	root, sub, err := source.WorkingTree(path)
	if err != nil {
		return diff.Diff{}, err
	}
	history, err := source.OpenHistory(root)
	if err != nil {
		return diff.Diff{}, err
	}
	head, at, err := f.headOf(ctx, history, root)
	if err != nil {
		return diff.Diff{}, err
	}
	base, err := f.baseOf(ctx, history, at)
	if err != nil {
		return diff.Diff{}, err
	}
	opts := render.Options{Path: sub, MockImage: f.mockImage}
	return reconcile.Review(ctx, base, head, opts, time.Now())
}

// headOf returns the head, and the commit that it is or stands on.
func (f *diffFlags) headOf(ctx context.Context, h *source.History, root string) (reconcile.Version, string, error) {
	name := f.head
	if name == "" {
		name = "HEAD"
	}
	id, err := h.Resolve(name)
	if err != nil {
		return reconcile.Version{}, "", err
	}
	if f.head != "" {
		v, err := commitOf(h, id, name)
		return v, id, err
	}
	rev, tree, err := source.Snapshot(ctx, root)
	return reconcile.Version{Name: workingTree, Revision: rev, Tree: tree}, id, err
}

// baseOf returns what the commit at is compared with.
func (f *diffFlags) baseOf(ctx context.Context, h *source.History, at string) (reconcile.Version, error) {
	name := f.base
	if name == "" {
		var err error
		if name, err = h.Default(); err != nil {
			return reconcile.Version{}, fmt.Errorf("%w: name it with --base", err)
		}
	}
	id, err := h.Resolve(name)
	if err == nil && !f.exact {
		id, err = h.MergeBase(ctx, id, at)
	}
	if err != nil {
		return reconcile.Version{}, err
	}
	return commitOf(h, id, name)
}

func commitOf(h *source.History, id, name string) (reconcile.Version, error) {
	rev, tree, err := h.Commit(id, name)
	if strings.HasPrefix(id, name) {
		return reconcile.Version{Name: rev.Short(), Revision: rev, Tree: tree}, err
	}
	return reconcile.Version{Name: rev.String(), Revision: rev, Tree: tree}, err
}

func (f *diffFlags) write(w io.Writer, d diff.Diff) error {
	switch f.output {
	case "json":
		return diff.JSON(w, d)
	case "markdown":
		return diff.Markdown(w, d)
	}
	return diff.Text(w, d, takesColour(w))
}

// takesColour reports whether w is a terminal that shows colours. https://no-color.org
func takesColour(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && term.IsTerminal(int(f.Fd()))
}

// outcome is what the command ends with: a refusal, ErrNo, or nothing.
func outcome(d diff.Diff) error {
	switch {
	case len(d.Refused) > 0:
		return fmt.Errorf("%s would be refused: %s", d.Head.Name, count(len(d.Refused), "error"))
	case d.Brake != nil && d.Brake.Held:
		return fmt.Errorf("%s would be held back by the prune brakes", d.Head.Name)
	case d.Changed:
		return ErrNo
	}
	return nil
}
