package v1alpha1_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/tidelock/tidelock/api/v1alpha1"
	"github.com/tidelock/tidelock/deploy/crds"
	"github.com/tidelock/tidelock/test/env"
)

// TestTheAPIServerTakesTheCRDsAndChecksByThem covers what render checks too: somebody may apply a resource by hand.
func TestTheAPIServerTakesTheCRDsAndChecksByThem(t *testing.T) {
	t.Parallel()
	plane := env.Cluster(t)
	scheme := runtime.NewScheme()
	if err := apiextensionsv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(plane.Config(), client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	install(t, c)
	namespace := plane.Namespace(t)
	t.Run("good objects are accepted", func(t *testing.T) {
		t.Parallel()
		for _, o := range objects(t, read(t, "testdata/accepted.yaml")) {
			o.SetNamespace(namespace)
			if err := c.Create(t.Context(), o, client.FieldValidation("Strict")); err != nil {
				t.Errorf("%s %s: %v", o.GetKind(), o.GetName(), err)
			}
		}
	})
	for name, tc := range refusals() {
		t.Run(name+" is refused", func(t *testing.T) {
			t.Parallel()
			text := fmt.Sprintf("{apiVersion: %s, kind: %s, metadata: {name: %s}, spec: %s}",
				v1alpha1.GroupVersion(), tc.kind, orName(tc.name), tc.spec)
			o := objects(t, text)[0]
			o.SetNamespace(namespace)
			err := c.Create(t.Context(), o)
			if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s: got %v, want a refusal that says %q", text, err, tc.want)
			}
		})
	}
}

type refusal struct{ kind, name, spec, want string }

func orName(name string) string {
	if name == "" {
		return "x"
	}
	return name
}

// refusals are one object for each rule that is more than a type.
func refusals() map[string]refusal {
	const oneAction = "set one of backend, redirect and directResponse"
	long := strings.Repeat("x", 64)
	return map[string]refusal{
		"a mock without a document":         {"APIMock", "", "{}", "set one of definition and definitionFrom"},
		"a mock of two documents":           {"APIMock", "", "{definition: a, definitionFrom: {file: b}}", "set one of definition and definitionFrom"},
		"a document from two places":        {"APIMock", "", "{definitionFrom: {file: b, configMapKeyRef: {name: a, key: b}}}", "set one of file and configMapKeyRef"},
		"a document from nowhere":           {"APIMock", "", "{definitionFrom: {}}", "set one of file and configMapKeyRef"},
		"a mock whose name fits no Service": {"APIMock", long, "{definition: a}", "want at most 63 characters"},
		"a port beyond 65535":               {"APIMock", "", "{definition: a, service: {port: 70000}}", "65535"},
		"a zone in the schedule":            {"At", "", `{schedule: "TZ=UTC 0 9 * * *", command: a}`, "name the zone in timeZone"},
		"a name that fits no Job":           {"At", long, `{schedule: "2026-12-24T18:00:00Z", command: a}`, "want at most 63 characters"},
		"a name that fits no Job's minute":  {"At", long[:51], `{schedule: "@daily", command: a}`, "want at most 50 characters"},
		"an At without a command":           {"At", "", `{schedule: "@daily"}`, "command"},
		"a policy that is none":             {"At", "", `{schedule: "@daily", command: a, concurrencyPolicy: Never}`, "Forbid"},
		"a split without a target":          {"TrafficSplit", "", "{targets: []}", "targets"},
		"a target that is two things":       {"TrafficSplit", "", "{targets: [{name: a, service: a, mock: a}]}", "set one of service and mock"},
		"two targets of one name":           {"TrafficSplit", "", "{targets: [{name: a}, {name: a}]}", "Duplicate"},
		"a negative weight":                 {"TrafficSplit", "", "{targets: [{name: a, weight: -1}]}", "weight"},
		"an output that nobody knows":       {"TrafficSplit", "", "{targets: [{name: a}], outputs: [Nginx]}", "Envoy"},
		"stickiness by two things":          {"TrafficSplit", "", "{targets: [{name: a}], stickiness: {header: {name: a}, cookie: {name: a}}}", "set one of cookie and header"},
		"a mirror that is nothing":          {"TrafficSplit", "", "{targets: [{name: a}], mirror: {port: 80}}", "set one of service and mock"},
		"a step with a weight below 0":      {"TrafficSplit", "", "{targets: [{name: a}], steps: [{at: '0 9 * * *', weights: {a: -1}}]}", "greater than or equal to 0"},
		"a rule with nothing to do":         {"ProxyRoute", "", "{rules: [{}]}", oneAction},
		"a rule with two things to do":      {"ProxyRoute", "", "{rules: [{redirect: {path: /}, directResponse: {status: 200}}]}", oneAction},
		"a backend that is nothing":         {"ProxyRoute", "", "{rules: [{backend: {}}]}", "set one of service, mock, split and address"},
		"a backend that is two things":      {"ProxyRoute", "", "{rules: [{backend: {service: a, mock: a}}]}", "set one of service, mock, split and address"},
		"a rewrite of path and prefix":      {"ProxyRoute", "", "{rules: [{backend: {service: a}, rewrite: {path: /a, prefix: /b}}]}", "set one of path and prefix"},
		"a redirect to path and prefix":     {"ProxyRoute", "", "{rules: [{redirect: {path: /a, prefix: /b}}]}", "set one of path and prefix"},
		"a timeout that is no duration":     {"ProxyRoute", "", "{rules: [{backend: {service: a}, timeout: soon}]}", "duration"},
		"an EnvoyConfig of nothing":         {"EnvoyConfig", "", "{}", "set one of resources and file"},
		"an EnvoyConfig of two sources":     {"EnvoyConfig", "", "{file: a, resources: [{}]}", "set one of resources and file"},
		"a pin that is no commit":           {"Sync", "", "{pin: main}", "pin"},
	}
}

// install applies every CRD and waits until the API server serves it.
func install(t *testing.T, c client.Client) {
	t.Helper()
	files, err := fs.Glob(crds.FS, "*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no CRDs: %v", err)
	}
	for _, file := range files {
		raw, err := crds.FS.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		crd := objects(t, string(raw))[0]
		apply := client.ApplyConfigurationFromUnstructured(crd)
		if err := c.Apply(t.Context(), apply, client.FieldOwner("crds-test"), client.ForceOwnership); err != nil {
			t.Fatalf("apply %s: %v", file, err)
		}
		const patience, pause = 30 * time.Second, 50 * time.Millisecond
		err = wait.PollUntilContextTimeout(t.Context(), pause, patience, true, func(ctx context.Context) (bool, error) {
			return established(ctx, c, crd.GetName())
		})
		if err != nil {
			t.Fatalf("wait for %s: %v", file, err)
		}
	}
}

func established(ctx context.Context, c client.Client, name string) (bool, error) {
	var crd apiextensionsv1.CustomResourceDefinition
	if err := c.Get(ctx, client.ObjectKey{Name: name}, &crd); err != nil {
		return false, err
	}
	served := map[apiextensionsv1.CustomResourceDefinitionConditionType]bool{}
	for _, cond := range crd.Status.Conditions {
		served[cond.Type] = cond.Status == apiextensionsv1.ConditionTrue
		if cond.Type == apiextensionsv1.NonStructuralSchema && served[cond.Type] {
			return false, fmt.Errorf("not structural: %s", cond.Message)
		}
	}
	if !served[apiextensionsv1.Established] {
		return false, nil
	}
	// The API server serves a CRD a moment after it has said so.
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion(v1alpha1.GroupVersion().String())
	list.SetKind(crd.Spec.Names.ListKind)
	err := c.List(ctx, list, client.Limit(1))
	if apierrors.IsNotFound(err) || isNoMatch(err) {
		return false, nil
	}
	return err == nil, err
}

func isNoMatch(err error) bool {
	return err != nil && strings.Contains(err.Error(), "no matches for kind")
}

func read(t *testing.T, file string) string {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// objects returns the documents of a YAML file.
func objects(t *testing.T, text string) []*unstructured.Unstructured {
	t.Helper()
	var out []*unstructured.Unstructured
	for part := range strings.SplitSeq("\n"+text, "\n---\n") {
		var content map[string]any
		if err := yaml.Unmarshal([]byte(part), &content); err != nil {
			t.Fatalf("%s: %v", part, err)
		}
		if len(content) > 0 {
			out = append(out, &unstructured.Unstructured{Object: content})
		}
	}
	return out
}
