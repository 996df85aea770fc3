package cli

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/tidelock/tidelock/api/v1alpha1"
	"github.com/tidelock/tidelock/internal/desired"
	"github.com/tidelock/tidelock/internal/redact"
)

func newRender() *cobra.Command {
	var f repositoryFlags
	var secrets bool
	cmd := &cobra.Command{
		Use:   "render [PATH]",
		Short: "Print the objects that a repository declares",
		Long: text(`
			Prints as YAML what would be applied: plain manifests, the resources of ours and what they become. It needs no
			cluster. Values of Secrets are masked (as Kioq, the base64 of ***) unless --show-secrets
			is given. TrafficSplits whose weights change over time, and what is made of them, are as at --at.

			PATH is the folder to render (the working tree, "." by default); --ref reads a commit instead.`),
		Example: text(`
			tidelock render examples/repo/overlays/production
			tidelock render --at 2026-12-24T18:00:00+01:00
			tidelock render --ref main overlays/production | kubectl diff -f -`),
		Args: maxOneArg,
		RunE: func(cmd *cobra.Command, args []string) error {
			state, err := f.render(cmd.Context(), args)
			if err != nil {
				return err
			}
			warn(cmd.ErrOrStderr(), state.Warnings)
			return printObjects(cmd.OutOrStdout(), state, secrets)
		},
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&secrets, "show-secrets", false, "print the values of Secrets")
	return cmd
}

func newValidate() *cobra.Command {
	var f repositoryFlags
	cmd := &cobra.Command{
		Use:   "validate [PATH]",
		Short: "Check a repository, with no cluster",
		Long: text(`
			Renders a repository as the daemon would and prints every error at once, each with its file, line and field.
			It needs no cluster and no credentials. Of TrafficSplits with steps it prints the weights in force at --at, and the
			next ones.`),
		Example: text(`
			tidelock validate
			tidelock validate examples/repo/overlays/staging`),
		Args: maxOneArg,
		RunE: func(cmd *cobra.Command, args []string) error {
			state, err := f.render(cmd.Context(), args)
			if err != nil {
				return err
			}
			warn(cmd.ErrOrStderr(), state.Warnings)
			if err := f.printSteps(cmd.OutOrStdout(), state.Splits); err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "ok: %s, %s, %s\n",
				count(len(state.Objects), "object"), count(len(state.Routes), "route"), count(len(state.Schedules), "schedule"))
			return err
		},
	}
	f.add(cmd)
	return cmd
}

// printSteps says of each split with steps which weights are in force at --at, and which come next.
func (f *repositoryFlags) printSteps(w io.Writer, splits []desired.Split) error {
	at, err := f.instant()
	if err != nil {
		return err
	}
	for i := range splits {
		s := &splits[i]
		if len(s.Steps) == 0 {
			continue
		}
		text := "no step follows"
		if next, weights := s.Next(at); !next.IsZero() {
			text = fmt.Sprintf("from %s %s", next.Format(time.RFC3339), weights)
		}
		if _, err := fmt.Fprintf(w, "TrafficSplit %s: %s; %s\n", s.Key, s, text); err != nil {
			return err
		}
	}
	return nil
}

func warn(w io.Writer, warnings []desired.Problem) {
	for _, p := range warnings {
		_, _ = fmt.Fprintln(w, "warning:", p.Error())
	}
}

// printObjects writes the objects as a YAML stream, Namespaces and definitions of kinds first, as a person would apply them.
func printObjects(w io.Writer, state desired.State, secrets bool) error {
	first := func(o desired.Object) int {
		return slices.Index([]string{"CustomResourceDefinition", "Namespace"}, o.Kind)
	}
	sorted := slices.Clone(state.Objects)
	slices.SortStableFunc(sorted, func(a, b desired.Object) int { return first(b) - first(a) })
	var out bytes.Buffer
	for _, o := range sorted {
		content := o.Content
		if o.Kind == "Secret" && o.Group == "" && !secrets {
			content = masked(content)
		}
		b, err := yaml.Marshal(content.Object)
		if err != nil {
			return fmt.Errorf("print %s: %w", o.ID, err)
		}
		fmt.Fprintf(&out, "---\n# %s\n%s%s", o.Origin, weights(state.Splits, o), b)
	}
	_, err := w.Write(out.Bytes())
	return err
}

// weights is a comment on those in force, for a TrafficSplit that has steps.
func weights(splits []desired.Split, o desired.Object) string {
	for i := range splits {
		if s := &splits[i]; o.Kind == v1alpha1.KindTrafficSplit && len(s.Steps) > 0 && s.Key == (desired.Key{Namespace: o.Namespace, Name: o.Name}) {
			return fmt.Sprintf("# weights in force: %s\n", s)
		}
	}
	return ""
}

// masked returns a Secret whose values do not show; the mark does not depend on the value, and is base64 as all values of
// data are, so that other tools can read the output.
func masked(secret *unstructured.Unstructured) *unstructured.Unstructured {
	out := secret.DeepCopy()
	values, _, _ := unstructured.NestedMap(out.Object, "data")
	for k := range values {
		values[k] = base64.StdEncoding.EncodeToString([]byte(redact.Mark))
	}
	if len(values) > 0 {
		out.Object["data"] = values
	}
	return out
}
