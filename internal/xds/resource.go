package xds

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
)

// hashBytes of a SHA-256 are kept as the hash of a resource: what is compared is our own content, never a stranger's.
const hashBytes = 16

// message is a generated xDS message; its rules are those that Envoy checks on receipt.
type message interface {
	proto.Message
	ValidateAll() error
}

// marshal validates m and returns its deterministic bytes.
func marshal(m message) ([]byte, error) {
	if err := m.ValidateAll(); err != nil {
		return nil, err
	}
	return proto.MarshalOptions{Deterministic: true}.Marshal(m)
}

// newResource returns m ready to be sent.
func newResource(name string, m message) (Resource, error) {
	value, err := marshal(m)
	if err != nil {
		return Resource{}, fmt.Errorf("encode %q: %w", name, err)
	}
	return resourceOf(name, value), nil
}

// resourceOf returns bytes that are marshalled already, with their hash.
func resourceOf(name string, value []byte) Resource {
	sum := sha256.Sum256(value)
	return Resource{Name: name, Value: value, Hash: hex.EncodeToString(sum[:hashBytes])}
}

// pack validates m and wraps it; the outer message's own validation does not look inside.
func pack(m message) (*anypb.Any, error) {
	value, err := marshal(m)
	if err != nil {
		return nil, err
	}
	return &anypb.Any{TypeUrl: "type.googleapis.com/" + string(m.ProtoReflect().Descriptor().FullName()), Value: value}, nil
}

// sorted returns rs by name.
func sorted(rs []Resource) []Resource {
	slices.SortFunc(rs, func(a, b Resource) int { return strings.Compare(a.Name, b.Name) })
	return rs
}
