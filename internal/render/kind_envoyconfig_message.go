package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	runtimev3 "github.com/envoyproxy/go-control-plane/envoy/service/runtime/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/tidelock/tidelock/internal/desired"
	_ "github.com/tidelock/tidelock/internal/envoyapi" // every extension that a typed config may name
)

// The types of raw resources that are published.
const (
	typePrefix   = "type.googleapis.com/"
	typeCluster  = typePrefix + "envoy.config.cluster.v3.Cluster"
	typeEndpoint = typePrefix + "envoy.config.endpoint.v3.ClusterLoadAssignment"
	typeListener = typePrefix + "envoy.config.listener.v3.Listener"
	typeRoute    = typePrefix + "envoy.config.route.v3.RouteConfiguration"
	typeSecret   = typePrefix + "envoy.extensions.transport_sockets.tls.v3.Secret"
	typeRuntime  = typePrefix + "envoy.service.runtime.v3.Runtime"
)

// newMessage returns an empty message of a type that is published, and nil for any other.
func newMessage(typeURL string) proto.Message {
	switch typeURL {
	case typeCluster:
		return &clusterv3.Cluster{}
	case typeEndpoint:
		return &endpointv3.ClusterLoadAssignment{}
	case typeListener:
		return &listenerv3.Listener{}
	case typeRoute:
		return &routev3.RouteConfiguration{}
	case typeSecret:
		return &tlsv3.Secret{}
	case typeRuntime:
		return &runtimev3.Runtime{}
	}
	return nil
}

// messageName returns the name under which Envoy knows a message.
func messageName(m proto.Message) string {
	if m, ok := m.(interface{ GetClusterName() string }); ok {
		return m.GetClusterName()
	}
	if m, ok := m.(interface{ GetName() string }); ok {
		return m.GetName()
	}
	return ""
}

// rawMessage decodes and checks one resource; false where it is refused.
func (c *commit) rawMessage(raw rawResource) (proto.Message, bool) {
	before := len(c.problems)
	msg := newMessage(raw.typeURL)
	if msg == nil {
		c.refuse(raw.problem(raw.at.child("@type"), "%s", notPublished(raw.typeURL)))
		return nil, false
	}
	text, paths := linePerField(raw.content, raw.at)
	if err := protojson.Unmarshal(text, msg); err != nil {
		at, why := raw.decodeError(err, paths)
		c.refuse(raw.problem(at, "%s", why))
		return nil, false
	}
	c.checkMessage(raw, msg)
	if messageName(msg) == "" && len(c.problems) == before {
		c.refuse(raw.problem(raw.at, "needs a name"))
	}
	return msg, len(c.problems) == before
}

// notPublished says why a type is refused, with the type that took its place where it is an old one.
func notPublished(typeURL string) string {
	switch modern := modernType(typeURL); {
	case typeURL == "":
		return `is required: the type of the message, such as ` + typeCluster
	case modern != "":
		return fmt.Sprintf("%s is unknown to current Envoy: it is %s today", typeURL, modern)
	}
	return fmt.Sprintf("%s is not published; listeners, routes, clusters, endpoints, secrets and runtime layers are", typeURL)
}

// modernType returns the v3 type of the same name, where there is exactly one.
func modernType(typeURL string) string {
	name := strings.TrimPrefix(typeURL, typePrefix)
	if _, err := protoregistry.GlobalTypes.FindMessageByName(protoreflect.FullName(name)); err == nil || name == "" {
		return ""
	}
	short := name[strings.LastIndex(name, ".")+1:]
	var found []string
	protoregistry.GlobalTypes.RangeMessages(func(t protoreflect.MessageType) bool {
		full := string(t.Descriptor().FullName())
		if strings.HasPrefix(full, "envoy.") && strings.HasSuffix(full, ".v3."+short) {
			found = append(found, full)
		}
		return true
	})
	if len(found) != 1 {
		return ""
	}
	return typePrefix + found[0]
}

// decodeError turns an error of protojson into a place and plain words. A value is never repeated: it may be a key.
func (raw rawResource) decodeError(err error, paths []fieldPath) (fieldPath, string) {
	text := strings.ReplaceAll(err.Error(), "\u00a0", " ")
	text = strings.TrimPrefix(text, "proto: ")
	at := raw.at
	if m := regexp.MustCompile(`\(line (\d+):\d+\): `).FindStringSubmatch(text); m != nil {
		if line, convErr := strconv.Atoi(m[1]); convErr == nil && line <= len(paths) {
			at = paths[line-1]
		}
		_, text, _ = strings.Cut(text, m[0])
	}
	name := ""
	if len(at) > 0 {
		name, _ = at[len(at)-1].(string)
	}
	switch {
	case strings.HasPrefix(text, "unknown field"):
		return at, fmt.Sprintf("unknown field %q%s", name, modernField(name))
	case strings.HasPrefix(text, "unable to resolve"):
		typeURL, _ := valueAtPath(raw.content, at[len(raw.at):]).(string)
		if modern := modernType(typeURL); modern != "" {
			return at, fmt.Sprintf("%s is unknown to current Envoy: it is %s today", typeURL, modern)
		}
		return at, fmt.Sprintf("%s is no type of Envoy's API", typeURL)
	case strings.HasPrefix(text, "invalid value for"):
		kind, _, _ := strings.Cut(text, ":")
		return at, kind
	}
	kind, _, _ := strings.Cut(text, `"`)
	return at, strings.TrimRight(kind, ": ")
}

// modernField names what took the place of a field of the older API.
func modernField(name string) string {
	switch name {
	case "config":
		return `: current Envoy wants typed_config, with an "@type"`
	case "per_filter_config":
		return ": current Envoy wants typed_per_filter_config"
	case "tls_context":
		return ": current Envoy wants a transport_socket with typed_config"
	case "hosts":
		return ": current Envoy wants load_assignment"
	case "regex":
		return ": current Envoy wants safe_regex"
	}
	return ""
}

// toResource encodes a message so that equal messages give equal bytes.
func toResource(m proto.Message) (desired.Resource, error) {
	holder, err := anypb.New(m)
	if err != nil {
		return desired.Resource{}, fmt.Errorf("encode: %w", err)
	}
	text, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(holder)
	if err != nil {
		return desired.Resource{}, fmt.Errorf("encode: %w", err)
	}
	// protojson puts spaces in at random, so that nobody relies on its bytes.
	var compact bytes.Buffer
	if err := json.Compact(&compact, text); err != nil {
		return desired.Resource{}, fmt.Errorf("encode: %w", err)
	}
	return desired.Resource{TypeURL: holder.GetTypeUrl(), Name: messageName(m), JSON: compact.Bytes()}, nil
}

// linePerField writes content as JSON with each field and item on a line of its own, and returns the path of each line.
func linePerField(content map[string]any, at fieldPath) ([]byte, []fieldPath) {
	w := &fieldWriter{paths: []fieldPath{at}}
	w.value(content, at)
	return w.text.Bytes(), w.paths
}

type fieldWriter struct {
	text  bytes.Buffer
	paths []fieldPath
}

func (w *fieldWriter) line(at fieldPath) {
	w.text.WriteByte('\n')
	w.paths = append(w.paths, at)
}

func (w *fieldWriter) value(v any, at fieldPath) {
	switch v := v.(type) {
	case map[string]any:
		w.text.WriteByte('{')
		for i, key := range slices.Sorted(maps.Keys(v)) {
			if i > 0 {
				w.text.WriteByte(',')
			}
			w.line(at.child(key))
			w.scalar(key)
			w.text.WriteByte(':')
			w.value(v[key], at.child(key))
		}
		w.text.WriteByte('}')
	case []any:
		w.text.WriteByte('[')
		for i, item := range v {
			if i > 0 {
				w.text.WriteByte(',')
			}
			w.line(at.child(i))
			w.value(item, at.child(i))
		}
		w.text.WriteByte(']')
	default:
		w.scalar(v)
	}
}

func (w *fieldWriter) scalar(v any) {
	text, err := json.Marshal(v)
	if err != nil {
		text = []byte("null") // a value that JSON has no form for, such as .nan
	}
	w.text.Write(text)
}

// valueAtPath returns the value at a path, or nil.
func valueAtPath(v any, f fieldPath) any {
	for _, step := range f {
		switch step := step.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[step]
		case int:
			list, _ := v.([]any)
			if step >= len(list) {
				return nil
			}
			v = list[step]
		}
	}
	return v
}
