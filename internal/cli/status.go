package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/tidelock/tidelock/api/v1alpha1"
	"github.com/tidelock/tidelock/internal/apply"
)

// askWithin bounds one question to the API server.
const askWithin = 15 * time.Second

// instanceStatus is where one instance stands, as -o json prints it.
type instanceStatus struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Ready, Reconciling and Stalled are the conditions; Reason, Message and Since those of Ready.
	Ready       bool         `json:"ready"`
	Reconciling bool         `json:"reconciling"`
	Stalled     bool         `json:"stalled"`
	Reason      string       `json:"reason,omitempty"`
	Message     string       `json:"message,omitempty"`
	Since       *metav1.Time `json:"since,omitempty"`
	// Spec is what users have set, Status what the daemon reports.
	Spec   v1alpha1.SyncSpec   `json:"spec"`
	Status v1alpha1.SyncStatus `json:"status"`
	// Daemon is the process that has the instance's Lease; nil where none has it, or it may not be read.
	Daemon *daemonStatus `json:"daemon,omitempty"`
}

type daemonStatus struct {
	Holder  string      `json:"holder"`
	Renewed metav1.Time `json:"renewed"`
	// Expired is set where the Lease was not renewed in time: nobody keeps the instance.
	Expired bool `json:"expired"`
}

type statusFlags struct {
	clusterFlags
	all    bool
	watch  bool
	output string
}

func newStatus() *cobra.Command {
	var f statusFlags
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show where instances stand",
		Long: text(`
			Shows where an instance stands: its commit, what waits for what and since when, what was done to objects, the
			proxies, and what was refused. It reads the instance's Sync through the kubeconfig and needs no daemon.

			With --name it is that instance, without it those of the namespace, with --all those of all namespaces.

			It exits with 0 where all that is shown is Ready, with 1 where something is not, and with 2 where that could not
			be found out.`),
		Example: text(`
			tidelock status --name shop
			tidelock status --all
			tidelock status -n tidelock -o json | jq '.instances[].status.waiting'
			until tidelock status --name shop >/dev/null; do sleep 1; done`),
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.output != "text" && f.output != "json" {
				return usageError{fmt.Errorf("--output %q: want text or json", f.output)}
			}
			if f.all && cmd.Flags().Changed("name") {
				return usageError{errors.New("--all and --name: want one of them")}
			}
			if !cmd.Flags().Changed("name") {
				f.name = ""
			}
			return interrupted(cmd.Context(), f.run(cmd.Context(), cmd.OutOrStdout()))
		},
	}
	f.add(cmd)
	cmd.Flags().BoolVarP(&f.all, "all", "A", false, "the instances of all namespaces")
	cmd.Flags().BoolVarP(&f.watch, "watch", "w", false, "go on, and print again whenever something changes")
	cmd.Flags().StringVarP(&f.output, "output", "o", "text", "text or json")
	return cmd
}

func (f *statusFlags) run(ctx context.Context, w io.Writer) error {
	c, err := f.client()
	if err != nil {
		return err
	}
	if f.all {
		f.namespace = ""
	}
	list, err := f.show(ctx, c, w)
	if err != nil {
		return err
	}
	if f.watch {
		return f.follow(ctx, c, w)
	}
	if slices.ContainsFunc(list, func(i instanceStatus) bool { return !i.Ready }) {
		return ErrNo
	}
	return nil
}

// client returns one for Syncs and Leases, with the namespace filled in.
func (f *clusterFlags) client() (client.WithWatch, error) {
	cfg, err := f.load()
	if err != nil {
		return nil, err
	}
	s := runtime.NewScheme()
	if err := errors.Join(v1alpha1.AddToScheme(s), coordinationv1.AddToScheme(s)); err != nil {
		return nil, err
	}
	ctrllog.SetLogger(logr.Discard()) // what it would say is in the errors
	c, err := client.NewWithWatch(cfg, client.Options{Scheme: s})
	if err != nil {
		return nil, fmt.Errorf("make the client of %s: %w", cfg.Host, err)
	}
	return c, nil
}

// show prints where the instances stand now, and returns it.
func (f *statusFlags) show(ctx context.Context, c client.Client, w io.Writer) ([]instanceStatus, error) {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	list, err := f.instances(ctx, c)
	if err != nil {
		return nil, err
	}
	if f.output == "json" {
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		return list, enc.Encode(map[string]any{"instances": list})
	}
	p := statusPrinter{painter: newPainter(w), now: time.Now()}
	_, err = io.WriteString(w, p.instances(list, f.all || len(list) > 1))
	return list, err
}

// instances reads the Syncs that are asked for; none is an error.
func (f *statusFlags) instances(ctx context.Context, c client.Client) ([]instanceStatus, error) {
	syncs, err := readSyncs(ctx, c, f.namespace, f.name)
	if err != nil {
		return nil, err
	}
	out := make([]instanceStatus, len(syncs))
	for i := range syncs {
		out[i] = statusOf(&syncs[i])
		out[i].Daemon = daemonOf(ctx, c, &syncs[i])
	}
	switch {
	case len(out) > 0:
		return out, nil
	case f.name != "":
		return nil, fmt.Errorf("there is no instance %q in namespace %s: tidelock status --all lists them", f.name, f.namespace)
	case f.all:
		return nil, errors.New("there is no instance in this cluster")
	default:
		return nil, fmt.Errorf("there is no instance in namespace %s: tidelock status --all lists them", f.namespace)
	}
}

// readSyncs lists the Syncs of a namespace, or of all where that is empty, in order; a name picks one.
func readSyncs(ctx context.Context, c client.Reader, namespace, name string) ([]v1alpha1.Sync, error) {
	var list v1alpha1.SyncList
	options := &client.ListOptions{Namespace: namespace}
	if name != "" {
		client.MatchingFields{"metadata.name": name}.ApplyToList(options)
	}
	err := c.List(ctx, &list, options)
	if meta.IsNoMatchError(err) {
		return nil, errors.New("no instance ever ran in this cluster: it has no kind Sync")
	}
	if err != nil {
		return nil, fmt.Errorf("list Syncs: %w", err)
	}
	return list.Items, nil
}

func statusOf(s *v1alpha1.Sync) instanceStatus {
	i := instanceStatus{
		Namespace: s.Namespace, Name: s.Name, Spec: s.Spec, Status: s.Status,
		Reconciling: meta.IsStatusConditionTrue(s.Status.Conditions, v1alpha1.ConditionReconciling),
		Stalled:     meta.IsStatusConditionTrue(s.Status.Conditions, v1alpha1.ConditionStalled),
	}
	if c := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionReady); c != nil {
		i.Ready, i.Reason, i.Message, i.Since = c.Status == metav1.ConditionTrue, c.Reason, c.Message, &c.LastTransitionTime
	}
	return i
}

// daemonOf reads who has an instance's Lease. It is an extra: who may not read Leases goes without.
func daemonOf(ctx context.Context, c client.Reader, s *v1alpha1.Sync) *daemonStatus {
	var lease coordinationv1.Lease
	key := client.ObjectKey{Namespace: s.Namespace, Name: apply.LeaseName(s.Name)}
	if err := c.Get(ctx, key, &lease); err != nil || lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "" ||
		lease.Spec.RenewTime == nil || lease.Spec.LeaseDurationSeconds == nil {
		return nil
	}
	end := lease.Spec.RenewTime.Add(time.Duration(*lease.Spec.LeaseDurationSeconds) * time.Second)
	return &daemonStatus{
		Holder:  *lease.Spec.HolderIdentity,
		Renewed: metav1.NewTime(lease.Spec.RenewTime.Time), Expired: time.Now().After(end),
	}
}

// follow prints again whenever a Sync changes, until ctx ends. A terminal shows the newest alone.
func (f *statusFlags) follow(ctx context.Context, c client.WithWatch, w io.Writer) error {
	options := &client.ListOptions{Namespace: f.namespace}
	if f.name != "" {
		client.MatchingFields{"metadata.name": f.name}.ApplyToList(options)
	}
	for ctx.Err() == nil {
		events, err := c.Watch(ctx, &v1alpha1.SyncList{}, options)
		if err != nil {
			return fmt.Errorf("watch Syncs: %w", err)
		}
		err = f.printEach(ctx, c, w, events.ResultChan())
		events.Stop()
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}

func (f *statusFlags) printEach(ctx context.Context, c client.Client, w io.Writer, events <-chan watch.Event) error {
	const clearScreen = "\x1b[H\x1b[2J"
	for range events {
		for len(events) > 0 { // many changes at once are one
			<-events
		}
		if isTerminal(w) && f.output == "text" {
			_, _ = io.WriteString(w, clearScreen)
		}
		if _, err := f.show(ctx, c, w); err != nil {
			return err
		}
	}
	return nil
}
