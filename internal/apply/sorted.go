package apply

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tidelock/tidelock/internal/desired"
)

func sortIDs(lists ...[]desired.ID) {
	for _, ids := range lists {
		slices.SortFunc(ids, desired.ID.Compare)
	}
}

func sortFailures(failures []Failure) {
	slices.SortFunc(failures, func(a, b Failure) int { return a.Compare(b.ID) })
}

func sortWaits(waits []desired.Wait) {
	slices.SortFunc(waits, func(a, b desired.Wait) int { return strings.Compare(a.String(), b.String()) })
}

func encode(v any) ([]byte, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode a patch: %w", err)
	}
	return b, nil
}

// groupResource names a kind for an error message.
func groupResource(id desired.ID) schema.GroupResource {
	return schema.GroupResource{Group: id.Group, Resource: id.Kind}
}
