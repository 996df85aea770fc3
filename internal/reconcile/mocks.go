package reconcile

import (
	"context"
	"encoding/base64"
	"errors"
	"maps"
	"math"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/tidelock/tidelock/api/v1alpha1"
	"github.com/tidelock/tidelock/internal/desired"
	"github.com/tidelock/tidelock/internal/mock"
	"github.com/tidelock/tidelock/internal/openapi"
	"github.com/tidelock/tidelock/internal/xds"
)

// documents are the mocks of a commit, read from what they became: document and settings from the ConfigMap, whether it is
// turned off from the Deployment.
func documents(objects []desired.Object) map[desired.Key]mock.LocalMock {
	out, replicas := map[desired.Key]mock.LocalMock{}, map[desired.Key]int32{}
	for i := range objects {
		o := &objects[i]
		if o.Source.Kind != v1alpha1.KindAPIMock || o.Kind != "Deployment" {
			continue
		}
		n, _, _ := unstructured.NestedInt64(o.Content.Object, "spec", "replicas")
		replicas[o.Source.Key] = int32(min(n, math.MaxInt32)) //nolint:gosec // bounded above, and never negative
	}
	for i := range objects {
		o := &objects[i]
		if o.Source.Kind != v1alpha1.KindAPIMock || o.Kind != "ConfigMap" {
			continue
		}
		text, _, _ := unstructured.NestedString(o.Content.Object, "binaryData", openapi.ConfigMapKey)
		packed, err := base64.StdEncoding.DecodeString(text)
		if err != nil || len(packed) == 0 {
			continue
		}
		server, _, _ := unstructured.NestedString(o.Content.Object, "data", v1alpha1.MockServerKey)
		out[o.Source.Key] = mock.LocalMock{Packed: packed, Server: server, Replicas: replicas[o.Source.Key]}
	}
	return out
}

// answer gives the mocks of this process their documents. Mocks that left the repository, or that it turned off, go on until
// prune ends them: a proxy may still send requests there.
func (l *Loop) answer(ctx context.Context, out outcome, was standing) outcome {
	if l.Mocks == nil {
		return out
	}
	out.mocks = maps.Clone(was.mocks)
	if out.mocks == nil {
		out.mocks = map[desired.Key]mock.LocalMock{}
	}
	for key, m := range out.want.commit.mocks {
		if m.Replicas > 0 || out.mocks[key].Replicas == 0 {
			out.mocks[key] = m
		}
	}
	out.err = errors.Join(out.err, l.Mocks.Set(ctx, out.mocks))
	return out
}

// mocksToEnd reports whether this process answers a mock that the commit does not want.
func (l *Loop) mocksToEnd(out outcome) bool {
	return l.Mocks != nil && !sameMocks(out.mocks, out.want.commit.mocks)
}

// endMocks ends the mocks that the commit does not want, but for those that a route still reaches.
func (l *Loop) endMocks(ctx context.Context, out outcome, spared spared) outcome {
	if l.Mocks == nil {
		return out
	}
	ended := maps.Clone(out.want.commit.mocks)
	if ended == nil {
		ended = map[desired.Key]mock.LocalMock{}
	}
	for key := range spared.mocks {
		if m, ok := out.mocks[key]; ok {
			ended[key] = m
		}
	}
	out.mocks = ended
	out.err = errors.Join(out.err, l.Mocks.Set(ctx, out.mocks))
	return out
}

// sameMocks compares what two passes had this process answer.
func sameMocks(a, b map[desired.Key]mock.LocalMock) bool {
	return maps.EqualFunc(a, b, mock.LocalMock.Equal)
}

// mockEndpoints are where the mocks of this process answer.
func (l *Loop) mockEndpoints(ports []xds.ServicePort) map[xds.ServicePort][]xds.Endpoint {
	at := l.Mocks.Addresses()
	out := make(map[xds.ServicePort][]xds.Endpoint, len(ports))
	for _, p := range ports {
		out[p] = nil
		if a, ok := at[p.Key]; ok {
			out[p] = []xds.Endpoint{{Address: a.Addr().String(), Port: uint32(a.Port())}}
		}
	}
	return out
}
