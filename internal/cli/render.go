package cli

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

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
			is given.

			PATH is the folder to render (the working tree, "." by default); --ref reads a commit instead.`),
		Example: text(`
			tidelock render examples/repo/overlays/production
			tidelock render --ref main overlays/production | kubectl diff -f -`),
		Args: maxOneArg,
		RunE: func(cmd *cobra.Command, args []string) error {
			state, err := f.render(cmd.Context(), args)
			if err != nil {
				return err
			}
			warn(cmd.ErrOrStderr(), state.Warnings)
			return printObjects(cmd.OutOrStdout(), state.Objects, secrets)
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
			It needs no cluster and no credentials.`),
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
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "ok: %s, %s, %s\n",
				count(len(state.Objects), "object"), count(len(state.Routes), "route"), count(len(state.Schedules), "schedule"))
			return err
		},
	}
	f.add(cmd)
	return cmd
}

func warn(w io.Writer, warnings []desired.Problem) {
	for _, p := range warnings {
		_, _ = fmt.Fprintln(w, "warning:", p.Error())
	}
}

// printObjects writes the objects as a YAML stream, Namespaces and definitions of kinds first, as a person would apply them.
func printObjects(w io.Writer, objects []desired.Object, secrets bool) error {
	first := func(o desired.Object) int {
		return slices.Index([]string{"CustomResourceDefinition", "Namespace"}, o.Kind)
	}
	sorted := slices.Clone(objects)
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
		fmt.Fprintf(&out, "---\n# %s\n%s", o.Origin, b)
	}
	_, err := w.Write(out.Bytes())
	return err
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
