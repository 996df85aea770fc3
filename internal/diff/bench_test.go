package diff

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/tidelock/tidelock/internal/desired"
)

// What a reviewer waits for after the renders: one changed object among 10,000.
func BenchmarkOneChangedObject(b *testing.B) {
	const many = 10_000
	object := func(i int, value string) desired.Object {
		id := desired.ID{Kind: "ConfigMap", Namespace: "shop", Name: fmt.Sprintf("c%05d", i)}
		content := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": id.Kind, "metadata": map[string]any{"name": id.Name, "namespace": id.Namespace},
			"data": map[string]any{"k": value},
		}}
		return desired.Object{ID: id, Version: "v1", Content: content}
	}
	in := Input{Now: time.Date(2026, time.December, 2, 0, 0, 0, 0, time.UTC)}
	for i := range many {
		in.Base.State.Objects = append(in.Base.State.Objects, object(i, "1"))
		in.Head.State.Objects = append(in.Head.State.Objects, object(i, "1"))
	}
	before, after := object(0, "1"), object(0, "2")
	in.Changes = []Change{{ID: after.ID, Action: Update, Before: before.Content, After: after.Content}}
	b.ReportAllocs()
	for b.Loop() {
		if d := Of(in); len(d.Objects) != 1 {
			b.Fatal(d)
		}
	}
}
