package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tidelock/tidelock/internal/apply"
)

// node is one line of a tree, as -o json prints it. A file has a path; what it declares has a kind and a name; a route and a
// schedule have a text.
type node struct {
	Path string `json:"path,omitempty"`

	Kind      string `json:"kind,omitempty"`
	Group     string `json:"group,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	// Line in the file; 0 where none is known.
	Line int `json:"line,omitempty"`
	// Commit at which it was written last, Health by kstatus or Missing, and why: in a tree of the cluster.
	Commit  string `json:"commit,omitempty"`
	Health  string `json:"health,omitempty"`
	Message string `json:"message,omitempty"`

	Route    string `json:"route,omitempty"`
	Resource string `json:"resource,omitempty"` // of xDS
	Schedule string `json:"schedule,omitempty"`

	Children []*node `json:"children,omitempty"`
}

func newTree() *cobra.Command {
	var repo repositoryFlags
	var cluster clusterFlags
	var output, kind string
	cmd := &cobra.Command{
		Use:   "tree [PATH]",
		Short: "Show what came from which file",
		Long: text(`
			Shows each file of a repository with what it declares, and under each resource of ours the objects, routes and
			schedules that it becomes. It needs no cluster. PATH is the folder to render (the working tree, "." by default);
			--ref reads a commit instead.

			With --name it shows what that instance owns in the cluster, from its inventory: the file that each object came
			from, the commit that wrote it last, and how it is.`),
		Example: text(`
			tidelock tree examples/repo/overlays/production
			tidelock tree --ref v1.4.0 overlays/production
			tidelock tree --kind ProxyRoute
			tidelock tree --name shop
			tidelock tree --name shop -o json | jq -r '.. | select(.health? == "Missing") | .name'`),
		Args: maxOneArg,
		RunE: func(cmd *cobra.Command, args []string) error {
			if output != "text" && output != "json" {
				return usageError{fmt.Errorf("--output %q: want text or json", output)}
			}
			live := cmd.Flags().Changed("name")
			if live && (len(args) > 0 || repo.ref != "") {
				return usageError{errors.New("--name shows the cluster: PATH and --ref do not go with it")}
			}
			var files []*node
			if live {
				owned, err := survey(cmd.Context(), cluster)
				if err != nil {
					return err
				}
				files = ownedTree(owned)
			} else {
				state, err := repo.render(cmd.Context(), args)
				if err != nil {
					return err
				}
				files = stateTree(state)
			}
			if kind != "" {
				files = onlyKind(files, kind)
			}
			return printTree(cmd.OutOrStdout(), files, output == "json")
		},
	}
	repo.add(cmd)
	cluster.add(cmd)
	cmd.Flags().Lookup("name").Usage = "instance whose objects are shown, from the cluster"
	cmd.Flags().StringVar(&kind, "kind", "", "show this kind alone, with what hangs on it")
	cmd.Flags().StringVarP(&output, "output", "o", "text", "text or json")
	return cmd
}

// survey reads what an instance owns.
func survey(ctx context.Context, f clusterFlags) ([]apply.Owned, error) {
	cfg, err := f.applyConfig()
	if err != nil {
		return nil, err
	}
	cfg.Takeover = true // whichever repository it follows: this only reads
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	c, err := apply.New(cfg)
	if err != nil {
		return nil, err
	}
	if err := known(ctx, c, cfg); err != nil {
		return nil, err
	}
	return c.Survey(ctx)
}

func printTree(w io.Writer, files []*node, asJSON bool) error {
	if asJSON {
		enc := json.NewEncoder(w)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		return enc.Encode(map[string]any{"files": files})
	}
	var b strings.Builder
	p := newPainter(w)
	for _, f := range files {
		b.WriteString(p.paint(bold, clean(f.Path)) + "\n")
		p.branches(&b, f.Children, "")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// branches draws what is below a line.
func (p painter) branches(b *strings.Builder, children []*node, indent string) {
	for i, n := range children {
		branch, below := "├── ", "│   "
		if i == len(children)-1 {
			branch, below = "└── ", "    "
		}
		b.WriteString(p.paint(faint, indent+branch) + p.label(n) + "\n")
		p.branches(b, n.Children, indent+below)
	}
}

func (p painter) label(n *node) string {
	switch {
	case n.Route != "":
		return p.paint(faint, "route ") + clean(n.Route)
	case n.Resource != "":
		return p.paint(faint, "xds ") + clean(n.Resource)
	case n.Schedule != "":
		return p.paint(faint, "schedule ") + clean(n.Schedule)
	}
	parts := []string{clean(n.id().String())}
	if n.Line > 0 {
		parts[0] += p.paint(faint, fmt.Sprintf(":%d", n.Line))
	}
	if n.Health != "" {
		parts = append(parts, p.paint(healthStyle(n.Health), n.Health))
	}
	if n.Commit != "" {
		parts = append(parts, p.paint(faint, shortCommit(n.Commit)))
	}
	if n.Message != "" {
		parts = append(parts, clean(n.Message))
	}
	return strings.Join(parts, "  ")
}

func healthStyle(health string) style {
	switch health {
	case "Current":
		return green
	case "InProgress", "Terminating", "Unknown":
		return yellow
	default:
		return red
	}
}
