package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/tidelock/tidelock/internal/desired"
)

func newSchedule() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "schedule",
		Short: "Look at the schedules of a repository",
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newScheduleNext())
	return cmd
}

// mostInstants bounds how many instants are printed of each schedule.
const mostInstants = 1000

func newScheduleNext() *cobra.Command {
	var f repositoryFlags
	var from, output string
	n := 5
	cmd := &cobra.Command{
		Use:   "next [PATH]",
		Short: "Print the coming instants of a repository's schedules",
		Long: text(`
			Prints when each At fires next, in the time of its own zone and in UTC, the soonest first. It needs no cluster.
			What fires at a change of clocks is placed as the daemon does it: a skipped time comes at the first moment
			after, and a time that comes twice comes once.

			PATH is the folder to render (the working tree, "." by default); --ref reads a commit instead.`),
		Example: text(`
			tidelock schedule next
			tidelock schedule next examples/repo/overlays/production --from 2027-03-27T12:00:00Z -n 3`),
		Args: maxOneArg,
		RunE: func(cmd *cobra.Command, args []string) error {
			start, err := startOf(from)
			switch {
			case err != nil:
				return usageError{err}
			case n < 1 || n > mostInstants:
				return usageError{fmt.Errorf("-n %d: want 1 to %d", n, mostInstants)}
			case output != "text" && output != "json":
				return usageError{fmt.Errorf("-o %s: want text or json", output)}
			}
			state, err := f.render(cmd.Context(), args)
			if err != nil {
				return err
			}
			list, err := coming(state.Schedules, start, n)
			if err != nil {
				return err
			}
			if output == "json" {
				e := json.NewEncoder(cmd.OutOrStdout())
				e.SetIndent("", "  ")
				return e.Encode(list)
			}
			return printComing(cmd.OutOrStdout(), list)
		},
	}
	f.add(cmd)
	cmd.Flags().StringVar(&from, "from", "", "begin after this moment, RFC 3339 with its offset (default: now)")
	cmd.Flags().IntVarP(&n, "count", "n", n, "how many instants of each schedule")
	cmd.Flags().StringVarP(&output, "output", "o", "text", "text or json")
	return cmd
}

func startOf(from string) (time.Time, error) {
	if from == "" {
		return time.Now(), nil
	}
	at, err := time.Parse(time.RFC3339, from)
	if err != nil {
		return time.Time{}, fmt.Errorf("--from %s: want RFC 3339 with its offset, as 2027-03-27T12:00:00Z", from)
	}
	return at, nil
}

// comingInstant is one line of what is printed; without times where the schedule does not fire.
type comingInstant struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Schedule  string `json:"schedule"`
	TimeZone  string `json:"timeZone"`
	Suspended bool   `json:"suspended,omitempty"`
	// Local is the instant in the schedule's zone, UTC the same in UTC.
	Local string `json:"local,omitempty"`
	UTC   string `json:"utc,omitempty"`

	at time.Time
}

// coming lists the next n instants of each schedule, the soonest first; at the end come those that do not fire.
func coming(schedules []desired.Schedule, from time.Time, n int) ([]comingInstant, error) {
	list := []comingInstant{}
	for i := range schedules {
		s := &schedules[i]
		instants, err := desired.ParseSchedule(s.Schedule, s.TimeZone)
		if err != nil {
			return nil, fmt.Errorf("%s: At %s: %w", s.Origin, s.Key, err)
		}
		line := comingInstant{
			Namespace: s.Namespace, Name: s.Name, Schedule: s.Schedule, TimeZone: cmp.Or(s.TimeZone, "UTC"), Suspended: s.Suspend,
		}
		at := instants.Next(from)
		if at.IsZero() || s.Suspend {
			list = append(list, line)
			continue
		}
		for range n {
			if at.IsZero() {
				break
			}
			line.at, line.UTC = at, at.UTC().Format(time.RFC3339)
			local := at.In(instants.Zone)
			if !instants.Repeats() && s.TimeZone == "" {
				local, line.TimeZone = at, at.Format("-07:00") // as it is written
			}
			line.Local = local.Format("Mon 2006-01-02 15:04:05 -07:00")
			list = append(list, line)
			at = instants.Next(at)
		}
	}
	slices.SortFunc(list, func(a, b comingInstant) int {
		never := func(c comingInstant) int {
			if c.at.IsZero() {
				return 1
			}
			return 0
		}
		return cmp.Or(cmp.Compare(never(a), never(b)), a.at.Compare(b.at), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return list, nil
}

func printComing(w io.Writer, list []comingInstant) error {
	if len(list) == 0 {
		_, err := fmt.Fprintln(w, "no schedules")
		return err
	}
	const gap = 2
	t := tabwriter.NewWriter(w, 0, 0, gap, ' ', 0)
	_, err := fmt.Fprintln(t, "UTC\tLOCAL\tZONE\tAT\tSCHEDULE")
	for _, c := range list {
		at, local := c.UTC, c.Local
		switch {
		case c.Suspended:
			at, local = "suspended", "-"
		case at == "":
			at, local = "none ahead", "-"
		}
		_, lineErr := fmt.Fprintf(t, "%s\t%s\t%s\t%s/%s\t%s\n", at, local, c.TimeZone, c.Namespace, c.Name, c.Schedule)
		err = errors.Join(err, lineErr)
	}
	return errors.Join(err, t.Flush())
}
