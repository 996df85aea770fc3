package apply

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tidelock/tidelock/internal/desired"
	"github.com/tidelock/tidelock/test/env"
)

func TestAFinishedJobThatIsGoneIsNotRunAgain(t *testing.T) {
	t.Parallel()
	ns := env.Cluster(t).Namespace(t)
	in := open(t, ns, "jobs")
	job := func(image string) []desired.Object {
		return manifests(t, ns, `
apiVersion: batch/v1
kind: Job
metadata: {name: migrate, namespace: NAMESPACE}
spec:
  parallelism: 0
  template:
    spec:
      restartPolicy: Never
      containers: [{name: m, image: "`+image+`"}]`)
	}
	objects := job("m:1")
	id := objects[0].ID
	in.sync(t, objects)
	in.await(t, objects, "the Job to begin", func() bool {
		_, begun, _ := unstructured.NestedString(get(t, id, "v1").Object, "status", "startTime")
		return begun
	})
	finish(t, id)
	in.await(t, objects, "the end to be recorded", func() bool { return in.Inventory().Entries[id].Finished })
	u := addressOf(Change{ID: id}, "v1")
	if err := admin(t).Delete(t.Context(), u, client.PropagationPolicy("Background")); err != nil {
		t.Fatal(err)
	}
	in.await(t, objects, "the Job to be gone", func() bool { _, seen := in.view.snapshot().Objects[id]; return !seen })
	in = open(t, ns, "jobs")
	if res := in.sync(t, objects); len(res.Created) > 0 {
		t.Error("a finished Job ran again")
	}
	if res := in.sync(t, job("m:2")); len(res.Created) != 1 {
		t.Errorf("a changed manifest did not run: %+v", res)
	}
}

// Between the deletion of the Job that ended and the making of the new one the write fails, and the daemon may be killed.
func TestAJobThatIsMadeAnewRunsItsNewContentOnce(t *testing.T) {
	t.Parallel()
	for _, dead := range []bool{false, true} {
		t.Run(fmt.Sprintf("killed %v", dead), func(t *testing.T) {
			t.Parallel()
			ns := env.Cluster(t).Namespace(t)
			owner := fmt.Sprintf("anew-%v", dead)
			in, stop := start(t, ns, owner)
			if err := in.Open(t.Context()); err != nil {
				t.Fatal(err)
			}
			job := func(image string) []desired.Object {
				return manifests(t, ns, `
apiVersion: batch/v1
kind: Job
metadata: {name: migrate, namespace: NAMESPACE, annotations: {tidelock.dev/recreate: enabled}}
spec:
  parallelism: 0
  template: {spec: {restartPolicy: Never, containers: [{name: m, image: "`+image+`"}]}}`)
			}
			first, second := job("m:1"), job("m:2")
			id := first[0].ID
			end := func(objects []desired.Object) {
				in.await(t, objects, "the Job to begin", func() bool {
					_, begun, _ := unstructured.NestedString(get(t, id, "v1").Object, "status", "startTime")
					return begun
				})
				finish(t, id)
				in.await(t, objects, "the end to be recorded", func() bool { return in.Inventory().Entries[id].Finished })
			}
			in.sync(t, first)
			end(first)

			in.wire.mu.Lock()
			in.wire.failAt, in.wire.dead = in.wire.writes+3, dead // the entry, the delete, the create
			in.wire.mu.Unlock()
			if _, err := in.settle(t.Context(), second); err == nil || get(t, id, "v1") != nil {
				t.Fatalf("the Job was not to be made yet: %v", err)
			}
			if dead {
				stop()
				in = open(t, ns, owner)
			}
			if res := in.sync(t, second); len(res.Created)+len(res.Changed) != 1 {
				t.Errorf("the new content did not run: %+v", res)
			}
			end(second)
			u := addressOf(Change{ID: id}, "v1")
			if err := admin(t).Delete(t.Context(), u, client.PropagationPolicy("Background")); err != nil {
				t.Fatal(err)
			}
			in.await(t, second, "the Job to be gone", func() bool { _, seen := in.view.snapshot().Objects[id]; return !seen })
			if res := in.sync(t, second); len(res.Created) > 0 || get(t, id, "v1") != nil {
				t.Error("the new content ran again")
			}
		})
	}
}

// finish makes a Job look as its controller leaves it at its end.
func finish(t *testing.T, id desired.ID) {
	t.Helper()
	const done = `{"status":{"conditions":[{"type":"FailureTarget","status":"True"},{"type":"Failed","status":"True"}]}}`
	u := addressOf(Change{ID: id}, "v1")
	err := admin(t).Status().Patch(t.Context(), u, client.RawPatch(types.MergePatchType, []byte(done)))
	if err != nil {
		t.Fatal(err)
	}
}
