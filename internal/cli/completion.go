package cli

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/tidelock/tidelock/api/v1alpha1"
	"github.com/tidelock/tidelock/internal/source"
)

// completeWithin bounds what a shell waits for: who presses Tab would rather have nothing than a pause.
const completeWithin = 2 * time.Second

// completer returns what a flag's value may be; nothing where that cannot be found out in time.
type completer func(ctx context.Context, cmd *cobra.Command, args []string) []string

// complete tells the shell about the values of flags, by name: a flag means the same in every command.
func complete(root *cobra.Command) {
	completers := map[string]completer{
		"output":     words("text", "json"),
		"log-level":  words("debug", "info", "warn", "error"),
		"log-format": words("text", "json"),
		"ref":        completeRef,
		"name":       completeInstance,
		"namespace":  completeNamespace,
		"context":    completeContext,
		"kind":       completeKind,
		"group":      completeGroup,
	}
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if values, ok := completers[f.Name]; ok {
				_ = c.RegisterFlagCompletionFunc(f.Name, values.function()) // it fails only where it is there already
			}
		})
		if c.CommandPath() == "tidelock xds show" {
			c.ValidArgsFunction = completer(completeNode).function()
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(root)
}

// function is the completer as cobra calls it. Flags get their values from the environment and the file first, as they do
// when the command runs.
func (values completer) function() cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if err := fillFlags(cmd, args); err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), completeWithin)
		defer cancel()
		found := make(chan []string, 1)
		go func() { found <- values(ctx, cmd, args) }()
		select {
		case list := <-found:
			return list, cobra.ShellCompDirectiveNoFileComp
		case <-ctx.Done():
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
	}
}

func words(list ...string) completer {
	return func(context.Context, *cobra.Command, []string) []string { return list }
}

// value returns a flag's value, or "" where the command has no such flag.
func value(cmd *cobra.Command, flag string) string {
	if f := cmd.Flags().Lookup(flag); f != nil {
		return f.Value.String()
	}
	return ""
}

// completeRef lists the branches and tags of --repo, or of the repository that PATH lies in.
func completeRef(_ context.Context, cmd *cobra.Command, args []string) []string {
	repository := value(cmd, "repo")
	if cmd.Flags().Lookup("repo") == nil {
		repository = "."
		if len(args) > 0 {
			repository = args[0]
		}
		root, _, err := source.WorkingTree(repository)
		if err != nil {
			return nil
		}
		repository = root
	}
	refs, err := source.LocalRefs(repository)
	if err != nil {
		return nil
	}
	return refs
}

// clusterOf are the flags of a command that say which cluster.
func clusterOf(cmd *cobra.Command) clusterFlags {
	return clusterFlags{
		namespace: value(cmd, "namespace"), kubeconfig: value(cmd, "kubeconfig"), context: value(cmd, "context"),
	}
}

func completeInstance(ctx context.Context, cmd *cobra.Command, _ []string) []string {
	f := clusterOf(cmd)
	return f.collect(ctx, func(s *v1alpha1.Sync) []string {
		if s.Namespace != f.namespace {
			return nil
		}
		return []string{s.Name}
	})
}

func completeNamespace(ctx context.Context, cmd *cobra.Command, _ []string) []string {
	f := clusterOf(cmd)
	return f.collect(ctx, func(s *v1alpha1.Sync) []string { return []string{s.Namespace} })
}

// completeGroup lists the proxy groups that instances serve.
func completeGroup(ctx context.Context, cmd *cobra.Command, _ []string) []string {
	f := clusterOf(cmd)
	return f.collect(ctx, func(s *v1alpha1.Sync) []string { return slices.Collect(maps.Keys(s.Status.LiveCommit)) })
}

// collect gathers what each Sync of the cluster says, sorted, each once. It fills the namespace in.
func (f *clusterFlags) collect(ctx context.Context, from func(*v1alpha1.Sync) []string) []string {
	c, err := f.client()
	if err != nil {
		return nil
	}
	syncs, err := readSyncs(ctx, c, "", "")
	if err != nil {
		return nil
	}
	var out []string
	for i := range syncs {
		out = append(out, from(&syncs[i])...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func completeContext(_ context.Context, cmd *cobra.Command, _ []string) []string {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = value(cmd, "kubeconfig")
	cfg, err := rules.Load()
	if err != nil {
		return nil
	}
	return slices.Sorted(maps.Keys(cfg.Contexts))
}

// completeKind lists the kinds that the repository declares.
func completeKind(ctx context.Context, cmd *cobra.Command, args []string) []string {
	f := repositoryFlags{ref: value(cmd, "ref"), mockImage: value(cmd, "mock-image")}
	state, err := f.render(ctx, args)
	if err != nil {
		return nil
	}
	kinds := map[string]bool{}
	for i := range state.Objects {
		kinds[state.Objects[i].Kind] = true
	}
	return slices.Sorted(maps.Keys(kinds))
}

// completeNode lists the proxies that the daemon knows.
func completeNode(ctx context.Context, cmd *cobra.Command, args []string) []string {
	if len(args) > 0 {
		return nil
	}
	s, err := fetch(ctx, showURL(value(cmd, "address")))
	if err != nil {
		return nil
	}
	nodes := map[string]bool{}
	for _, p := range s.Proxies {
		nodes[p.Node] = true
	}
	return slices.Sorted(maps.Keys(nodes))
}
