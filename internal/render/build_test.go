package render

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/kustomize/kyaml/openapi"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/tidelock/tidelock/internal/desired"
)

// poisoner brings a schema in which the containers of a Deployment have no merge key.
func poisoner() fstest.MapFS {
	return fstest.MapFS{
		"kustomization.yaml": file("resources: [a.yaml]\nopenapi: {path: schema.json}\npatches: [{path: p.yaml}]\n"),
		"schema.json": file(`{"definitions": {"io.k8s.api.apps.v1.Deployment": {"type": "object",
			"properties": {"spec": {"type": "object"}},
			"x-kubernetes-group-version-kind": [{"group": "apps", "kind": "Deployment", "version": "v1"}]}}}`),
		"a.yaml": file(deployment),
		"p.yaml": file("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: app}\n" +
			"spec: {template: {spec: {containers: [{name: b, image: b:2}]}}}\n"),
	}
}

func victim() fstest.MapFS {
	v := poisoner()
	v["kustomization.yaml"] = file("resources: [a.yaml]\npatches: [{path: p.yaml}]\n")
	return v
}

const deployment = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: app}\n" +
	"spec: {template: {spec: {containers: [{name: a, image: a:1}, {name: b, image: b:1}]}}}\n"

func TestASchemaOfOneBuildDoesNotReachTheNext(t *testing.T) {
	t.Parallel()
	containers := func(repo fstest.MapFS) int {
		s := render(t, repo, nil)
		return len(listAt(valueAt(s.Objects[0].Content.Object, "spec", "template", "spec"), "containers"))
	}
	// Who asks first for the scope of a kind that is not known leaves the built-in schema to be read later, over whatever is there then.
	turn <- struct{}{}
	openapi.ResetOpenAPI()
	openapi.IsNamespaceScoped(kyaml.TypeMeta{APIVersion: "example.com/v1", Kind: "Gizmo"})
	<-turn
	if n := containers(poisoner()); n != 1 {
		t.Fatalf("the schema of the poisoner has no effect: %d containers", n)
	}
	if n := containers(victim()); n != 2 {
		t.Errorf("got %d containers, want 2: the list was replaced, not merged", n)
	}
}

func TestRendersAtTheSameTimeDoNotMix(t *testing.T) {
	t.Parallel()
	want := render(t, victim(), nil)
	var g errgroup.Group
	for range 4 {
		g.Go(func() error {
			_, err := Render(t.Context(), desired.Revision{}, poisoner(), Options{})
			return err
		})
		g.Go(func() error {
			got, err := Render(t.Context(), desired.Revision{}, victim(), Options{})
			if diff := cmp.Diff(want, got); diff != "" {
				return errors.New(diff)
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		t.Error(err)
	}
}

func TestAnUncheckedKustomizationIsNotBuilt(t *testing.T) {
	t.Parallel()
	repo := fstest.MapFS{"kustomization.yaml": file("resources: [https://example.com/a.yaml]\n")}
	turn <- struct{}{}
	defer func() { <-turn }()
	_, err := kustomize(kustFS{tree: newTree(repo)}, "/", false)
	if err == nil || !strings.Contains(err.Error(), "unable to find one of") {
		t.Errorf("got %v: the guard can be passed by", err)
	}
}

func TestKustomizeCannotWrite(t *testing.T) {
	t.Parallel()
	var f filesys.FileSystem = kustFS{tree: newTree(fstest.MapFS{"a": file("a")})}
	_, create := f.Create("/b")
	for what, err := range map[string]error{
		"create": create, "mkdir": f.Mkdir("/b"), "mkdirall": f.MkdirAll("/b/c"),
		"write": f.WriteFile("/a", nil), "remove": f.RemoveAll("/a"),
	} {
		if !errors.Is(err, errReadOnly) {
			t.Errorf("%s: got %v", what, err)
		}
	}
}

func TestABuildOfManyObjectsIsPointedOut(t *testing.T) {
	t.Parallel()
	list := "resources:\n"
	repo := fstest.MapFS{}
	for i := range manyObjects + 1 {
		name := fmt.Sprintf("cm-%d.yaml", i)
		repo[name] = configMapFile(i, "1")
		list += "- " + name + "\n"
	}
	repo["kustomization.yaml"] = file(list)
	s := render(t, repo, nil)
	if len(s.Warnings) != 1 || !strings.Contains(s.Warnings[0].Text, "split it into units") {
		t.Errorf("got %v", s.Warnings)
	}
}

func TestNoErrorCarriesAValueOfASecret(t *testing.T) {
	t.Parallel()
	const plain, encoded = "CANARY-VALUE", "Q0FOQVJZLVZBTFVF"
	secret := "apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: %}\ndata: {k: " + encoded + "}\n"
	in := func(ns string) string { return strings.ReplaceAll(secret, "%", ns) }
	tests := map[string]fstest.MapFS{
		"two become one": {
			"kustomization.yaml": file("namespace: t\nresources: [a.yaml]\n"), "a.yaml": file(in("a") + "---\n" + in("b")),
		},
		"registered twice": {
			"kustomization.yaml": file("resources: [a.yaml, b.yaml]\n"), "a.yaml": file(in("a")), "b.yaml": file(in("a")),
		},
		"a generator that collides": {
			"kustomization.yaml": file("resources: [a.yaml]\nnamespace: a\ngeneratorOptions: {disableNameSuffixHash: true}\n" +
				"secretGenerator: [{name: s, literals: [k=" + plain + "]}]\n"), "a.yaml": file(in("a")),
		},
		"a literal without a key": {
			"kustomization.yaml": file("secretGenerator: [{name: s, literals: [" + plain + "]}]\n"),
		},
		"an env file that is no text": {
			"kustomization.yaml": file("secretGenerator: [{name: s, envs: [e]}]\n"), "e": file("\xff" + plain + "\n"),
		},
		"a patch that does not fit": {
			"kustomization.yaml": file("resources: [a.yaml]\npatches:\n- target: {kind: Secret}\n  patch: |\n" +
				"    - {op: test, path: /data/k, value: " + plain + "}\n"), "a.yaml": file(in("a")),
		},
		"a patch of nothing": {
			"kustomization.yaml": file("resources: [a.yaml]\npatches:\n- patch: |\n    apiVersion: v1\n    kind: Secret\n" +
				"    metadata: {name: other}\n    stringData: {k: " + plain + "}\n"), "a.yaml": file(in("a")),
		},
		"an anchor that is a value": {"a.yaml": file("apiVersion: v1\nkind: Secret\nstringData: {k: *" + plain + "}\n")},
		"a tag that is a value":     {"a.yaml": file("apiVersion: v1\nkind: Secret\nstringData: {k: !" + plain + " x}\n")},
		"a value that is no base64": {"a.yaml": file("apiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata: {k: '" + plain + "!'}\n")},
		"a value of another type":   {"a.yaml": file("apiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata: " + plain + "\n")},
		"a list for an object": {
			"kustomization.yaml": file("secretGenerator: {name: s, literals: [k=" + plain + "]}\n"),
		},
	}
	for name, repo := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Render(t.Context(), desired.Revision{}, repo, Options{})
			if _, ok := errors.AsType[desired.Problems](err); !ok {
				t.Fatalf("got %v, want problems", err)
			}
			if text := err.Error(); strings.Contains(text, plain) || strings.Contains(text, encoded) {
				t.Errorf("the value is in: %s", text)
			}
		})
	}
}
