package apply

import (
	"strconv"
	"testing"

	"github.com/tidelock/tidelock/internal/desired"
)

// BenchmarkPlanOfNothingToDo is what a pass costs where something else changed.
func BenchmarkPlanOfNothingToDo(b *testing.B) {
	for _, n := range []int{1_000, 10_000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			var objects []desired.Object
			for i := range n {
				objects = append(objects, object("ConfigMap shop/cm-"+strconv.Itoa(i), nil))
			}
			d, err := Declare(objects, Declared{})
			if err != nil {
				b.Fatal(err)
			}
			inv, view := Inventory{Entries: map[desired.ID]Entry{}}, View{Objects: map[desired.ID]Live{}}
			for _, o := range d.objects {
				inv.Entries[o.ID] = Entry{Version: "v1", UID: "u", Digest: o.digest, Live: "f"}
				view.Objects[o.ID] = Live{ID: o.ID, UID: "u", Digest: o.digest, Fields: "f"}
			}
			b.ReportAllocs()
			for b.Loop() {
				if p := NewPlan(d, inv, view); !p.Empty() {
					b.Fatal("something to do")
				}
			}
		})
	}
}
