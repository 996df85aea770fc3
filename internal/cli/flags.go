package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"sigs.k8s.io/yaml"
)

const envPrefix = "TIDELOCK_"

// fillFlags gives each flag that the command line leaves out its value from the environment, else from the file. It is
// forty lines instead of a configuration library that would bring a dozen modules.
func fillFlags(cmd *cobra.Command, _ []string) error {
	file, err := readConfig(cmd.Flags())
	if err != nil {
		return usageError{err}
	}
	var errs []error
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		value, from, ok := lookup(f.Name, file)
		if f.Changed || !ok {
			return
		}
		if err := f.Value.Set(value); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", from, err))
			return
		}
		f.Changed = true
	})
	return usage(errors.Join(errs...))
}

// lookup finds a flag's value and says where it stands.
func lookup(flag string, file map[string]string) (value, from string, ok bool) {
	env := envPrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
	if v, set := os.LookupEnv(env); set {
		return v, env, true
	}
	v, set := file[flag]
	return v, "configuration file: " + flag, set
}

// readConfig reads the file that --config or the environment names; a name that is no flag of any command is refused.
func readConfig(flags *pflag.FlagSet) (map[string]string, error) {
	name, err := flags.GetString("config")
	if err != nil {
		return nil, fmt.Errorf("read --config: %w", err)
	}
	if name == "" {
		name = os.Getenv(envPrefix + "CONFIG")
	}
	if name == "" {
		return map[string]string{}, nil
	}
	b, err := os.ReadFile(name) //nolint:gosec // the user names the file
	if err != nil {
		if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
			err = pathErr.Err
		}
		return nil, fmt.Errorf("configuration file %s: %w", name, err)
	}
	var raw map[string]any
	if err := yaml.Unmarshal(b, &raw); err != nil {
		return nil, fmt.Errorf("configuration file %s: %w", name, err)
	}
	return flagValues(name, raw)
}

func flagValues(name string, raw map[string]any) (map[string]string, error) {
	known := knownFlags()
	out := map[string]string{}
	for k, v := range raw {
		if !slices.Contains(known, k) {
			return nil, fmt.Errorf("configuration file %s: %s: there is no flag of this name", name, k)
		}
		switch v.(type) {
		case map[string]any, []any:
			return nil, fmt.Errorf("configuration file %s: %s: want a single value", name, k)
		}
		out[k] = fmt.Sprint(v)
	}
	return out, nil
}

// knownFlags lists the flags of all commands, so that one file serves them all.
func knownFlags() []string {
	var names []string
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		c.LocalFlags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(newRoot())
	return names
}
