package apply

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/tidelock/tidelock/internal/desired"
)

// Inventory is what an instance owns: the only list of what it may delete. It is a snapshot and must not be changed.
type Inventory struct {
	// Entries by ID.
	Entries map[desired.ID]Entry
	// Claims are objects that the instance wants and another one owns, with the name of that other instance.
	Claims map[desired.ID]string

	// types are those of Entries; every pass asks for them.
	types map[schema.GroupVersionKind]bool
}

// Entry is one object that we own, or are about to.
type Entry struct {
	// Version of the API that it was written in; it is needed to address the object and is no part of its identity.
	Version string
	// UID of the object, empty from before the write that creates it until the answer is recorded.
	UID types.UID
	// Digest of the content that was written last.
	Digest string
	// Live is Live.Fields as it was after that write.
	Live string
	// ResourceVersion after that write. It stands for Digest and Live in a Secret's stored entry: the hash of a weak
	// secret can be guessed from, and more people may read a ConfigMap.
	ResourceVersion string
	// Origin is where the manifest stood when it was written last.
	Origin desired.Origin
	// Commit at which the object was written last.
	Commit string
	// Finished is set for a Job that has completed or failed with this content.
	Finished bool
	// Earlier is what earlier pod templates of a workload named and the one that was written last does not, separated by
	// commas: "ConfigMap settings-1,Secret key". It is noted before the write, and kept until the workload has rolled out.
	Earlier string
}

// digest returns the digest of what was written last. Where that was not recorded, before the answer to a write and for a
// Secret, the object itself tells.
func (e Entry) digest(live *Live) string {
	if e.Live == "" {
		return live.Digest
	}
	return e.Digest
}

// matches says that the object is as it was after our write.
func (e Entry) matches(live *Live) bool {
	switch {
	case e.UID != live.UID:
		return false
	case e.Live != "":
		return e.Live == live.Fields
	}
	return e.ResourceVersion != "" && e.ResourceVersion == live.ResourceVersion
}

// owns says that the live object is the one of the entry: by UID, or, where a crash came before its UID was recorded, by
// our digest and our field manager on it (the field manager alone for a Secret, whose digest is not stored).
func (e Entry) owns(live *Live) bool {
	if e.UID != "" && e.UID == live.UID {
		return true
	}
	return live.applied && (e.Digest == live.Digest || e.Digest == "")
}

// kinds returns the types of what is owned; it is the caller's to change.
func (inv Inventory) kinds() map[schema.GroupVersionKind]bool {
	if inv.types != nil {
		return maps.Clone(inv.types)
	}
	out := map[schema.GroupVersionKind]bool{}
	for id, e := range inv.Entries {
		out[schema.GroupVersionKind{Group: id.Group, Version: e.Version, Kind: id.Kind}] = true
	}
	return out
}

// IDs returns what is owned, sorted.
func (inv Inventory) IDs() []desired.ID {
	out := make([]desired.ID, 0, len(inv.Entries))
	for id := range inv.Entries {
		out = append(out, id)
	}
	slices.SortFunc(out, desired.ID.Compare)
	return out
}
