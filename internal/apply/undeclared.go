package apply

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// dropUndeclared takes from the answer to a dry run what goes with the write after a take-over, which a dry run cannot make.
func dropUndeclared(after, before *unstructured.Unstructured, ch Change) error {
	defaults, err := defaulted(before)
	if err != nil {
		return err
	}
	entries, err := handOver(before, ch)
	if err != nil {
		return fmt.Errorf("take over the fields of others: %w", err)
	}
	held, others := &fieldpath.Set{}, &fieldpath.Set{}
	for _, e := range entries {
		set, err := fieldsOf(e)
		switch {
		case err != nil:
			return err
		case byUs(e):
			held = set
		default:
			others = others.Union(set)
		}
	}
	entries = after.GetManagedFields()
	if i := slices.IndexFunc(entries, byUs); i >= 0 {
		declared, err := fieldsOf(entries[i])
		if err != nil {
			return err
		}
		others = others.Union(declared)
	}
	dropFields(after.Object, held.Difference(others).Difference(defaults), others)
	return nil
}

// defaulted returns what the API server has set, and will set again, of the fields that it gave to those who made an object
// by an update: with kubectl apply all that its own record of the manifest does not have.
func defaulted(u *unstructured.Unstructured) (*fieldpath.Set, error) {
	record := &unstructured.Unstructured{Object: map[string]any{}}
	if text := u.GetAnnotations()[lastApplied]; text != "" {
		if err := json.Unmarshal([]byte(text), &record.Object); err != nil {
			return nil, fmt.Errorf("read the annotation %s: %w", lastApplied, err)
		}
		if isSecret(u.GroupVersionKind().GroupKind()) {
			if err := foldStringData(record); err != nil {
				return nil, err
			}
		}
	}
	out := &fieldpath.Set{}
	for _, e := range u.GetManagedFields() {
		if e.Operation != metav1.ManagedFieldsOperationUpdate || byHand(e) {
			continue
		}
		set, err := fieldsOf(e)
		if err != nil {
			return nil, err
		}
		out = out.Union(set.Difference(within(set, record.Object)))
	}
	return out, nil
}

// within returns those fields of a set that a value has.
func within(set *fieldpath.Set, v any) *fieldpath.Set {
	out := &fieldpath.Set{}
	for pe := range set.Members.All() {
		if _, found := recorded(v, pe); found {
			out.Members.Insert(pe)
		}
	}
	for pe := range set.Children.All() {
		inner, _ := set.Children.Get(pe)
		if child, found := recorded(v, pe); found {
			*out.Children.Descend(pe) = *within(inner, child)
		}
	}
	return out
}

// recorded goes from a value of a manifest to the part that a path element names. An entry of a list may lack a part of its
// key that the API server has put there: the protocol of a port.
func recorded(v any, pe fieldpath.PathElement) (any, bool) {
	list, _ := v.([]any)
	if pe.Key == nil {
		child, _, found := step(v, pe)
		return child, found
	}
	for _, item := range list {
		m, ok := item.(map[string]any)
		if ok && !slices.ContainsFunc(*pe.Key, func(f value.Field) bool {
			have, there := m[f.Name]
			return there && !value.Equals(f.Value, value.NewValueInterface(have))
		}) {
			return item, true
		}
	}
	return nil, false
}

// dropFields returns a value without the fields of a set; one below which others hold something stays for that.
func dropFields(at any, gone, others *fieldpath.Set) any {
	for pe := range gone.Members.All() {
		_, segment, found := step(at, pe)
		if !found || !others.WithPrefix(pe).Empty() {
			continue
		}
		switch v := at.(type) {
		case map[string]any:
			delete(v, segment)
		case []any:
			i, _ := strconv.Atoi(segment) // of an item that step has found
			at = slices.Delete(v, i, i+1)
		}
	}
	for pe := range gone.Children.All() {
		inner, _ := gone.Children.Get(pe)
		if child, segment, found := step(at, pe); found {
			put(at, segment, dropFields(child, inner, others.WithPrefix(pe)), true)
		}
	}
	return at
}
