package render

import (
	"fmt"
	"slices"
	"strings"

	"github.com/envoyproxy/go-control-plane/envoy/annotations"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protopath"
	"google.golang.org/protobuf/reflect/protorange"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
)

// checkMessage refuses what Envoy would refuse: values beyond their bounds, extensions without typed config, fields and
// values that current releases disallow. Deprecated ones are warned of.
func (c *commit) checkMessage(raw rawResource, msg proto.Message) {
	// Range itself fails only where the functions do.
	_ = protorange.Options{Stable: true}.Range(msg.ProtoReflect(), func(p protopath.Values) error {
		step := p.Index(-1)
		at := raw.at.child(pathOf(p.Path)...)
		if f := step.Step; f.Kind() == protopath.FieldAccessStep {
			c.checkField(raw, at, f.FieldDescriptor())
		}
		switch v := step.Value.Interface().(type) {
		case protoreflect.Message:
			c.checkValues(raw, at, step.Step.Kind(), v)
			c.checkTyped(raw, at, v)
		case protoreflect.EnumNumber:
			if fd := fieldOf(p.Path); fd != nil && fd.Enum() != nil {
				c.checkEnum(raw, at, fd.Enum().Values().ByNumber(v))
			}
		}
		return nil
	}, nil)
}

// pathOf turns a path within a message into steps of the document that it was read from.
func pathOf(p protopath.Path) []any {
	var out []any
	for _, step := range p {
		switch step.Kind() {
		case protopath.FieldAccessStep:
			out = append(out, step.FieldDescriptor().TextName())
		case protopath.ListIndexStep:
			out = append(out, step.ListIndex())
		case protopath.MapIndexStep:
			out = append(out, step.MapIndex().String())
		case protopath.RootStep, protopath.UnknownAccessStep, protopath.AnyExpandStep:
		}
	}
	return out
}

// fieldOf returns the field that the value at the end of a path belongs to.
func fieldOf(p protopath.Path) protoreflect.FieldDescriptor {
	for _, step := range slices.Backward(p) {
		if step.Kind() == protopath.FieldAccessStep {
			return step.FieldDescriptor()
		}
	}
	return nil
}

// checkValues applies the bounds of Envoy's API. A message checks those within it, except across an Any.
func (c *commit) checkValues(raw rawResource, at fieldPath, kind protopath.StepKind, m protoreflect.Message) {
	if kind != protopath.RootStep && kind != protopath.AnyExpandStep {
		return
	}
	valid, ok := m.Interface().(interface{ ValidateAll() error })
	if !ok {
		return
	}
	if err := valid.ValidateAll(); err != nil {
		for text := range strings.SplitSeq(err.Error(), "; ") {
			// Each outer message says only that one within it is wrong.
			cause := strings.Split(text, " | caused by: ")
			c.refuse(raw.problem(at, "%s", cause[len(cause)-1]))
		}
	}
}

// checkField looks at how Envoy's API marks a field.
func (c *commit) checkField(raw rawResource, at fieldPath, fd protoreflect.FieldDescriptor) {
	options, ok := fd.Options().(*descriptorpb.FieldOptions)
	if !ok || !options.GetDeprecated() {
		return
	}
	if isSet(options, annotations.E_DisallowedByDefault) {
		c.refuse(raw.problem(at, "current Envoy refuses this field%s", modernField(string(fd.Name()))))
		return
	}
	c.warn(raw.problem(at, "deprecated in Envoy's API"))
}

func (c *commit) checkEnum(raw rawResource, at fieldPath, v protoreflect.EnumValueDescriptor) {
	if v == nil {
		return
	}
	options, ok := v.Options().(*descriptorpb.EnumValueOptions)
	if !ok || !options.GetDeprecated() {
		return
	}
	if isSet(options, annotations.E_DisallowedByDefaultEnum) {
		c.refuse(raw.problem(at, "current Envoy refuses the value %s", v.Name()))
		return
	}
	c.warn(raw.problem(at, "%s is deprecated in Envoy's API", v.Name()))
}

func isSet(options proto.Message, extension protoreflect.ExtensionType) bool {
	set, ok := proto.GetExtension(options, extension).(bool)
	return ok && set
}

// checkTyped refuses an extension that is named alone: Envoy finds extensions by the type of their config, no longer by
// their name.
func (c *commit) checkTyped(raw rawResource, at fieldPath, m protoreflect.Message) {
	oneof := m.Descriptor().Oneofs().ByName("config_type")
	name := m.Descriptor().Fields().ByName("name")
	if oneof == nil || name == nil || m.WhichOneof(oneof) != nil {
		return
	}
	extension := m.Get(name).String()
	c.refuse(raw.problem(at, "%q has no typed_config: current Envoy finds an extension by the type of its config; "+
		"add typed_config: {%q: %s}", extension, "@type", configType(extension)))
}

// configType returns the type of an extension's config as far as its name tells: envoy.filters.http.router is configured
// by envoy.extensions.filters.http.router.v3.Router.
func configType(extension string) string {
	pkg := "envoy.extensions." + strings.TrimPrefix(extension, "envoy.") + ".v3"
	short := strings.ReplaceAll(extension[strings.LastIndex(extension, ".")+1:], "_", "")
	found := fmt.Sprintf("%s%s.…", typePrefix, pkg)
	protoregistry.GlobalFiles.RangeFilesByPackage(protoreflect.FullName(pkg), func(f protoreflect.FileDescriptor) bool {
		for i := range f.Messages().Len() {
			if m := f.Messages().Get(i); strings.EqualFold(string(m.Name()), short) {
				found = typePrefix + string(m.FullName())
			}
		}
		return true
	})
	return found
}
