package apply

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	openapierrors "k8s.io/kube-openapi/pkg/validation/errors"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"

	"github.com/tidelock/tidelock/internal/desired"
)

// checkSchema checks an instance against the CustomResourceDefinition of the same commit: the server does not know its
// schema yet.
func checkSchema(ch Change, def definition) outcome {
	text, err := versionSchema(def.object.Content, ch.Object.Version)
	if err != nil {
		return problem(ch, "apiVersion", err.Error())
	}
	if text == nil {
		return outcome{}
	}
	var s spec.Schema
	if err := json.Unmarshal(text, &s); err != nil {
		return outcome{} // the server's check of the definition itself says more
	}
	u, err := content(*ch.Object)
	if err != nil {
		return problem(ch, "", err.Error())
	}
	res := validate.NewSchemaValidator(&s, nil, "", strfmt.Default).Validate(u.Object)
	var out outcome
	for _, err := range res.Errors {
		p := desired.Problem{Origin: ch.Object.Origin, Object: ch.String(), Text: bounded(err.Error())}
		if v, ok := errors.AsType[*openapierrors.Validation](err); ok {
			p.Field = strings.TrimPrefix(v.Name, ".")
		}
		out.problems = append(out.problems, p)
	}
	return out
}

// versionSchema returns the schema of one version as JSON; nil where the version has none.
func versionSchema(crd *unstructured.Unstructured, version string) ([]byte, error) {
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	var names []string
	for _, v := range versions {
		m, _ := v.(map[string]any)
		name, _ := m["name"].(string)
		if served, _ := m["served"].(bool); served {
			names = append(names, name)
		}
		if name != version {
			continue
		}
		s, found, err := unstructured.NestedMap(m, "schema", "openAPIV3Schema")
		if err != nil || !found {
			return nil, nil //nolint:nilerr // the server's check of the definition itself says more
		}
		return json.Marshal(s)
	}
	return nil, fmt.Errorf("CustomResourceDefinition %s of the same commit has no version %s: it has %s", crd.GetName(),
		version, strings.Join(names, ", "))
}
