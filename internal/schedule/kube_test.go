package schedule

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/tidelock/tidelock/api/v1alpha1"
	"github.com/tidelock/tidelock/deploy/crds"
	"github.com/tidelock/tidelock/internal/desired"
	"github.com/tidelock/tidelock/test/env"
)

// testPatience is how long a real API server may take for anything.
const testPatience = time.Minute

// The account has the rights that deploy/namespaced gives it, and none beyond its namespace.
func TestAnAtFiresForAnAccountOfOneNamespace(t *testing.T) {
	t.Parallel()
	plane := env.Cluster(t)
	namespace := plane.Namespace(t)
	admin := adminOf(t, plane)
	for _, file := range []string{"../../deploy/daemon/role.yaml", "../../deploy/namespaced/role.yaml"} {
		grant(t, admin, file, namespace)
	}
	account := plane.Config()
	account.Impersonate = rest.ImpersonationConfig{
		UserName: "system:serviceaccount:" + namespace + ":tidelock",
		Groups:   []string{"system:serviceaccounts", "system:authenticated"},
	}
	kube, err := NewKube(KubeConfig{
		REST: account, Instance: "prod", Namespace: namespace, Namespaced: true, Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	// As long a name as an At of a cron expression may have.
	s := at(strings.Repeat("x", 50), "* * * * *")
	s.Namespace, s.Job.Spec.Template.Spec.RestartPolicy = namespace, corev1.RestartPolicyNever
	makeAt(t, admin, s.Key)

	// A minute begins in a second: the clock is set so.
	ahead := time.Until(time.Now().Truncate(time.Minute).Add(time.Minute - time.Second))
	ctx, cancel := context.WithTimeout(t.Context(), testPatience)
	d := startWith(ctx, Config{
		Jobs: kube, Sight: kube, Ledger: kube, Events: kube, Now: func() time.Time { return time.Now().Add(ahead) },
	}, s)
	defer d.end()
	defer cancel()
	last := func() *Run {
		standing, _ := d.Standing(s.Key)
		return standing.Last
	}
	for last() == nil {
		select {
		case <-ctx.Done():
			standing, _ := d.Standing(s.Key)
			t.Fatalf("it did not fire: %+v", standing)
		case <-d.Changed():
		}
	}
	var job batchv1.Job
	if err := admin.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: last().Job}, &job); err != nil {
		t.Fatal(err)
	}
	if owner := metav1.GetControllerOf(&job); owner == nil || owner.Name != s.Name || job.Spec.Suspend == nil || *job.Spec.Suspend {
		t.Errorf("the Job is owned by %+v and suspended: %v", job.OwnerReferences, job.Spec.Suspend)
	}
	eventually(t, "the event", func(ctx context.Context) error {
		var list eventsv1.EventList
		if err := admin.List(ctx, &list, client.InNamespace(namespace)); err != nil {
			return err
		}
		for i := range list.Items {
			if e := &list.Items[i]; e.Reason == ReasonFired && e.Regarding.Name == s.Name {
				return nil
			}
		}
		return fmt.Errorf("not among %d", len(list.Items))
	})
	if _, err := kube.ExitCode(t.Context(), Job{Key: desired.Key{Namespace: namespace}, UID: string(job.UID)}); err != nil {
		t.Error(err)
	}
}

// adminOf returns a client with all rights, once the kind At is served.
func adminOf(t *testing.T, plane *env.ControlPlane) client.Client {
	t.Helper()
	c, err := client.New(plane.Config(), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	raw, err := crds.FS.ReadFile("tidelock.dev_ats.yaml")
	if err != nil {
		t.Fatal(err)
	}
	definition := client.ApplyConfigurationFromUnstructured(read(t, raw))
	if err := c.Apply(t.Context(), definition, client.FieldOwner("test"), client.ForceOwnership); err != nil {
		t.Fatal(err)
	}
	eventually(t, "Ats to be served", func(ctx context.Context) error {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(v1alpha1.GroupVersion().WithKind("AtList"))
		return c.List(ctx, list, client.Limit(1))
	})
	return c
}

// grant makes the Roles and RoleBindings of a file of deploy in a namespace.
func grant(t *testing.T, c client.Client, file, namespace string) {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for doc := range strings.SplitSeq(string(raw), "\n---\n") {
		o := read(t, []byte(doc))
		if subjects, ok, _ := unstructured.NestedSlice(o.Object, "subjects"); ok {
			for _, s := range subjects {
				s.(map[string]any)["namespace"] = namespace
			}
			o.Object["subjects"] = subjects
		}
		o.SetNamespace(namespace)
		if err := c.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
}

func makeAt(t *testing.T, c client.Client, k desired.Key) {
	t.Helper()
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(v1alpha1.GroupVersion().WithKind(v1alpha1.KindAt))
	o.SetNamespace(k.Namespace)
	o.SetName(k.Name)
	o.Object["spec"] = map[string]any{"schedule": "* * * * *", "command": "true"}
	if err := c.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, raw []byte) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(raw, &o.Object); err != nil {
		t.Fatal(err)
	}
	return o
}

// eventually asks until ask is content: the API server has no channel to wait on.
func eventually(t *testing.T, what string, ask func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testPatience)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	var last error
	for {
		err := ask(ctx)
		if err == nil {
			return
		}
		if !errors.Is(err, context.DeadlineExceeded) {
			last = err
		}
		select {
		case <-ctx.Done():
			t.Fatalf("gave up waiting for %s: %v", what, last)
		case <-tick.C:
		}
	}
}
