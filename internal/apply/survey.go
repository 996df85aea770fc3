package apply

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tidelock/tidelock/api/v1alpha1"
	"github.com/tidelock/tidelock/internal/desired"
)

// Missing is the health of an object that is owned and not there.
const Missing = "Missing"

// Owned is one object of an inventory, and how it is.
type Owned struct {
	desired.ID
	// Origin is where its manifest stood when it was written last, Commit the commit of that.
	Origin desired.Origin
	Commit string
	// Source is the resource of ours that it was generated from; zero where there is none.
	Source desired.Source
	// Health by kstatus, or Missing, with its message.
	Health, HealthMessage string
}

// Survey reads what the instance owns and how that is, sorted by ID: one list for each kind, for people who ask. The
// inventory must be open.
func (c *Cluster) Survey(ctx context.Context) ([]Owned, error) {
	inv := c.Inventory()
	live := map[desired.ID]*unstructured.Unstructured{}
	for _, gvk := range slices.SortedFunc(maps.Keys(inv.kinds()), compareKinds) {
		if err := c.listOwned(ctx, gvk, live); err != nil {
			return nil, fmt.Errorf("list %s: %w", gvk.Kind, err)
		}
	}
	out := make([]Owned, 0, len(inv.Entries))
	for _, id := range inv.IDs() {
		e := inv.Entries[id]
		o := Owned{ID: id, Origin: e.Origin, Commit: e.Commit, Health: Missing}
		if u := live[id]; u != nil && (e.UID == "" || e.UID == u.GetUID()) {
			o.Health, o.HealthMessage = health(u)
			if kind := u.GetLabels()[v1alpha1.LabelKind]; kind != "" {
				key := desired.Key{Namespace: id.Namespace, Name: u.GetLabels()[v1alpha1.LabelName]}
				o.Source = desired.Source{Kind: kind, Key: key}
			}
		}
		if u := live[id]; u != nil && u.GetDeletionTimestamp() != nil {
			o.Health = status.TerminatingStatus.String()
		}
		out = append(out, o)
	}
	return out, nil
}

// listOwned adds the objects of one kind that carry our label; a kind that the cluster does not have has none.
func (c *Cluster) listOwned(ctx context.Context, gvk schema.GroupVersionKind, into map[desired.ID]*unstructured.Unstructured) error {
	const page = 500
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
	options := &client.ListOptions{Raw: &metav1.ListOptions{}, Limit: page}
	client.MatchingLabels{v1alpha1.LabelOwner: c.cfg.Owner}.ApplyToList(options)
	for {
		err := c.client.List(ctx, list, options)
		if meta.IsNoMatchError(err) {
			return nil
		}
		if err != nil {
			return err
		}
		for i := range list.Items {
			into[identify(&list.Items[i])] = &list.Items[i]
		}
		if options.Continue = list.GetContinue(); options.Continue == "" {
			return nil
		}
		list.Items = nil
	}
}
