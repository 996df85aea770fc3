package render

import (
	"io/fs"
	"maps"
	"math/rand/v2"
	"strconv"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/tidelock/tidelock/internal/desired"
)

// counting counts the reads of file content.
type counting struct {
	fstest.MapFS
	reads map[string]int
}

func (c counting) ReadFile(name string) ([]byte, error) {
	c.reads[name]++
	return c.MapFS.ReadFile(name)
}

func (c counting) Open(name string) (fs.File, error) { return c.MapFS.Open(name) }

// hashed gives every file a hash, as a git tree does.
func hashed(repo fstest.MapFS) counting {
	out := counting{MapFS: fstest.MapFS{}, reads: map[string]int{}}
	for name, f := range repo {
		out.MapFS[name] = &fstest.MapFile{Data: f.Data, Mode: f.Mode, Sys: "hash of " + string(f.Data)}
	}
	return out
}

func TestAFileThatDidNotChangeIsNotReadAgain(t *testing.T) {
	t.Parallel()
	first := fstest.MapFS{
		"tidelock.yaml":        file("apiVersion: tidelock.dev/v1alpha1\nkind: Config\nunits: [{path: '*'}]\n"),
		"plain/a.yaml":         file("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"),
		"plain/b.yaml":         file("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n"),
		"k1/kustomization.yml": file("namespace: k1\nresources: [c.yaml]\nconfigMapGenerator: [{name: g, files: [g.txt]}]\n"),
		"k1/c.yaml":            file("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n"),
		"k1/g.txt":             file("g"),
		"k2/kustomization.yml": file("namespace: k2\nresources: [c.yaml]\n"),
		"k2/c.yaml":            file("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c2}\n"),
		"mocks/m.yaml": file("apiVersion: tidelock.dev/v1alpha1\nkind: APIMock\nmetadata: {name: m, namespace: k1}\n" +
			"spec: {definitionFrom: {file: api/m.yaml}}\n"),
		"mocks/api/m.yaml": file("openapi: 3.0.3\ninfo: {title: t, version: '1'}\npaths: {/a: {get: {responses: {'200': " +
			"{description: d, content: {application/json: {schema: {$ref: types.yaml}}}}}}}}\n"),
		"mocks/api/types.yaml": file("type: string\n"),
	}
	tests := map[string]struct {
		reason string
		change map[string]string
		want   []string // files whose content is read
	}{
		"nothing": {reason: "equal input costs no read"},
		"a plain file": {
			reason: "only that file", change: map[string]string{"plain/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: z}\n"},
			want: []string{"plain/a.yaml"},
		},
		"a file of one unit": {
			reason: "the build that read it runs again, the other one does not", change: map[string]string{"k1/g.txt": "changed"},
			want: []string{"k1/c.yaml", "k1/g.txt", "k1/kustomization.yml"},
		},
		"a file that a description refers to": {
			reason: "the description is bundled again", change: map[string]string{"mocks/api/types.yaml": "type: integer\n"},
			want: []string{"mocks/api/m.yaml", "mocks/api/types.yaml"},
		},
		"a file that a build looked for and missed": {
			reason: "a second kustomization file makes the build wrong",
			change: map[string]string{"k2/kustomization.yaml": "resources: [c.yaml]\n"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cache := NewCache()
			if _, err := Render(t.Context(), desired.Revision{}, hashed(first), Options{Cache: cache}); err != nil {
				t.Fatal(err)
			}
			changed := maps.Clone(first)
			for name, text := range tt.change {
				changed[name] = file(text)
			}
			repo := hashed(changed)
			warm, warmErr := Render(t.Context(), desired.Revision{}, repo, Options{Cache: cache})
			cold, coldErr := Render(t.Context(), desired.Revision{}, hashed(changed), Options{})
			if diff := cmp.Diff(cold, warm); diff != "" || (coldErr == nil) != (warmErr == nil) {
				t.Errorf("%s: cold and warm differ (%v, %v):\n%s", tt.reason, coldErr, warmErr, diff)
			}
			if coldErr != nil {
				return
			}
			want := map[string]bool{}
			for _, name := range tt.want {
				want[name] = true
			}
			got := map[string]bool{}
			for name := range repo.reads {
				if !ignoredByCache[name] {
					got[name] = true
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: files read (-want +got):\n%s", tt.reason, diff)
			}
		})
	}
}

// ignoredByCache are files that are read anew in each render, because they are few.
var ignoredByCache = map[string]bool{".tidelockignore": true, "plain/.tidelockignore": true}

func TestTheCacheForgetsWhatNobodyUses(t *testing.T) {
	t.Parallel()
	cache := NewCache()
	for i := range 3 * keepFor {
		repo := fstest.MapFS{"a.yaml": file("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a" + strconv.Itoa(i) + "}\n")}
		render(t, repo, cache)
	}
	if len(cache.files) > keepFor {
		t.Errorf("%d files are kept, want at most %d", len(cache.files), keepFor)
	}
}

func TestARenderedStateIsNotTouchedByTheNextRender(t *testing.T) {
	t.Parallel()
	repo, cache := fstest.MapFS{
		"s.yaml": file("apiVersion: v1\nkind: Secret\nmetadata: {name: s, labels: {tidelock.dev/owner: x}}\nstringData: {k: value}\n"),
	}, NewCache()
	first := render(t, repo, cache)
	second := render(t, repo, cache)
	if diff := cmp.Diff(first, second); diff != "" {
		t.Errorf("the second render differs:\n%s", diff)
	}
	if _, ok := first.Objects[0].Content.Object["stringData"]; ok {
		t.Error("stringData is still there")
	}
}

func TestShuffledFilesGiveTheSameState(t *testing.T) {
	t.Parallel()
	docs := map[string]string{
		"Service":    "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {ports: [{port: 80}], selector: {a: b}}\n",
		"Route":      "apiVersion: tidelock.dev/v1alpha1\nkind: ProxyRoute\nmetadata: {name: web}\nspec: {rules: [{backend: {service: web}}]}\n",
		"ConfigMap":  "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
		"ConfigMap2": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b, namespace: x}\n",
	}
	var want *desired.State
	for seed := range uint64(20) {
		rnd := rand.New(rand.NewPCG(seed, seed))
		repo := fstest.MapFS{}
		for _, text := range docs {
			repo["f"+strconv.Itoa(rnd.IntN(1000))+".yaml"] = file(text)
		}
		if len(repo) < len(docs) {
			continue
		}
		got := render(t, repo, nil)
		for i := range got.Objects {
			got.Objects[i].Origin = desired.Origin{}
		}
		for i := range got.Routes {
			got.Routes[i].Origin = desired.Origin{}
		}
		if want == nil {
			want = &got
		}
		if diff := cmp.Diff(*want, got); diff != "" {
			t.Fatalf("seed %d:\n%s", seed, diff)
		}
	}
}

// renderHostile renders two files that may hold anything: it must come back, twice with the same answer.
func renderHostile(t *testing.T, kustomization, manifest string) {
	t.Helper()
	repo := fstest.MapFS{"kustomization.yaml": file(kustomization), "a.yaml": file(manifest)}
	first, firstErr := Render(t.Context(), desired.Revision{}, repo, Options{})
	second, secondErr := Render(t.Context(), desired.Revision{}, repo, Options{})
	if diff := cmp.Diff(first, second); diff != "" {
		t.Errorf("two renders differ:\n%s", diff)
	}
	if firstErr != nil && (secondErr == nil || firstErr.Error() != secondErr.Error()) {
		t.Errorf("two renders differ: %v, %v", firstErr, secondErr)
	}
}
