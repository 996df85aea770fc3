package apply

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/tidelock/tidelock/internal/desired"
	"github.com/tidelock/tidelock/test/env"
)

func TestAKeyThatLeavesStringDataLeavesTheSecret(t *testing.T) {
	t.Parallel()
	ns := env.Cluster(t).Namespace(t)
	in := open(t, ns, "strings")
	secret := func(data string) []desired.Object {
		return manifests(t, ns, `
apiVersion: v1
kind: Secret
metadata: {name: creds, namespace: NAMESPACE}
type: Opaque
stringData: `+data)
	}
	in.sync(t, secret("{user: alpha, password: pw-1}"))
	v2 := secret("{user2: alpha, password: pw-1}")
	in.sync(t, v2)
	id := v2[0].ID
	keys := func() []string {
		data, _, _ := unstructured.NestedStringMap(get(t, id, "v1").Object, "data")
		return slices.Sorted(maps.Keys(data))
	}
	if got := keys(); !slices.Equal(got, []string{"password", "user2"}) {
		t.Errorf("keys are %v", got)
	}
	merge(t, id, `{"data":{"password":"aGFja2Vk"}}`)
	in.await(t, v2, "the password to be put back", func() bool {
		p, _, _ := unstructured.NestedString(get(t, id, "v1").Object, "data", "password")
		return p == "cHctMQ=="
	})
	version := get(t, id, "v1").GetResourceVersion()
	for range 3 {
		in.sync(t, v2)
	}
	in = open(t, ns, "strings")
	in.sync(t, v2)
	if got := get(t, id, "v1").GetResourceVersion(); got != version {
		t.Errorf("an unchanged Secret was written: resource version %s, was %s", got, version)
	}
	cm := get(t, configMapID(ns, "tidelock-strings-0"), "v1")
	text, _, _ := unstructured.NestedString(cm.Object, "binaryData", "entries.json.gz")
	raw, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	var packed []byte
	if err := json.Unmarshal(raw, &packed); err != nil {
		t.Fatal(err)
	}
	list, err := unpack(packed)
	if err != nil || len(list) != 1 || list[0].Digest != "" || list[0].Live != "" {
		t.Errorf("the inventory holds a hash of a Secret: %+v, %v", list, err)
	}
}

func TestAnErrorAboutASecretQuotesNoValue(t *testing.T) {
	t.Parallel()
	ns := env.Cluster(t).Namespace(t)
	in := open(t, ns, "quotes")
	for _, data := range []string{
		"data: {k: hunter2-not-base64}", "data: {k: 4711471147114711}", "stringData: {k: 4711471147114711}",
		"data: {\"bad key\": aHVudGVyMg==}",
	} {
		_, res, err := in.pass(t.Context(), manifests(t, ns,
			"apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: NAMESPACE}\n"+data))
		if err == nil {
			t.Errorf("%s: taken: %+v", data, res)
			continue
		}
		for _, secret := range []string{"hunter2", "4711", "aHVudGVyMg"} {
			if strings.Contains(err.Error(), secret) {
				t.Errorf("%s: the error quotes the value: %v", data, err)
			}
		}
	}
}
