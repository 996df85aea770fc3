package render

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/tidelock/tidelock/api/v1alpha1"
	"github.com/tidelock/tidelock/internal/desired"
)

// commit is one commit while its manifests of ours are lowered: what they may refer to, and what they have become.
type commit struct {
	lowering
	index
	out      lowered
	problems desired.Problems
	// claims stand beside out.routes: where each route is declared, for conflicts between them.
	claims []claim
	// splits are those that were resolved, and istioClaims what they say of one Service in Istio.
	splits      map[desired.Key]*split
	istioClaims map[desired.Key]istioClaim
	// entered are the splits of other outputs by output and host.
	entered map[string][]entered
	schemas map[string]*schemaProps
	// rawNames and rawListeners are what EnvoyConfigs have taken: names by type, and addresses.
	rawNames     map[string][]rawName
	rawListeners []bound
}

// lower turns the manifests of ours into objects, routes and schedules, in the order of kinds and manifests. What is wrong
// with them is returned as problems, all at once; the rest is lowered all the same.
func lower(ctx context.Context, in lowering) (lowered, desired.Problems) {
	c := &commit{
		lowering: in, index: newIndex(in.others), splits: map[desired.Key]*split{},
		istioClaims: map[desired.Key]istioClaim{}, entered: map[string][]entered{},
		schemas: map[string]*schemaProps{}, rawNames: map[string][]rawName{},
	}
	table := kinds()
	for _, m := range in.ours {
		if served := v1alpha1.GroupVersion().Version; m.version != served {
			c.refuse(placeOf(m).problem(field("apiVersion"), "%s/%s is not a version of ours: write %s/%s",
				v1alpha1.Group, m.version, v1alpha1.Group, served))
			continue
		}
		if i := slices.IndexFunc(table, func(k kind) bool { return k.name == m.Kind }); i >= 0 {
			c.decoded[m.ID] = table[i].decode(c, m)
			continue
		}
		c.refuse(placeOf(m).problem(field("kind"), "%s", notAKind(m.Kind, table)))
	}
	for _, k := range table {
		for _, m := range in.ours {
			if m.Kind == k.name {
				k.lower(ctx, c, c.decoded[m.ID])
			}
		}
	}
	c.settleListeners()
	c.refuseRivals()
	return c.out, c.problems
}

func notAKind(name string, table []kind) string {
	if name == v1alpha1.KindSync {
		return "a Sync is written by the daemon and never read from the repository: set spec.suspend and spec.pin with kubectl"
	}
	var known []string
	for _, k := range table {
		known = append(known, k.name)
	}
	return "unknown kind " + name + didYouMean(name, known)
}

func (c *commit) refuse(p desired.Problem) { c.problems = append(c.problems, p) }

func (c *commit) warn(p desired.Problem) { c.out.warnings = append(c.out.warnings, p) }

// schema returns the schema of a kind of ours; each is read once a commit.
func (c *commit) schema(kind string) (*schemaProps, error) {
	if s, ok := c.schemas[kind]; ok {
		return s, nil
	}
	s, err := schemaOf(kind)
	if err == nil {
		c.schemas[kind] = s
	}
	return s, err
}

// generate adds an object that p was lowered into.
func (c *commit) generate(p place, source desired.Source, id desired.ID, object any) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		c.refuse(p.problem(nil, "encode the generated %s: %v", id, err))
		return
	}
	delete(content, "status")
	made := &unstructured.Unstructured{Object: withoutNulls(content)}
	c.out.objects = append(c.out.objects, desired.Object{
		ID: id, Version: made.GroupVersionKind().Version, Origin: p.start, Source: source, Content: made,
	})
}

// generateUnstructured adds an object of a kind whose types are none of ours.
func (c *commit) generateUnstructured(p place, source desired.Source, id desired.ID, content map[string]any) {
	made := unstructuredOf(content)
	c.out.objects = append(c.out.objects, desired.Object{
		ID: id, Version: made.GroupVersionKind().Version, Origin: p.start, Source: source, Content: made,
	})
}

func unstructuredOf(content map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: content}
}

// generated is the content of an object that is made from a resource of ours.
func generated(source desired.Source, id desired.ID, apiVersion string, spec map[string]any) map[string]any {
	set := map[string]any{}
	for name, value := range generatedLabels(source) {
		set[name] = value
	}
	return map[string]any{
		"apiVersion": apiVersion, "kind": id.Kind,
		"metadata": map[string]any{"namespace": id.Namespace, "name": id.Name, "labels": set},
		"spec":     spec,
	}
}

// anyList returns a list as it stands in an unstructured object.
func anyList(list []string) []any {
	out := make([]any, len(list))
	for i, text := range list {
		out[i] = text
	}
	return out
}

// withoutNulls takes away what the types of Kubernetes write although it is not set (creationTimestamp: null).
func withoutNulls(m map[string]any) map[string]any {
	for key, v := range m {
		switch v := v.(type) {
		case nil:
			delete(m, key)
		case map[string]any:
			withoutNulls(v)
		case []any:
			for _, item := range v {
				if item, ok := item.(map[string]any); ok {
					withoutNulls(item)
				}
			}
		}
	}
	return m
}

// generatedLabels are on every object that is generated from a resource of ours.
func generatedLabels(source desired.Source) map[string]string {
	return map[string]string{
		"app.kubernetes.io/name": source.Name,
		v1alpha1.LabelKind:       source.Kind,
		v1alpha1.LabelName:       source.Name,
	}
}
