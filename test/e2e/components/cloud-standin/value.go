package standin

import (
	"fmt"

	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// fromValue is an object of the protocol. What is null or unknown is left out.
func fromValue(v tftypes.Value) (object, error) {
	out, err := plain(v)
	o, _ := out.(map[string]any)
	return o, err
}

func plain(v tftypes.Value) (any, error) {
	if v.IsNull() || !v.IsKnown() {
		return nil, nil
	}
	switch v.Type().(type) {
	case tftypes.Object, tftypes.Map:
		var parts map[string]tftypes.Value
		if err := v.As(&parts); err != nil {
			return nil, err
		}
		out := map[string]any{}
		for name, part := range parts {
			value, err := plain(part)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			if value != nil {
				out[name] = value
			}
		}
		return out, nil
	case tftypes.List:
		var parts []tftypes.Value
		if err := v.As(&parts); err != nil {
			return nil, err
		}
		out := make([]any, len(parts))
		for i, part := range parts {
			var err error
			if out[i], err = plain(part); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	if v.Type().Is(tftypes.Bool) {
		var is bool
		return is, v.As(&is)
	}
	var text string
	return text, v.As(&text)
}

// toValue is the reverse: a plain value as a type of the protocol.
func toValue(t tftypes.Type, x any) (tftypes.Value, error) {
	if x == nil {
		return tftypes.NewValue(t, nil), nil
	}
	wrong := fmt.Errorf("%T is no %s", x, t)
	switch t := t.(type) {
	case tftypes.Object:
		from, ok := x.(map[string]any)
		if !ok {
			return tftypes.Value{}, wrong
		}
		out := map[string]tftypes.Value{}
		for name, of := range t.AttributeTypes {
			value, err := toValue(of, from[name])
			if err != nil {
				return tftypes.Value{}, fmt.Errorf("%s: %w", name, err)
			}
			out[name] = value
		}
		return tftypes.NewValue(t, out), nil
	case tftypes.List:
		from, ok := x.([]any)
		if !ok {
			return tftypes.Value{}, wrong
		}
		out := make([]tftypes.Value, len(from))
		for i := range from {
			var err error
			if out[i], err = toValue(t.ElementType, from[i]); err != nil {
				return tftypes.Value{}, err
			}
		}
		return tftypes.NewValue(t, out), nil
	}
	if err := tftypes.ValidateValue(t, x); err != nil {
		return tftypes.Value{}, wrong
	}
	return tftypes.NewValue(t, x), nil
}
