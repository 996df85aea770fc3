package render

import (
	"maps"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// kustomizeAlone builds the repository as kustomize does without us.
func kustomizeAlone(t *testing.T, repo fstest.MapFS) map[string]any {
	t.Helper()
	fsys := filesys.MakeFsInMemory()
	for name, f := range repo {
		if err := fsys.WriteFile("/"+name, f.Data); err != nil {
			t.Fatal(err)
		}
	}
	turn <- struct{}{}
	defer func() { <-turn }()
	m, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(fsys, "/")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]any{}
	for _, res := range m.Resources() {
		data, err := res.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		var content map[string]any
		if err := utiljson.Unmarshal(data, &content); err != nil {
			t.Fatal(err)
		}
		u := unstructured.Unstructured{Object: content}
		if u.GetNamespace() == "" {
			u.SetNamespace(defaultNamespace)
		}
		out[u.GetKind()+" "+u.GetNamespace()+"/"+u.GetName()] = content
	}
	return out
}

// One difference is meant: kustomize writes a date as an instant (2026-01-02T00:00:00Z), here it stays the text that it is.
func TestACheckedKustomizationBuildsWhatKustomizeBuilds(t *testing.T) {
	t.Parallel()
	base := fstest.MapFS{
		"a.yaml": file(`apiVersion: apps/v1
kind: Deployment
metadata: {name: app, annotations: {on: "yes"}}
spec:
  replicas: 1
  selector: {matchLabels: {app: app}}
  template:
    metadata: {labels: {app: app}}
    spec:
      containers:
      - name: c
        image: app:1
        env:
        - {name: NAME, value: $(NAME)}
        envFrom: [{configMapRef: {name: conf}}, {secretRef: {name: sec}}]
`),
		"svc.yaml": file("apiVersion: v1\nkind: Service\nmetadata: {name: app}\nspec:\n  selector: {app: app}\n  ports: [{port: 80}]\n" +
			"  odd: [yes, 0x10, 1e3, \"007\", 12:30, ~, 9007199254740993, 1.50, off, 0o7]\n"),
		"r.yaml": file("- source: {kind: Service, fieldPath: spec.ports.0.port}\n  targets:\n" +
			"  - select: {kind: Deployment}\n    fieldPaths: [metadata.annotations.port]\n    options: {create: true}\n"),
		"e.env": file("A=1\nB=yes\n"),
	}
	tests := map[string]string{
		"names":      "namePrefix: p-\nnameSuffix: -s\nnamespace: shop\n",
		"labels":     "labels:\n- pairs: {a: \"1\", b: \"yes\"}\n  includeSelectors: true\n- pairs: {b: c}\n  fields: [{path: spec/x, create: true}]\n  includeTemplates: true\n",
		"old labels": "commonLabels: {a: \"true\"}\ncommonAnnotations: {b: \"0123\"}\n",
		"images":     "images: [{name: app, newName: reg.example.com/app, digest: \"sha256:00\"}]\nreplicas: [{name: app, count: 3}]\n",
		"patches": "patches:\n- target: {kind: Deployment, name: ap.*}\n  options: {allowNameChange: true}\n  patch: |\n" +
			"    - {op: replace, path: /metadata/name, value: other}\n- patch: |\n    kind: Service\n    apiVersion: v1\n" +
			"    metadata: {name: app}\n    spec: {type: NodePort}\n",
		"old patches": "patchesStrategicMerge:\n- |\n  kind: Service\n  apiVersion: v1\n  metadata: {name: app}\n  spec: {type: NodePort}\n" +
			"patchesJson6902:\n- target: {version: v1, kind: Service, name: app}\n  patch: |\n    - {op: add, path: /spec/x, value: 1}\n",
		"replacements": "replacements:\n- path: r.yaml\n- source: {kind: Service, name: app}\n  targets:\n" +
			"  - select: {kind: Deployment}\n    reject: [{name: none}]\n    fieldPaths: [spec.template.spec.containers.0.image]\n    options: {delimiter: ':', index: 1}\n",
		"vars": "vars: [{name: NAME, objref: {kind: Service, name: app, apiVersion: v1}, fieldref: {fieldpath: metadata.name}}]\n",
		"generators": "configMapGenerator:\n- {name: conf, literals: [a=1, b=yes], files: [key=e.env], envs: [e.env], options: {labels: {x: z}, immutable: true}}\n" +
			"secretGenerator:\n- {name: sec, type: kubernetes.io/basic-auth, literals: [\"password='x=y'\"], env: e.env}\n" +
			"generatorOptions: {annotations: {g: o}}\nsortOptions: {order: legacy, legacySortOptions: {orderFirst: [Service]}}\n",
		"metadata": "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nmetadata: {name: x, annotations: {a: b}}\n",
		"builtins": "transformers:\n- |\n  apiVersion: builtin\n  kind: PrefixTransformer\n  metadata: {name: x}\n  prefix: t-\n  fieldSpecs: [{path: metadata/name}]\n",
	}
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			repo := maps.Clone(base)
			repo["kustomization.yaml"] = file(text + "resources: [a.yaml, svc.yaml]\n")
			got := map[string]any{}
			for _, o := range render(t, repo, nil).Objects {
				got[o.Kind+" "+o.Namespace+"/"+o.Name] = o.Content.Object
			}
			want := kustomizeAlone(t, repo)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-kustomize +ours):\n%s", slices.Sorted(maps.Keys(got)), diff)
			}
		})
	}
}
