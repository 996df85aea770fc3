//go:build e2e

package faults

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tidelock/tidelock/api/v1alpha1"
)

// world is what carries the instance's label, by kind and name: the content, and which object it is.
type world struct {
	content map[string]string
	uid     map[string]string
}

// kinds are those of which a commit of ours may hold something.
func (d *daemon) kinds() []schema.GroupVersionKind {
	out := []schema.GroupVersionKind{
		{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"},
		{Group: "apps", Version: "v1", Kind: "Deployment"},
		{Group: "batch", Version: "v1", Kind: "Job"},
		{Group: d.name + ".example.com", Version: "v1", Kind: "Widget"},
	}
	for _, kind := range []string{"Namespace", "ConfigMap", "Secret", "ServiceAccount", "Service"} {
		out = append(out, schema.GroupVersionKind{Version: "v1", Kind: kind})
	}
	for _, kind := range []string{"Role", "RoleBinding", "ClusterRole"} {
		out = append(out, schema.GroupVersionKind{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: kind})
	}
	for _, kind := range []string{"APIMock", "TrafficSplit", "ProxyRoute", "At"} {
		out = append(out, v1alpha1.GroupVersion().WithKind(kind))
	}
	return out
}

// world looks at all that is the instance's.
func (d *daemon) world(ctx context.Context) (world, error) {
	w := world{content: map[string]string{}, uid: map[string]string{}}
	for _, gvk := range d.kinds() {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
		err := d.client.List(ctx, list, client.MatchingLabels{v1alpha1.LabelOwner: d.name})
		if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
			continue // the definition is not there now
		}
		if err != nil {
			return w, fmt.Errorf("list %s: %w", gvk, err)
		}
		for i := range list.Items {
			o := &list.Items[i]
			name := fmt.Sprintf("%s %s/%s", gvk.Kind, o.GetNamespace(), o.GetName())
			w.uid[name] = string(o.GetUID())
			if strings.HasPrefix(o.GetName(), "instant-") {
				continue // each commit has another one
			}
			content, err := contentOf(o)
			if err != nil {
				return w, err
			}
			w.content[name] = content
		}
	}
	return w, nil
}

// contentOf is an object without what the server and controllers give it, and with the fields that are ours.
func contentOf(o *unstructured.Unstructured) (string, error) {
	managers := []string{}
	for _, m := range o.GetManagedFields() {
		if m.Manager == v1alpha1.ManagedBy && m.Subresource == "" {
			managers = append(managers, string(m.Operation)+" "+string(m.FieldsV1.GetRawBytes()))
		}
	}
	c := o.DeepCopy()
	delete(c.Object, "status")
	for _, field := range []string{"uid", "resourceVersion", "creationTimestamp", "generation", "managedFields"} {
		unstructured.RemoveNestedField(c.Object, "metadata", field)
	}
	for _, path := range [][]string{
		{"metadata", "annotations", "deployment.kubernetes.io/revision"},
		{"metadata", "finalizers"}, // of a Job's pods, from its controller
		{"spec", "clusterIP"},
		{"spec", "clusterIPs"},
		{"spec", "selector", "matchLabels", "batch.kubernetes.io/controller-uid"},
		{"spec", "template", "metadata", "labels"}, // those of a Job hold its UID
	} {
		unstructured.RemoveNestedField(c.Object, path...)
	}
	b, err := json.MarshalIndent(map[string]any{"object": c.Object, "fields": managers}, "", " ")
	return string(b), err
}

// inventory is what the instance says that it owns, by name, with the UID.
func (d *daemon) inventory(ctx context.Context) (map[string]string, error) {
	var list corev1.ConfigMapList
	err := d.client.List(ctx, &list, client.InNamespace(d.name), client.MatchingLabels{v1alpha1.Group + "/inventory": d.name})
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for i := range list.Items {
		z, err := gzip.NewReader(bytes.NewReader(list.Items[i].BinaryData["entries.json.gz"]))
		if err != nil {
			return nil, err
		}
		var entries []struct {
			Kind      string `json:"kind"`
			Namespace string `json:"namespace"`
			Name      string `json:"name"`
			UID       string `json:"uid"`
		}
		if err := json.NewDecoder(z).Decode(&entries); err != nil {
			return nil, err
		}
		for _, e := range entries {
			out[fmt.Sprintf("%s %s/%s", e.Kind, e.Namespace, e.Name)] = e.UID
		}
	}
	return out, nil
}

// foreign are objects beside ours that nobody may touch: nobody's, another tool's, another instance's.
func (d *daemon) foreign(t *testing.T) []client.Object {
	t.Helper()
	var out []client.Object
	for name, labels := range map[string]map[string]string{
		"nobodys": nil,
		"of-flux": {"kustomize.toolkit.fluxcd.io/name": "apps", "kustomize.toolkit.fluxcd.io/namespace": "flux-system"},
		"of-kin":  {v1alpha1.LabelManagedBy: v1alpha1.ManagedBy, v1alpha1.LabelOwner: "somebody-else"},
	} {
		cm := &corev1.ConfigMap{Data: map[string]string{"v": "foreign"}}
		cm.Namespace, cm.Name, cm.Labels = d.name, name, labels
		if err := d.client.Create(t.Context(), cm); err != nil {
			t.Fatal(err)
		}
		out = append(out, cm)
	}
	return out
}

// untouched fails where one of these objects was written to.
func (d *daemon) untouched(t *testing.T, list []client.Object) {
	t.Helper()
	for _, o := range list {
		var now corev1.ConfigMap
		if err := d.client.Get(t.Context(), client.ObjectKeyFromObject(o), &now); err != nil {
			t.Errorf("the foreign ConfigMap %s: %v", o.GetName(), err)
			continue
		}
		if now.ResourceVersion != o.GetResourceVersion() {
			t.Errorf("the foreign ConfigMap %s was written to: %v", o.GetName(), now.ManagedFields)
		}
	}
}

// same waits until what is there is as an undisturbed run left it, and the inventory names exactly that.
func (d *daemon) same(t *testing.T, want world) world {
	t.Helper()
	var got world
	d.Eventually(t, "the same end state", func(ctx context.Context) error {
		var err error
		if got, err = d.world(ctx); err != nil {
			return err
		}
		if diff := cmp.Diff(want.content, got.content); diff != "" {
			return errors.New("the state differs (-want +got):\n" + diff)
		}
		owned, err := d.inventory(ctx)
		if err != nil {
			return err
		}
		if diff := cmp.Diff(got.uid, owned); diff != "" {
			return errors.New("the inventory differs (-there +inventory):\n" + diff)
		}
		return nil
	})
	return got
}

// stayed fails where an object that is in both commits was made anew meanwhile. A Job is by its own annotation, and what
// the tests delete has to be.
func stayed(t *testing.T, was, now world) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(was.uid)) {
		anew := strings.HasPrefix(name, "Job ") || strings.Contains(name, "/drifting-")
		if uid := now.uid[name]; uid != "" && uid != was.uid[name] && !anew {
			t.Errorf("%s was made anew", name)
		}
	}
}
