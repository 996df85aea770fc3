package apply

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tidelock/tidelock/api/v1alpha1"
	"github.com/tidelock/tidelock/internal/desired"
)

// labelInventory marks the ConfigMaps of an inventory; its value is the instance. It is not the label of what we own: an
// inventory is not in itself.
const labelInventory = v1alpha1.Group + "/inventory"

// shardSize is how many entries a ConfigMap holds at most: some 30 KB compressed, so that one change writes little.
const shardSize = 500

// ledger is the inventory as it is kept: which entry is in which ConfigMap, and which of them must be written.
type ledger struct {
	cfg     Config
	entries map[desired.ID]Entry
	claims  map[desired.ID]string
	homes   map[desired.ID]int // shard of an entry
	counts  map[int]int        // entries of a shard
	dirty   map[int]bool
	current *Inventory
}

func newLedger(cfg Config) *ledger {
	return &ledger{
		cfg: cfg, entries: map[desired.ID]Entry{}, claims: map[desired.ID]string{},
		homes: map[desired.ID]int{}, counts: map[int]int{}, dirty: map[int]bool{},
	}
}

// Open reads the inventory, once after a start. ErrOtherRepository comes back where it belongs to another repository or
// path, and Takeover is not set.
func (c *Cluster) Open(ctx context.Context) error {
	var list corev1.ConfigMapList
	err := c.client.List(ctx, &list, client.InNamespace(c.cfg.Namespace), client.MatchingLabels{labelInventory: c.cfg.Owner})
	if err != nil {
		return fmt.Errorf("read the inventory in namespace %s: %w", c.cfg.Namespace, err)
	}
	l := newLedger(c.cfg)
	for i := range list.Items {
		cm := &list.Items[i]
		shard, err := l.read(cm)
		if err != nil {
			return fmt.Errorf("read the inventory: ConfigMap %s/%s: %w", cm.Namespace, cm.Name, err)
		}
		repository, path := cm.Data[keyRepository], cm.Data[keyPath]
		if repository == c.cfg.Repository && path == c.cfg.Path {
			continue
		}
		if !c.cfg.Takeover {
			return fmt.Errorf("%w: %q keeps the cluster at %s, path %s; this one is %s, path %s: choose another name, or take "+
				"it over", ErrOtherRepository, c.cfg.Owner, repository, path, c.cfg.Repository, c.cfg.Path)
		}
		l.dirty[shard] = true
	}
	c.ledger = l
	return nil
}

// Inventory returns what the instance owns.
func (c *Cluster) Inventory() Inventory {
	c.noteFinished()
	if c.ledger.current == nil {
		c.ledger.current = &Inventory{Entries: maps.Clone(c.ledger.entries), Claims: maps.Clone(c.ledger.claims)}
		c.ledger.current.types = c.ledger.current.kinds()
	}
	return *c.ledger.current
}

// noteFinished records Jobs that ended, so that their disappearance is no drift. It is saved by the next Execute. An entry
// that is ahead of its write has the digest of what is to come: that the Job before it ended says nothing of that.
func (c *Cluster) noteFinished() {
	for id, uid := range c.view.finished() {
		if entry, ok := c.ledger.entries[id]; ok && entry.UID == uid && entry.Live != "" && !entry.Finished {
			entry.Finished = true
			c.ledger.set(id, entry)
		}
	}
}

func (l *ledger) set(id desired.ID, e Entry) {
	if old, ok := l.entries[id]; ok && old == e {
		return
	}
	home, ok := l.homes[id]
	if !ok {
		for home = 0; l.counts[home] >= shardSize; home++ {
		}
		l.homes[id] = home
		l.counts[home]++
	}
	l.entries[id] = e
	l.dirty[home] = true
	l.current = nil
}

func (l *ledger) drop(id desired.ID) {
	home, ok := l.homes[id]
	if !ok {
		return
	}
	delete(l.entries, id)
	delete(l.homes, id)
	l.counts[home]--
	l.dirty[home] = true
	l.current = nil
}

// claim sets what the instance wants and others own.
func (l *ledger) claim(claims map[desired.ID]string) {
	if maps.Equal(l.claims, claims) {
		return
	}
	l.claims = claims
	l.dirty[0] = true
	l.current = nil
}

// save writes the ConfigMaps whose content changed. What could not be written stays to be written.
func (c *Cluster) save(ctx context.Context) error {
	l := c.ledger
	for _, shard := range slices.Sorted(maps.Keys(l.dirty)) {
		if err := c.saveShard(ctx, shard); err != nil {
			return fmt.Errorf("write the inventory: %w", err)
		}
		delete(l.dirty, shard)
	}
	return nil
}

func (c *Cluster) saveShard(ctx context.Context, shard int) error {
	cm, err := c.ledger.configMap(shard)
	if err != nil {
		return err
	}
	if shard > 0 && c.ledger.counts[shard] == 0 {
		return client.IgnoreNotFound(c.client.Delete(ctx, cm))
	}
	err = c.client.Update(ctx, cm, manager)
	if apierrors.IsNotFound(err) {
		cm.ResourceVersion = ""
		return c.client.Create(ctx, cm, manager)
	}
	return err
}

func (l *ledger) name(shard int) string {
	return v1alpha1.ManagedBy + "-" + l.cfg.Owner + "-" + strconv.Itoa(shard)
}

func (l *ledger) configMap(shard int) (*corev1.ConfigMap, error) {
	var ids []desired.ID
	for id, home := range l.homes {
		if home == shard {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, desired.ID.Compare)
	packed, err := pack(ids, l.entries)
	if err != nil {
		return nil, err
	}
	cm := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: l.cfg.Namespace, Name: l.name(shard),
			Labels: map[string]string{labelInventory: l.cfg.Owner, v1alpha1.LabelManagedBy: v1alpha1.ManagedBy},
		},
		Data:       map[string]string{keyRepository: l.cfg.Repository, keyPath: l.cfg.Path},
		BinaryData: map[string][]byte{keyEntries: packed},
	}
	if shard == 0 && len(l.claims) > 0 {
		cm.Data[keyClaims], err = packClaims(l.claims)
	}
	return cm, err
}
