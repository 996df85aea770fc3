package apply

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/tidelock/tidelock/internal/desired"
)

// The keys of an inventory's ConfigMap.
const (
	keyRepository = "repository"
	keyPath       = "path"
	keyEntries    = "entries.json.gz"
	keyClaims     = "claims.json"
)

// maxInventory bounds what a shard may unpack to.
const maxInventory = 16 << 20

// packedEntry is an entry as it is stored.
type packedEntry struct {
	Group           string    `json:"group,omitempty"`
	Version         string    `json:"version"`
	Kind            string    `json:"kind"`
	Namespace       string    `json:"namespace,omitempty"`
	Name            string    `json:"name"`
	UID             types.UID `json:"uid,omitempty"`
	Digest          string    `json:"digest,omitempty"`
	Live            string    `json:"live,omitempty"`
	ResourceVersion string    `json:"resourceVersion,omitempty"`
	Path            string    `json:"path,omitempty"`
	Line            int       `json:"line,omitempty"`
	Commit          string    `json:"commit,omitempty"`
	Finished        bool      `json:"finished,omitempty"`
	Earlier         string    `json:"earlier,omitempty"`
}

// packedClaim is a claim as it is stored, for the eyes of other instances.
type packedClaim struct {
	Group     string `json:"group,omitempty"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	Owner     string `json:"owner"`
}

func pack(ids []desired.ID, entries map[desired.ID]Entry) ([]byte, error) {
	list := make([]packedEntry, 0, len(ids))
	for _, id := range ids {
		e := entries[id]
		p := packedEntry{
			Group: id.Group, Version: e.Version, Kind: id.Kind, Namespace: id.Namespace, Name: id.Name,
			UID: e.UID, Digest: e.Digest, Live: e.Live,
			Path: e.Origin.Path, Line: e.Origin.Line, Commit: e.Commit, Finished: e.Finished,
			Earlier: e.Earlier,
		}
		if isSecret(id.GroupKind()) {
			p.Digest, p.Live, p.ResourceVersion = "", "", e.ResourceVersion
		}
		list = append(list, p)
	}
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if err := json.NewEncoder(z).Encode(list); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// read takes in one ConfigMap and returns its number.
func (l *ledger) read(cm *corev1.ConfigMap) (int, error) {
	shard, err := strconv.Atoi(strings.TrimPrefix(cm.Name, l.name(0)[:len(l.name(0))-1]))
	if err != nil {
		return 0, fmt.Errorf("the name does not end in a number: %w", err)
	}
	list, err := unpack(cm.BinaryData[keyEntries])
	if err != nil {
		return 0, err
	}
	for _, p := range list {
		id := desired.ID{Group: p.Group, Kind: p.Kind, Namespace: p.Namespace, Name: p.Name}
		l.entries[id] = Entry{
			Version: p.Version, UID: p.UID, Digest: p.Digest, Live: p.Live, ResourceVersion: p.ResourceVersion,
			Origin: desired.Origin{Path: p.Path, Line: p.Line}, Commit: p.Commit, Finished: p.Finished,
			Earlier: p.Earlier,
		}
		l.homes[id] = shard
		l.counts[shard]++
	}
	claims, err := unpackClaims(cm)
	maps.Copy(l.claims, claims)
	return shard, err
}

func unpack(packed []byte) ([]packedEntry, error) {
	if len(packed) == 0 {
		return nil, nil
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	var list []packedEntry
	if err := json.NewDecoder(io.LimitReader(z, maxInventory)).Decode(&list); err != nil {
		return nil, err
	}
	return list, nil
}

func packClaims(claims map[desired.ID]string) (string, error) {
	list := make([]packedClaim, 0, len(claims))
	for _, id := range slices.SortedFunc(maps.Keys(claims), desired.ID.Compare) {
		list = append(list, packedClaim{
			Group: id.Group, Kind: id.Kind, Namespace: id.Namespace, Name: id.Name, Owner: claims[id],
		})
	}
	b, err := json.Marshal(list)
	return string(b), err
}

func unpackClaims(cm *corev1.ConfigMap) (map[desired.ID]string, error) {
	claims := map[desired.ID]string{}
	text := cm.Data[keyClaims]
	if text == "" {
		return claims, nil
	}
	var list []packedClaim
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		return nil, err
	}
	for _, p := range list {
		claims[desired.ID{Group: p.Group, Kind: p.Kind, Namespace: p.Namespace, Name: p.Name}] = p.Owner
	}
	return claims, nil
}
